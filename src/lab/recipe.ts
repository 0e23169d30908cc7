import type { CheckName } from './checks/check.ts';
import type { DocumentName } from './documents.ts';
import type { WorldOptions } from './options.ts';
import type { ReadView } from './store-view.ts';

/**
 * A lock algorithm as a small program. `client` acquires the lock once, works and releases it; its only
 * actions are those of `Tools`. It returns `busy` to sleep for a second and start again, `done` if it
 * noticed no error, and `lost` if it knows that it lost the lock.
 *
 * The client must be deterministic: everything that it computes must follow from the results of its actions.
 * The explorer runs it again from the start to return to an earlier position.
 */
export interface Algorithm {
  readonly name: string;
  /** The key of the lock, which the checks read. */
  readonly lockKey: string;
  /** Returns the lease's end as a Unix time from the key's value, if the key's TTL is not the end. */
  readonly leaseEnd?: (value: string) => number;
  /** The number of permits of the lock. Default 1. */
  readonly slots?: number;
  /** Reads grants and queue from the keys, for a lock that stores them. */
  readonly view?: ReadView;
  readonly client: (tools: Tools) => Client;
  /** Worlds to explore it in. The first is the default. */
  readonly variants?: readonly Variant[];
}

/** An algorithm of the gallery, with its source and its expected verdicts. */
export interface Recipe extends Algorithm {
  /** One sentence. */
  readonly about: Text;
  readonly source: Source;
  readonly variants: readonly Variant[];
}

/** A recipe in a world, and the checks that the search must find failing there. */
export interface Variant {
  readonly name: string;
  readonly about: Text;
  readonly world: Partial<WorldOptions>;
  /** The checks that fail. All others hold. */
  readonly fails: readonly CheckName[];
  /**
   * Those of `fails` that the recipe does not promise to prevent, because it cannot: a lease does not stop
   * a paused holder from resuming, and if the resource checks no fence, it accepts that holder's late write.
   */
  readonly unpromised?: readonly CheckName[];
  /** The failing check whose schedule is drawn. */
  readonly shows?: CheckName;
  /** The schedule to draw, if the shortest one in which `shows` fails does not explain the failure well. */
  readonly scene?: string;
}

export interface Text {
  readonly en: string;
  readonly zh: string;
}

/** A document that describes a recipe, and a summary of what it says. */
export interface Source {
  readonly document: DocumentName;
  readonly says: Text;
}

export type Outcome = 'done' | 'busy' | 'lost';
export type Client = Generator<Action, Outcome, unknown>;
/** An action in progress: `yield*` performs it and returns its result. */
export type Doing<Result> = Generator<Action, Result, unknown>;

/** A reply as a recipe receives it. An error reply is a bug of the recipe and ends the exploration. */
export type Answer = string | number | null | readonly Answer[];

/** The actions of a client. Commands, clock reads, listening and writes are steps; marks are not. */
export interface Tools {
  /** A, B, C… */
  readonly name: string;
  /** Unique for each acquisition: A1, A2… */
  readonly token: string;
  readonly variant: string;

  /** command`SET lock ${token} NX PX 2000`: split at spaces into arguments; each value is one argument. */
  command(words: TemplateStringsArray, ...values: (string | number)[]): Doing<Answer>;
  /** MULTI, the commands, EXEC: one step, since the commands run at EXEC. */
  transaction(...commands: readonly string[]): Doing<readonly Answer[]>;
  /** Seconds since 1970 by the client's own clock, which may be skewed. */
  unixTime(): Doing<number>;
  /** The same in milliseconds. */
  unixTimeMs(): Doing<number>;
  sleep(durationMs: number): Doing<void>;
  /** Waits for a message that is published to the client's name; null if none arrives in time. */
  listen(durationMs: number): Doing<ReceivedMessage | null>;
  /** Writes to the resource that the lock protects. Returns false if it refuses the fence as too low. */
  write(fence?: number): Doing<boolean>;
  /** Sleeps for a second, then writes. */
  work(fence?: number): Doing<boolean>;

  /** Marks that the client believes from here on that it holds the lock, or this many permits. Default 1. */
  enter(lease?: Lease, permits?: number): Doing<void>;
  /** Marks that the lease starts again from here. */
  extend(lease: Lease): Doing<void>;
  /** Marks that the client no longer acts as a holder. */
  leave(): Doing<void>;
}

/** How long the client may act as a holder: for a duration from now, or until a Unix time of its own clock. */
export type Lease = { readonly leaseMs: number } | { readonly until: number };

/** A message, and how long the client had listened when it arrived. */
export type ReceivedMessage = readonly [text: string, waitedMs: number];

/** What a client does next. `line` is its line in a recipe that was parsed from a text. */
export type Action = (Step | Mark | SleepAction) & { readonly line?: number };
export type Step = (CommandAction | ClockAction | WriteAction | ListenAction) & {
  readonly line?: number;
};

export interface CommandAction {
  readonly kind: 'command';
  /** One command, or MULTI to EXEC. */
  readonly lines: readonly (readonly string[])[];
}

export interface ClockAction {
  readonly kind: 'clock';
  readonly unitMs: 1 | 1000;
}

export interface WriteAction {
  readonly kind: 'write';
  readonly fence: number | undefined;
}

/** A sleep that becomes a step when a message arrives. */
export interface ListenAction {
  readonly kind: 'listen';
  readonly durationMs: number;
}

export interface SleepAction {
  readonly kind: 'sleep';
  readonly durationMs: number;
}

export type Mark =
  | { readonly kind: 'enter'; readonly lease: Lease | undefined; readonly permits: number }
  | { readonly kind: 'extend'; readonly lease: Lease }
  | { readonly kind: 'leave' };
