import type { Reply } from '../resp/index.ts';
import type { Parked } from './blocking.ts';
import { type KeySpec, keyPositions } from './key-spec.ts';
import type { Session } from './session.ts';

/** What running a command gives: its reply, or PARKED when the reply comes later by the listener. */
export type Outcome = Reply | Parked;

/** Runs a command. `argv[0]` is its name as the client wrote it; arity was checked. May throw ErrorReply. */
export type Run = (session: Session, argv: readonly string[]) => Outcome;

/** Redis's flags, with the bit that stands for each. */
export const FLAGS = {
  write: 1 << 0,
  readonly: 1 << 1,
  denyoom: 1 << 2,
  admin: 1 << 3,
  pubsub: 1 << 4,
  noscript: 1 << 5,
  blocking: 1 << 6,
  loading: 1 << 7,
  stale: 1 << 8,
  fast: 1 << 9,
  no_auth: 1 << 10,
  no_multi: 1 << 11,
  movablekeys: 1 << 12,
  skip_monitor: 1 << 13,
  skip_slowlog: 1 << 14,
  allow_busy: 1 << 15,
  may_replicate: 1 << 16,
  no_mandatory_keys: 1 << 17,
} as const;

export type Flag = keyof typeof FLAGS;

export type Group =
  | 'string'
  | 'generic'
  | 'hash'
  | 'list'
  | 'set'
  | 'sorted-set'
  | 'pubsub'
  | 'transactions'
  | 'scripting'
  | 'connection'
  | 'server';

export const NO_KEYS: readonly KeySpec[] = [];

/** What a cluster client or a person should know of a command; in Redis's words. */
type Tip =
  | `nondeterministic_output${'' | '_order'}`
  | `request_policy:${'all_nodes' | 'all_shards' | 'multi_shard' | 'special'}`
  | `response_policy:${'one_succeeded' | 'all_succeeded' | 'agg_logical_and' | 'agg_min' | 'agg_sum' | 'special'}`;

/**
 * The facts of a command. Dispatch, MULTI and script rules, COMMAND and the completion of the command
 * line all read them from here.
 */
export interface CommandFacts {
  /** Number of words with the name; negative: at least so many. */
  readonly arity: number;
  readonly keys: readonly KeySpec[];
  /** The positions of the keys, where `keys` cannot tell them all. */
  readonly findKeys?: (argv: readonly string[]) => number[];
  readonly flags: readonly Flag[];
  readonly run: Run;
  /** The arguments as a person reads them: `key value [NX|XX]`. */
  readonly syntax: string;
  readonly summary: string;
  readonly since: string;
  /** Begins with the notation, `O(N) for N keys`; empty if Redis gives none. */
  readonly complexity: string;
  /** What later versions of Redis changed, oldest first. */
  readonly history?: readonly (readonly [version: string, change: string])[];
  readonly deprecated?: {
    readonly since: string;
    /** Begins with the name of the command to use, in backticks. */
    readonly replacedBy: string;
  };
  readonly tips?: readonly Tip[];
  /** Runs at once between MULTI and EXEC instead of being queued. */
  readonly actsInMulti?: true;
  /** Allowed to a RESP2 client that has subscribed. */
  readonly actsInSubscription?: true;
  /** It writes, but what it looks for counts as read: a hit or a miss. */
  readonly countsReads?: true;
  /** For a container such as CLIENT: what follows its name. */
  readonly subcommands?: CommandTable;
}

/** One family: facts by the command's name in capitals. */
export type CommandTable = Readonly<Record<string, CommandFacts>>;

/** Redis does not call these fast, because of what they may have to free; here that is not their work. */
const BRIEF: ReadonlySet<string> = new Set(['set', 'setex', 'psetex', 'del']);

/** A command ready for dispatch. */
export class Command {
  /** Lower case as in Redis's messages; a subcommand is `client|id`. */
  readonly name: string;
  readonly group: Group;
  readonly facts: CommandFacts;
  readonly arity: number;
  readonly bits: number;
  readonly run: Run;
  /** Whether its looks at keys count as hits and misses. */
  readonly countsReads: boolean;
  /** Takes no time worth measuring, as long as it has few words. */
  readonly isBrief: boolean;
  /** Place of its counters in the engine's statistics. */
  readonly number: number;
  readonly subcommands: ReadonlyMap<string, Command> | undefined;

  constructor(
    name: string,
    group: Group,
    facts: CommandFacts,
    number: number,
    subcommands?: Command[],
  ) {
    this.name = name;
    this.group = group;
    this.facts = facts;
    this.arity = facts.arity;
    this.bits = facts.flags.reduce((bits, flag) => bits | FLAGS[flag], 0);
    this.run = facts.run;
    this.countsReads = facts.countsReads ?? !this.has('write');
    this.isBrief = (this.has('fast') && group !== 'pubsub') || BRIEF.has(name);
    this.number = number;
    this.subcommands =
      subcommands && new Map(subcommands.map((each) => [each.name.split('|')[1]!, each]));
  }

  takes(count: number): boolean {
    return this.arity >= 0 ? count === this.arity : count >= -this.arity;
  }

  has(flag: Flag): boolean {
    return (this.bits & FLAGS[flag]) !== 0;
  }

  /** The positions of the keys in `argv`; none if a count of keys is wrong. */
  keyPositions(argv: readonly string[]): number[] {
    const { keys, findKeys } = this.facts;
    if (findKeys !== undefined) return findKeys(argv);
    const known = keys.filter(({ search }) => search.type !== 'unknown');
    const found = known.map((spec) => keyPositions(spec, argv));
    return found.every((positions) => positions.length > 0) ? found.flat() : [];
  }
}
