import { type Command, FLAGS } from '../command.ts';
import { matchesGlob } from '../glob.ts';
import type { KeyReference } from '../key-spec.ts';
import { hasSpace, lower, MAX_TOKEN_BYTES } from '../text.ts';
import { CommandRights } from './command-rights.ts';
import type { LockRole } from './lock-role.ts';
import { RuleError } from './rule-error.ts';

/** Why a request is not allowed, and the position of the argument. */
export interface Denial {
  readonly reason: 'command' | 'key' | 'channel';
  readonly at: number;
}

/** A request whose rights are checked. */
export interface CheckedRequest {
  readonly command: Command;
  readonly argv: readonly string[];
  readonly role: LockRole;
  /** A `redis.call` of a script of the library. */
  readonly isInKnownScript: boolean;
}

interface KeyPattern {
  readonly pattern: string;
  /** The pattern without its star, if that is at the end and the only special char; else undefined. */
  readonly prefix: string | undefined;
  readonly reads: boolean;
  readonly writes: boolean;
}

/**
 * A set of rights: commands, keys and channels. A user has a root selector and any number of others; a request needs
 * one selector that allows all of it. A selector is changed only while rules are applied to a copy of a user.
 */
export class Selector {
  readonly commands: CommandRights;
  #keys: readonly KeyPattern[] | 'all';
  #channels: readonly string[] | 'all';

  constructor(from: Selector | { readonly allChannels: boolean }) {
    const isCopy = from instanceof Selector;
    this.commands = new CommandRights(isCopy ? from.commands : undefined);
    this.#keys = isCopy ? from.#keys : [];
    this.#channels = isCopy ? from.#channels : from.allChannels ? 'all' : [];
  }

  get isUnrestricted(): boolean {
    return this.#keys === 'all' && this.#channels === 'all' && this.commands.allowsAll;
  }

  /** Whether every key may be read: by `~*`, or by a pattern of one star. */
  get readsAllKeys(): boolean {
    if (this.#keys === 'all') return true;
    return this.#keys.some(({ pattern, reads }) => pattern === '*' && reads);
  }

  /** Whether a pattern, to read or to write, matches the key. */
  hasPatternFor(key: string): boolean {
    return this.#keys === 'all' || allowsKey(this.#keys, key, NEITHER);
  }

  get ruleCount(): number {
    const keys = this.#keys === 'all' ? 1 : this.#keys.length;
    const channels = this.#channels === 'all' ? 1 : this.#channels.length;
    return keys + channels + this.commands.ruleCount;
  }

  /** Key patterns as rules. */
  get keyRules(): string[] {
    return this.#keys === 'all' ? ['~*'] : this.#keys.map(keyRule);
  }

  /** Channel patterns as rules. */
  get channelRules(): string[] {
    return this.#channels === 'all' ? ['&*'] : this.#channels.map((pattern) => `&${pattern}`);
  }

  /** The selector as rules that restore it. */
  get text(): string {
    const channels = this.#channels === 'all' ? [] : ['resetchannels'];
    return [...this.keyRules, ...channels, ...this.channelRules, this.commands.text].join(' ');
  }

  /** Whether the command is allowed whatever its arguments are. */
  allowsAlways(command: Command): boolean {
    const { keys, channels } = command.facts;
    if (!command.has('no_auth') && !this.commands.allowsAlways(command)) return false;
    return (
      (this.#keys === 'all' || keys.length === 0) &&
      (this.#channels === 'all' || channels === undefined)
    );
  }

  /** Why the selector does not allow the request; undefined if it does. */
  denial(request: CheckedRequest): Denial | undefined {
    if (!this.#allowsCommand(request)) return { reason: 'command', at: 0 };
    return this.#keyDenial(request) ?? this.#channelDenial(request);
  }

  /** `isPattern`: the name is that of PSUBSCRIBE, which must be equal to a pattern of the selector. */
  allowsChannel(name: string, isPattern: boolean, role: LockRole): boolean {
    if (this.#channels === 'all') return true;
    if (isPattern) return this.#channels.includes(name);
    if (this.commands.runsKnownScripts && role.ownsChannel(name)) return true;
    return this.#channels.some((pattern) => matchesGlob(pattern, name));
  }

  /** Applies one rule about commands, keys or channels. Throws RuleError. */
  apply(rule: string): void {
    const set = WORDS.get(lower(rule));
    if (set !== undefined) set(this);
    else if (rule.startsWith('~') || rule.startsWith('%')) this.#addKeys(rule);
    else if (rule.startsWith('&')) this.#addChannels(rule.slice(1));
    else if (/^[+-]@/.test(rule)) this.commands.setCategory(rule.slice(2), rule.startsWith('+'));
    else if (/^[+-]/.test(rule)) this.commands.setCommand(rule.slice(1), rule.startsWith('+'));
    else throw new RuleError('syntax');
  }

  setKeys(keys: 'all' | 'none'): void {
    this.#keys = keys === 'all' ? 'all' : [];
  }

  setChannels(channels: 'all' | 'none'): void {
    this.#channels = channels === 'all' ? 'all' : [];
  }

  #addKeys(rule: string): void {
    if (this.#keys === 'all') throw new RuleError('after-all-keys');
    const added = parseKeyRule(rule);
    assertPattern(added.pattern);
    const at = this.#keys.findIndex(({ pattern }) => pattern === added.pattern);
    const pattern = at < 0 ? added : joined(this.#keys[at]!, added);
    // `%RW~*` is `~*`: ACL LIST would show it as that, and no pattern may follow that in an ACL file.
    if (keyRule(pattern) === '~*') this.#keys = 'all';
    else this.#keys = at < 0 ? [...this.#keys, pattern] : this.#keys.with(at, pattern);
  }

  #addChannels(pattern: string): void {
    if (this.#channels === 'all') throw new RuleError('after-all-channels');
    assertPattern(pattern);
    if (!this.#channels.includes(pattern)) this.#channels = [...this.#channels, pattern];
  }

  #allowsCommand({ command, argv, role, isInKnownScript }: CheckedRequest): boolean {
    if ((command.bits & FLAGS.no_auth) !== 0 || this.commands.allows(command, argv)) return true;
    if (isInKnownScript) return this.commands.runsKnownScripts;
    return this.commands.allowsWithKnownScript(command) && role.sendsKnownScript(command, argv);
  }

  #keyDenial({ command, argv, role, isInKnownScript }: CheckedRequest): Denial | undefined {
    if (this.#keys === 'all' || command.facts.keys.length === 0) return undefined;
    const keys = command.keyReferences(argv);
    if (keys === undefined) return { reason: 'key', at: 1 };
    const isLibrary = isInKnownScript && this.commands.runsKnownScripts;
    for (const reference of keys) {
      const key = argv[reference.at]!;
      if (isLibrary && role.ownsKey(key)) continue;
      if (!allowsKey(this.#keys, key, reference.needs)) return { reason: 'key', at: reference.at };
    }
    return undefined;
  }

  #channelDenial({ command, argv, role }: CheckedRequest): Denial | undefined {
    const { channels } = command.facts;
    if (channels === undefined || this.#channels === 'all') return undefined;
    const end = channels === 'first' ? 2 : argv.length;
    for (let at = 1; at < end; at++) {
      if (this.allowsChannel(argv[at]!, channels === 'patterns', role)) continue;
      return { reason: 'channel', at };
    }
    return undefined;
  }
}

const WORDS: ReadonlyMap<string, (selector: Selector) => void> = new Map([
  ['allkeys', (selector) => selector.setKeys('all')],
  ['~*', (selector) => selector.setKeys('all')],
  ['resetkeys', (selector) => selector.setKeys('none')],
  ['allchannels', (selector) => selector.setChannels('all')],
  ['&*', (selector) => selector.setChannels('all')],
  ['resetchannels', (selector) => selector.setChannels('none')],
  ['allcommands', (selector) => selector.commands.setAll(true)],
  ['+@all', (selector) => selector.commands.setAll(true)],
  ['nocommands', (selector) => selector.commands.setAll(false)],
  ['-@all', (selector) => selector.commands.setAll(false)],
] as const satisfies [string, (selector: Selector) => void][]);

/** `~pattern`, or `%R~pattern` with the letters R and W. */
function parseKeyRule(rule: string): KeyPattern {
  if (rule.startsWith('~')) return keyPattern(rule.slice(1), true, true);
  const [, letters] = /^%(r|w|rw|wr)~/i.exec(rule) ?? [];
  if (letters === undefined) throw new RuleError('syntax');
  const folded = lower(letters);
  return keyPattern(rule.slice(letters.length + 2), folded.includes('r'), folded.includes('w'));
}

function keyPattern(pattern: string, reads: boolean, writes: boolean): KeyPattern {
  const [, prefix] = /^([^*?[\\]+)\*$/s.exec(pattern) ?? [];
  return { pattern, prefix, reads, writes };
}

function joined(one: KeyPattern, other: KeyPattern): KeyPattern {
  return keyPattern(one.pattern, one.reads || other.reads, one.writes || other.writes);
}

function keyRule({ pattern, reads, writes }: KeyPattern): string {
  if (reads && writes) return `~${pattern}`;
  return `${reads ? '%R' : '%W'}~${pattern}`;
}

function assertPattern(pattern: string): void {
  if (hasSpace(pattern)) throw new RuleError('syntax');
  if (pattern.length > MAX_TOKEN_BYTES) throw new RuleError('long-pattern');
}

type KeyNeeds = KeyReference['needs'];

const NEITHER: KeyNeeds = { read: false, write: false };

function allowsKey(patterns: readonly KeyPattern[], key: string, needs: KeyNeeds): boolean {
  for (const { pattern, prefix, reads, writes } of patterns) {
    if ((needs.read && !reads) || (needs.write && !writes)) continue;
    if (prefix === undefined ? matchesGlob(pattern, key) : key.startsWith(prefix)) return true;
  }
  return false;
}
