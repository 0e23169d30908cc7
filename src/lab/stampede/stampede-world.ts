import { type Clock, type Random, seededRandom, type Timer } from '../../clock/index.ts';
import { createEngine, type Engine, execute, type Session } from '../../engine/index.ts';
import type { Reply } from '../../resp/index.ts';
import { SceneClock } from './scene-clock.ts';

/** The value that a client got: `new` was just loaded, `old` had expired. */
export type Answered = 'new' | 'old';

export interface SceneEvent {
  readonly kind:
    | 'ask'
    | 'ask-later'
    | 'load'
    | 'refreshed'
    | 'crash'
    | Answered
    /** At the end of the run: clients without a value, and a lock without expiry. */
    | 'none'
    | 'locked';
  readonly atMs: number;
  /** From 1. */
  readonly client: number;
}

interface WorldOptions {
  readonly databaseSlots: number;
  readonly loadMs: number;
  /** The first client that loads the value crashes in the middle of the load. */
  readonly loaderDies: boolean;
}

export type Visit = (visitor: Visitor) => Promise<Answered>;

/** Network latency to the store, and back. */
const ONE_WAY_MS = 0.5;
export const LOCK_KEY = 'lock';

/** A cache store, a database, and clients as separate processes, on virtual time. */
export class StampedeWorld {
  /** @internal */
  readonly engine: Engine;
  readonly clock = new SceneClock();
  readonly events: SceneEvent[] = [];
  readonly #options: WorldOptions;
  readonly #session: Session;
  readonly #unanswered = new Set<Visitor>();
  readonly #queue: (() => void)[] = [];
  #running = 0;
  #lastLoadMs = 0;
  #beganMs = 0;
  #mayCrash: boolean;
  #isRefreshed = false;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#mayCrash = options.loaderDies;
    this.engine = createEngine({ clock: this.clock, random: seededRandom(1) });
    this.#session = this.engine.session();
  }

  /** Sets the time to 0. */
  begin(): void {
    this.#beganMs = this.clock.monotonicMs();
  }

  get nowMs(): number {
    return this.clock.monotonicMs() - this.#beganMs;
  }

  /** The number of live clients that still wait. */
  get unanswered(): number {
    return [...this.#unanswered].filter(({ isDead }) => !isDead).length;
  }

  /** The database is idle, and its last value has reached the client. */
  get isQuiet(): boolean {
    return this.#running === 0 && this.nowMs >= this.#lastLoadMs + this.#options.loadMs;
  }

  /** True if the textbook lock exists without expiry. */
  get isLocked(): boolean {
    return execute(this.#session, ['TTL', LOCK_KEY]) === -1;
  }

  visit(client: number, kind: 'ask' | 'ask-later', visit: Visit): void {
    const visitor = new Visitor(client, this);
    this.note(kind, visitor);
    this.#unanswered.add(visitor);
    void visit(visitor).then((answer) => {
      this.#unanswered.delete(visitor);
      this.note(answer, visitor);
    });
  }

  runUntil(atMs: number): Promise<void> {
    return this.clock.runUntil(this.#beganMs + atMs);
  }

  note(kind: SceneEvent['kind'], { client }: Visitor): void {
    this.events.push({ kind, atMs: this.nowMs, client });
  }

  /** Loads the new value from the database. Never resolves for a client that has crashed. */
  load(visitor: Visitor): Promise<'new'> {
    this.note('load', visitor);
    if (this.#mayCrash) {
      this.#mayCrash = false;
      this.clock.setTimer(this.#options.loadMs / 2, () => this.#crash(visitor));
    }
    return new Promise((resolve) => {
      this.#queue.push(() => {
        this.clock.setTimer(this.#options.loadMs, () => {
          this.#running--;
          this.#lastLoadMs = this.nowMs;
          this.#startLoads();
          if (visitor.isDead) return;
          this.#noteRefresh(visitor);
          resolve('new');
        });
      });
      this.#startLoads();
    });
  }

  /** Records the first load that ends for a live client. */
  #noteRefresh(visitor: Visitor): void {
    if (this.#isRefreshed) return;
    this.#isRefreshed = true;
    this.note('refreshed', visitor);
  }

  #startLoads(): void {
    while (this.#running < this.#options.databaseSlots && this.#queue.length > 0) {
      this.#running++;
      this.#queue.shift()!();
    }
  }

  #crash(visitor: Visitor): void {
    visitor.isDead = true;
    this.#unanswered.delete(visitor);
    this.note('crash', visitor);
  }
}

/** A process that requests the entry. Its timers do not fire after it has crashed. */
export class Visitor {
  readonly client: number;
  readonly world: StampedeWorld;
  readonly clock: Clock;
  readonly random: Random;
  isDead = false;
  readonly #session: Session;

  constructor(client: number, world: StampedeWorld) {
    this.client = client;
    this.world = world;
    this.random = seededRandom(client);
    this.#session = world.engine.session();
    const { clock } = world;
    this.clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
      defer: (callback) => void this.#setTimer(0, callback),
    };
  }

  pause(durationMs: number): Promise<void> {
    return new Promise((resolve) => void this.#setTimer(durationMs, resolve));
  }

  travel(): Promise<void> {
    return this.pause(ONE_WAY_MS);
  }

  async send(...argv: readonly string[]): Promise<Reply> {
    await this.travel();
    const reply = execute(this.#session, argv);
    await this.travel();
    if (typeof reply === 'symbol') throw new Error(`${argv[0]} waits`);
    return reply;
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    return this.world.clock.setTimer(delayMs, () => {
      if (!this.isDead) callback();
    });
  }
}
