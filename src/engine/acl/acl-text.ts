import { printed } from '../text.ts';
import { RuleError } from './rule-error.ts';
import { applyRule, isUserName, joinSelectors, newUserState, type RuleDefaults } from './rules.ts';
import type { UserState } from './user.ts';

/** The users of an ACL file, or all its errors in one line, with the texts of Redis. */
export type ParsedAcl =
  | { readonly users: ReadonlyMap<string, UserState> }
  | { readonly errors: string };

/** Parses the lines of an ACL file: `user name rule …`. Empty lines are skipped; comments are errors, as in Redis. */
export function parseAcl(text: string, file: string, defaults: RuleDefaults): ParsedAcl {
  const users = new Map<string, UserState>();
  const errors: string[] = [];
  text.split('\n').forEach((raw, index) => {
    const line = raw.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
    if (line !== '') errors.push(...parseLine(line, { file, number: index + 1 }, users, defaults));
  });
  return errors.length === 0 ? { users } : { errors: errors.join('') };
}

interface Place {
  readonly file: string;
  readonly number: number;
}

/** Adds the user of a line. Returns its errors. */
function parseLine(
  line: string,
  { file, number }: Place,
  users: Map<string, UserState>,
  defaults: RuleDefaults,
): string[] {
  const [word, name, ...args] = line.split(' ');
  const place = `${file}:${number}`;
  if (word !== 'user' || name === undefined) {
    return [`${place} should start with user keyword followed by the username. `];
  }
  if (!isUserName(name)) {
    return [`'${place}: username '${printed(name)}' contains invalid characters. `];
  }
  if (users.has(name)) {
    return [`WARNING: Duplicate user '${printed(name)}' found on line ${number}. `];
  }
  const joined = joinSelectors(args);
  if ('openAt' in joined) return [`${place}: Unmatched parenthesis in selector definition.`];
  const errors = new LineErrors(place);
  let state = newUserState(defaults);
  for (const rule of joined.rules) {
    state = errors.attempt(state, rule.replace(/^[\t\r\n]+|[\t\r\n]+$/g, ''), defaults);
  }
  users.set(name, state);
  return errors.texts;
}

/** As in Redis: every unknown name, which is no secret, but of the other errors only the first, without the rule. */
class LineErrors {
  readonly texts: string[] = [];
  readonly #place: string;
  #hasOther = false;

  constructor(place: string) {
    this.#place = place;
  }

  attempt(state: UserState, rule: string, defaults: RuleDefaults): UserState {
    try {
      return applyRule(state, rule, defaults);
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      this.#add(error, rule);
      return state;
    }
  }

  #add({ reason, message }: RuleError, rule: string): void {
    if (reason === 'unknown') {
      const shown = printed(rule);
      this.texts.push(`${this.#place}: Error in applying operation '${shown}': ${message}. `);
    } else if (!this.#hasOther) {
      this.#hasOther = true;
      this.texts.push(`${this.#place}: ${message}. `);
    }
  }
}
