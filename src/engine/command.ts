import type { Reply } from '../resp/index.ts';
import type { Blocked } from './blocking.ts';
import {
  fixedKeys,
  isZeroCount,
  type KeyReference,
  type KeySpec,
  keyPositions,
  keyReference,
} from './key-spec.ts';
import type { Session } from './session.ts';

/** The result of a command: its reply, or BLOCKED when the listener receives the reply later. */
export type Outcome = Reply | Blocked;

/** Runs a command. `argv[0]` is its name as the client wrote it; arity was checked. May throw ErrorReply. */
export type Run = (session: Session, argv: readonly string[]) => Outcome;

/** Redis's command flags, each with its bit. */
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
  no_async_loading: 1 << 18,
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

/** The command tips of Redis, for cluster clients and documentation. */
type Tip =
  | `nondeterministic_output${'' | '_order'}`
  | `request_policy:${'all_nodes' | 'all_shards' | 'multi_shard' | 'special'}`
  | `response_policy:${'one_succeeded' | 'all_succeeded' | 'agg_logical_and' | 'agg_min' | 'agg_sum' | 'special'}`;

/**
 * The definition of a command. Dispatch, the rules for MULTI and scripts, COMMAND and the completion of the
 * command line read it.
 */
export interface CommandFacts {
  /** The number of arguments with the name. Negative: at least so many. */
  readonly arity: number;
  readonly keys: readonly KeySpec[];
  /** Returns the keys, if `keys` cannot describe them all, or if their use depends on other arguments. */
  readonly findKeys?: (argv: readonly string[]) => readonly KeyReference[];
  /** The arguments that are channels: the first, all names, or all patterns. Unsubscribing needs no right. */
  readonly channels?: 'first' | 'names' | 'patterns';
  readonly flags: readonly Flag[];
  readonly run: Run;
  /** The arguments in the notation of the docs: `key value [NX|XX]`. */
  readonly syntax: string;
  readonly summary: string;
  readonly since: string;
  /** Begins with the notation, `O(N) for N keys`; empty if Redis gives none. */
  readonly complexity: string;
  /** The changes in later versions of Redis, oldest first. */
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
  /** The command writes, but its lookups count as hits and misses. */
  readonly countsReads?: true;
  /** The subcommands of a container such as CLIENT. */
  readonly subcommands?: CommandTable;
}

/** The definitions of one command group, by the command's name in capitals. */
export type CommandTable = Readonly<Record<string, CommandFacts>>;

/** Not fast in Redis, because they free memory. Here the garbage collector does that. */
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
  /** Whether its lookups of keys count as hits and misses. */
  readonly countsReads: boolean;
  /** Too short to be worth timing each call, if it has few arguments. */
  readonly isBrief: boolean;
  /** Index of its counters in the engine's statistics. */
  readonly number: number;
  readonly subcommands: ReadonlyMap<string, Command> | undefined;
  /** The keys, if they are at the same positions in every request. */
  readonly #fixedKeys: KeyReference[] | undefined;

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
    this.#fixedKeys = facts.findKeys === undefined ? fixedKeys(facts.keys) : undefined;
    this.subcommands =
      subcommands && new Map(subcommands.map((each) => [each.name.split('|')[1]!, each]));
  }

  takes(count: number): boolean {
    return this.arity >= 0 ? count === this.arity : count >= -this.arity;
  }

  has(flag: Flag): boolean {
    return (this.bits & FLAGS[flag]) !== 0;
  }

  /** The positions of the keys in `argv`; empty if a count of keys is wrong. */
  keyPositions(argv: readonly string[]): number[] {
    return (this.keyReferences(argv) ?? []).map(({ at }) => at);
  }

  /** The keys in `argv`. Undefined if they cannot be known: a count of keys is wrong. */
  keyReferences(argv: readonly string[]): readonly KeyReference[] | undefined {
    if (this.#fixedKeys !== undefined) return this.#fixedKeys;
    const { keys, findKeys } = this.facts;
    if (findKeys !== undefined) return findKeys(argv);
    const found: KeyReference[] = [];
    for (const spec of keys) {
      if (spec.use === 'not_key') continue;
      if (this.has('no_mandatory_keys') && isZeroCount(spec, argv)) continue;
      const positions = keyPositions(spec, argv);
      if (positions.length === 0 || positions.at(-1)! >= argv.length) return undefined;
      for (const at of positions) found.push(keyReference(at, spec.use));
    }
    return found;
  }
}
