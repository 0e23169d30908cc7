import { expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import { settle } from '../../../test/virtual-time.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine } from '../../engine/index.ts';
import { DeadlockError, type Lock, Locks } from '../../lock/index.ts';
import { engineRunner } from './engine-runner.ts';
import { RedisStore } from './redis-store.ts';

/**
 * Random programs of nested run() calls in several processes, compared with a simple model: the model knows which task
 * holds and requests what, in which order, and decides whether a request can ever be granted. Every report must be of a
 * task that the model calls stuck, and no task may wait longer than all others together need.
 */
const SEED = process.env['HOLDFAST_SEED'] ?? newSeed();
const PROGRAMS = 200;
const STEP_MS = 40;
const MAX_PAUSE_STEPS = 10;
/** A deadlock is reported within this time of its last request. */
const MAX_STUCK_MS = 3000;

it(`reports every deadlock of random programs, and no other wait (seed ${SEED})`, async () => {
  const reports = { across: 0, within: 0 };
  for (let number = 0; number < PROGRAMS; number++) {
    const random = seededRandom(Number(SEED) + number);
    const program = new Program(random);
    try {
      await program.run();
    } catch (error) {
      throw new Error(`seed ${SEED}, program ${number}`, { cause: error });
    }
    reports.across += program.reportedAcross;
    reports.within += program.reportedWithin;
  }
  expect(reports.across).toBeGreaterThan(PROGRAMS / 10);
  expect(reports.within).toBeGreaterThan(0);
}, 120_000);

interface Slots {
  readonly name: string;
  readonly slots: number;
}

/** What a task takes of a lock. */
interface Need extends Slots {
  readonly permits: number;
  lockIn(locks: Locks): Lock;
}

const NEEDS: readonly Need[] = [
  ...['a', 'b', 'c'].map((name) => ({
    name,
    slots: 1,
    permits: 1,
    lockIn: (locks: Locks) => locks.mutex(name),
  })),
  { name: 's', slots: 2, permits: 1, lockIn: (locks) => locks.semaphore('s', 2) },
  { name: 's', slots: 2, permits: 2, lockIn: (locks) => locks.semaphore('s', 2, { permits: 2 }) },
  { name: 'rw', slots: 2 ** 30, permits: 1, lockIn: (locks) => locks.readWrite('rw').read },
  { name: 'rw', slots: 2 ** 30, permits: 2 ** 30, lockIn: (locks) => locks.readWrite('rw').write },
];

interface Task {
  readonly process: number;
  readonly needs: readonly Need[];
  readonly held: Need[];
  wanted: Need | undefined;
  /** The order of the requests. */
  ticket: number;
  isOver: boolean;
}

class Program {
  reportedAcross = 0;
  reportedWithin = 0;
  readonly #random: Random;
  readonly #clock: VirtualClock = virtualClock();
  readonly #tasks: Task[];
  readonly #processes: Locks[];
  readonly #engine = createEngine({ clock: this.#clock, random: seededRandom(1) });
  #ticketCount = 0;
  readonly #usedSteps = new Set<number>();
  /**
   * The tasks that were stuck when the time last stood still, until the next report. The request behind a member may be
   * granted before that member gets its error.
   */
  #stuckBefore = new Set<Task>();

  constructor(random: Random) {
    this.#random = random;
    this.#processes = Array.from({ length: 2 + this.#below(2) }, (_, index) => {
      const settings = { clock: this.#clock, clientId: `p${index}`, requestTimeoutMs: 2000 };
      const store = new RedisStore(engineRunner(this.#engine), settings);
      return new Locks({ store, clock: this.#clock, random: seededRandom(index) });
    });
    this.#tasks = Array.from({ length: 3 + this.#below(4) }, () => ({
      process: this.#below(this.#processes.length),
      needs: this.#needs(2 + this.#below(2)),
      held: [],
      wanted: undefined,
      ticket: 0,
      isOver: false,
    }));
  }

  async run(): Promise<void> {
    const ended = Promise.all(this.#tasks.map((task) => this.#runTask(task)));
    ended.catch(() => {});
    let stuckMs = 0;
    while (this.#tasks.some(({ isOver }) => !isOver)) {
      await settle();
      this.#stuckBefore = new Set(this.#tasks.filter((task) => isStuck(task, this.#tasks)));
      stuckMs = this.#stuckBefore.size > 0 ? stuckMs + STEP_MS : 0;
      this.#clock.advance(STEP_MS);
      await settle();
      expect(stuckMs).toBeLessThan(MAX_STUCK_MS);
    }
    await ended;
    await Promise.all(this.#processes.map((locks) => locks.close()));
    this.#engine.close();
  }

  async #runTask(task: Task): Promise<void> {
    await this.#pause();
    try {
      await this.#nest(task, 0);
    } catch (error) {
      if (!(error instanceof DeadlockError)) throw error;
    } finally {
      task.isOver = true;
    }
  }

  async #nest(task: Task, depth: number): Promise<void> {
    const need = task.needs[depth];
    if (need === undefined) return;
    task.wanted = need;
    task.ticket = ++this.#ticketCount;
    const inside = async (): Promise<void> => {
      task.wanted = undefined;
      task.held.push(need);
      await this.#pause();
      await this.#nest(task, depth + 1);
    };
    try {
      const lock = need.lockIn(this.#processes[task.process]!);
      await lock.run(inside, { wait: '1h' });
    } catch (error) {
      if (task.wanted === need) this.#reported(task, error as Error);
      throw error;
    } finally {
      task.held.splice(depth);
    }
  }

  #reported(task: Task, error: Error): void {
    const isTrue = this.#stuckBefore.has(task) || isStuck(task, this.#tasks);
    if (!isTrue) throw new Error('a false report', { cause: error });
    this.#stuckBefore.clear();
    task.wanted = undefined;
    if (error.message.includes(' pid ')) this.reportedAcross++;
    else this.reportedWithin++;
  }

  /** Locks of different names. */
  #needs(count: number): Need[] {
    const needs = new Map<string, Need>();
    while (needs.size < count) {
      const need = NEEDS[this.#below(NEEDS.length)]!;
      if (!needs.has(need.name)) needs.set(need.name, need);
    }
    return [...needs.values()];
  }

  /** No two pauses end in one step, so that requests reach the store in the order of their tickets. */
  #pause(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    let step = Math.floor(nowMs / STEP_MS) + 1 + this.#below(MAX_PAUSE_STEPS);
    while (this.#usedSteps.has(step)) step++;
    this.#usedSteps.add(step);
    return new Promise((resolve) => void this.#clock.setTimer(step * STEP_MS - nowMs, resolve));
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }
}

/** Whether the task still waits after every task that can go on has ended, in the order of the queues. */
function isStuck(task: Task, tasks: readonly Task[]): boolean {
  const rest = new Set(tasks.filter(({ isOver }) => !isOver));
  let sizeBefore: number;
  do {
    sizeBefore = rest.size;
    for (const each of rest) if (canGoOn(each, rest)) rest.delete(each);
  } while (rest.size < sizeBefore);
  return rest.has(task);
}

function canGoOn({ wanted, ticket }: Task, tasks: Iterable<Task>): boolean {
  if (wanted === undefined) return true;
  let used = wanted.permits;
  for (const other of tasks) {
    for (const need of other.held) if (need.name === wanted.name) used += need.permits;
    const isInFront = other.wanted?.name === wanted.name && other.ticket < ticket;
    if (isInFront) return false;
  }
  return used <= wanted.slots;
}
