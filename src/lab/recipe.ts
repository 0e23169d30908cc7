import type { CheckName } from './checks/check.ts';
import type { DocumentName } from './documents.ts';
import type { WorldOptions } from './options.ts';
import type { ReadView } from './store-view.ts';

/**
 * A lock algorithm as a small program. `client` is what each client does to take the lock once, work
 * and give it back; its only actions are those of `Tools`. It returns `busy` to sleep for a second and
 * begin again, `done` when all went well in its own eyes, `lost` when it knows that it lost the lock.
 *
 * Whatever else it computes must follow from what it was told: the explorer runs it again from the
 * start to get back to where it was.
 */
export interface Algorithm {
  readonly name: string;
  /** The key that is the lock, as the checks look at it. */
  readonly lockKey: string;
  /** Where the lease's end stands, if not in the key's TTL: the Unix time that the value names. */
  readonly leaseEnd?: (value: string) => number;
  /** How much of the lock there is to take; 1 unless told. */
  readonly slots?: number;
  /** Who has the lock by the store's own books, for a lock that keeps books. */
  readonly view?: ReadView;
  readonly client: (tools: Tools) => Client;
  /** Worlds to explore it in; the first is the one that is meant if none is named. */
  readonly variants?: readonly Variant[];
}

/** An algorithm of the gallery, with what is known of it. */
export interface Recipe extends Algorithm {
  /** One sentence. */
  readonly about: Text;
  readonly source: Source;
  readonly variants: readonly Variant[];
}

/** A recipe in a world, and what the search must find there. */
export interface Variant {
  readonly name: string;
  readonly about: Text;
  readonly world: Partial<WorldOptions>;
  /** The checks that fail. All others hold. */
  readonly fails: readonly CheckName[];
  /**
   * Those of `fails` that the recipe does not promise to keep from happening, because it cannot: no lease
   * keeps a paused holder from going on, and where the resource looks at no fence its write comes late.
   */
  readonly unpromised?: readonly CheckName[];
  /** The failing check whose schedule is drawn. */
  readonly shows?: CheckName;
  /** The run to draw, where the shortest one in which `shows` fails is not the one that explains it. */
  readonly scene?: string;
}

export interface Text {
  readonly en: string;
  readonly zh: string;
}

/** A document that describes a recipe, and what it says, in words of our own. */
export interface Source {
  readonly document: DocumentName;
  readonly says: Text;
}

export type Outcome = 'done' | 'busy' | 'lost';
export type Client = Generator<Action, Outcome, unknown>;
/** An action on its way: `yield*` performs it and gives what it answers. */
export type Doing<Result> = Generator<Action, Result, unknown>;

/** A reply as a recipe sees it. An error reply is a fault of the recipe and ends the exploration. */
export type Answer = string | number | null | readonly Answer[];

/** What a client can do. Commands, clock reads and writes are steps; the marks cost none. */
export interface Tools {
  /** A, B, C… */
  readonly name: string;
  /** Another one for every acquisition: A1, A2… */
  readonly token: string;
  readonly variant: string;

  /** command`SET lock ${token} NX PX 2000`: words by spaces, each value one word. */
  command(words: TemplateStringsArray, ...values: (string | number)[]): Doing<Answer>;
  /** MULTI, the commands, EXEC: one step, since nothing happens before EXEC. */
  transaction(...commands: readonly string[]): Doing<readonly Answer[]>;
  /** Seconds since 1970 by the client's own clock, which may be skewed. */
  unixTime(): Doing<number>;
  /** The same in milliseconds. */
  unixTimeMs(): Doing<number>;
  sleep(durationMs: number): Doing<void>;
  /** Waits so long for a message that is published to the client's name; null if none came. */
  listen(durationMs: number): Doing<Heard | null>;
  /** Changes the thing that the lock protects. A fence lower than one seen before is refused: false. */
  write(fence?: number): Doing<boolean>;
  /** A second of work that ends with a write. */
  work(fence?: number): Doing<boolean>;

  /** Marks that the client believes from here on that it holds the lock, or so much of it. */
  enter(lease?: Lease, take?: number): Doing<void>;
  /** Marks that the lease runs anew from here on. */
  extend(lease: Lease): Doing<void>;
  /** Marks that the client has stopped acting on the lock's behalf. */
  leave(): Doing<void>;
}

/** How long the client may act: for so long from now, until a Unix time of its own clock, or for ever. */
export type Lease = { readonly leaseMs: number } | { readonly until: number };

/** A message, and how long the client had listened when it came. */
export type Heard = readonly [text: string, waitedMs: number];

/** What a client waits to do next. */
export type Action = Step | Mark | SleepAction;
export type Step = CommandAction | ClockAction | WriteAction | ListenAction;

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

/** A step once there is something to hear; until then a sleep. */
export interface ListenAction {
  readonly kind: 'listen';
  readonly durationMs: number;
}

export interface SleepAction {
  readonly kind: 'sleep';
  readonly durationMs: number;
}

export type Mark =
  | { readonly kind: 'enter'; readonly lease: Lease | undefined; readonly take: number }
  | { readonly kind: 'extend'; readonly lease: Lease }
  | { readonly kind: 'leave' };
