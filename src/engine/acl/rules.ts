import { MAX_PASSWORD_BYTES } from '../sign-in.ts';
import { hasSpace, lower } from '../text.ts';
import { RuleError } from './rule-error.ts';
import { Selector } from './selector.ts';
import { passwordHash, type UserState } from './user.ts';

/** Whether new selectors have all channels: the setting acl-pubsub-default. */
export interface RuleDefaults {
  readonly allChannels: boolean;
}

/** A user as ACL SETUSER creates it: disabled, without rights. */
export function newUserState(defaults: RuleDefaults): UserState {
  return {
    isEnabled: false,
    hasNoPassword: false,
    payload: undefined,
    passwords: [],
    root: new Selector(defaults),
    selectors: [],
  };
}

/** Every request is compared with all of them, and adding one takes time for each. */
export const MAX_RULES = 1000;

/** Applies one rule of ACL SETUSER. Returns the new state, and leaves the old one as it was. Throws RuleError. */
export function applyRule(state: UserState, rule: string, defaults: RuleDefaults): UserState {
  const changed = changedBy(state, rule, defaults);
  if (ruleCount(changed) > MAX_RULES) throw new RuleError('too-many');
  return changed;
}

function ruleCount({ passwords, root, selectors }: UserState): number {
  return selectors.reduce(
    (sum, each) => sum + 1 + each.ruleCount,
    passwords.length + root.ruleCount,
  );
}

function changedBy(state: UserState, rule: string, defaults: RuleDefaults): UserState {
  if (rule === '') return state;
  const changed = WORDS[lower(rule)]?.(state, defaults);
  if (changed !== undefined) return changed;
  const value = rule.slice(1);
  switch (rule[0]) {
    case '>':
      return withPassword(state, hashOf(value));
    case '#':
      return withPassword(state, checkedHash(value));
    case '<':
      return withoutPassword(state, hashOf(value));
    case '!':
      return withoutPassword(state, checkedHash(value));
    case '(':
      return { ...state, selectors: [...state.selectors, parseSelector(rule, defaults)] };
    default:
      return withRootRule(state, rule);
  }
}

type Change = (state: UserState, defaults: RuleDefaults) => UserState;

/** The rules that are one word, about the user as a whole. */
const WORDS: Readonly<Record<string, Change | undefined>> = Object.assign(
  Object.create(null) as Record<string, Change>,
  {
    on: (state) => ({ ...state, isEnabled: true }),
    off: (state) => ({ ...state, isEnabled: false }),
    nopass: (state) => ({ ...state, hasNoPassword: true, passwords: [] }),
    resetpass: (state) => ({ ...state, hasNoPassword: false, passwords: [] }),
    'sanitize-payload': (state) => ({ ...state, payload: 'sanitize-payload' }),
    'skip-sanitize-payload': (state) => ({ ...state, payload: 'skip-sanitize-payload' }),
    clearselectors: (state) => ({ ...state, selectors: [] }),
    reset: (_state, defaults) => ({ ...newUserState(defaults), payload: 'sanitize-payload' }),
  } satisfies Record<string, Change>,
);

/**
 * Joins selectors that are spread over several arguments: `(+get`, `~a)`. Returns the index of the argument that opens
 * a selector and is not closed as `openAt`.
 */
export function joinSelectors(
  args: readonly string[],
): { readonly rules: string[] } | { readonly openAt: number } {
  const rules: string[] = [];
  let openAt = -1;
  args.forEach((arg, at) => {
    if (openAt >= 0) rules.push(`${rules.pop()} ${arg}`);
    else rules.push(arg);
    const isOpening = openAt < 0 && arg.startsWith('(');
    if (arg.endsWith(')')) openAt = -1;
    else if (isOpening) openAt = at;
  });
  return openAt < 0 ? { rules } : { openAt };
}

/**
 * Redis unquotes the words of a selector, but does not quote them in ACL LIST. Here quotes are refused, and words that
 * end with a parenthesis: in an ACL file that ends the selector.
 */
function parseSelector(rule: string, defaults: RuleDefaults): Selector {
  if (!rule.endsWith(')') || /["']/.test(rule)) throw new RuleError('syntax');
  const selector = new Selector(defaults);
  const words = rule.slice(1, -1).split(/[\t\n\v\f\r ]+/);
  if (words.length > MAX_RULES) throw new RuleError('too-many');
  for (const word of words) {
    if (word.endsWith(')')) throw new RuleError('syntax');
    if (word !== '') selector.apply(word);
  }
  return selector;
}

function withRootRule(state: UserState, rule: string): UserState {
  const root = new Selector(state.root);
  root.apply(rule);
  return { ...state, root };
}

function withPassword(state: UserState, hash: string): UserState {
  const { passwords } = state;
  return {
    ...state,
    hasNoPassword: false,
    passwords: passwords.includes(hash) ? passwords : [...passwords, hash],
  };
}

function withoutPassword(state: UserState, hash: string): UserState {
  if (!state.passwords.includes(hash)) throw new RuleError('no-such-password');
  return { ...state, passwords: state.passwords.filter((each) => each !== hash) };
}

function hashOf(password: string): string {
  if (password.length > MAX_PASSWORD_BYTES) throw new RuleError('long-password');
  return passwordHash(password);
}

function checkedHash(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new RuleError('bad-hash');
  return text;
}

/** The words of a user in ACL GETUSER. */
export function flagsOf({ isEnabled, hasNoPassword, payload }: UserState): string[] {
  const flags = [isEnabled ? 'on' : 'off'];
  if (hasNoPassword) flags.push('nopass');
  if (payload !== undefined) flags.push(payload);
  return flags;
}

/** The line of a user in ACL LIST and in the ACL file. */
export function userLine(name: string, state: UserState): string {
  const passwords = state.passwords.map((hash) => `#${hash}`);
  const selectors = state.selectors.map(({ text }) => `(${text})`);
  return ['user', name, ...flagsOf(state), ...passwords, state.root.text, ...selectors].join(' ');
}

/** Whether a text can be the name of a user. */
export function isUserName(name: string): boolean {
  return !hasSpace(name);
}
