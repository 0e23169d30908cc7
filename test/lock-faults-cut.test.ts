import { describe, expect, it } from 'vitest';
import type { Lease, Locks } from '../src/index.ts';
import type { Link, Way } from './fault-proxy.ts';
import { LockScene, type ProgramOptions, until } from './lock-scene.ts';

/*
 * The connection is cut after any byte of a request or of its reply. Some clients send pending requests again, others
 * leave that to this library. In both cases the caller gets one result.
 */

const LEASE_MS = 30_000;

/** An operation that runs while the connection is cut, and the checks after it. */
interface Operation {
  run(): Promise<void>;
  /** `lost` is the part of the replies that did not reach the program. */
  check(lost: string): Promise<void>;
}

/** Makes an operation on a lock with a new name. */
type Arrange = (scene: LockScene, locks: Locks, name: string) => Promise<Operation>;

const OPERATIONS = {
  acquire: async (scene, locks, name) => {
    let lease: Lease;
    return {
      run: async () => {
        lease = await locks.mutex(name).acquire({ lease: LEASE_MS, wait: '20s' });
      },
      check: async (lost) => {
        expect(lease.isHeld).toBe(true);
        // The repeated request returned the first grant, not another one.
        const firstFence = Number(/\b(\d{15,})\r\n/.exec(lost)?.[1] ?? lease.fence);
        expect(lease.fence).toBe(firstFence);
        expect(await scene.holdersOf(name)).toMatchObject([{ fence: lease.fence }]);
        expect(await lease.release()).toBe('released');
        expect(await scene.ownerOf(name)).toBe(null);
      },
    };
  },

  extend: async (scene, locks, name) => {
    const lease = await locks.mutex(name).acquire({ lease: LEASE_MS });
    const owner = await scene.ownerOf(name);
    await scene.direct.pexpire(`lock:{${name}}`, LEASE_MS / 2);
    return {
      run: () => lease.extend(),
      check: async () => {
        expect(await scene.ownerOf(name)).toBe(owner);
        expect(await scene.leftMs(name)).toBeGreaterThan(LEASE_MS * 0.8);
        expect(await lease.release()).toBe('released');
      },
    };
  },

  release: async (scene, locks, name) => {
    const lease = await locks.mutex(name).acquire({ lease: LEASE_MS });
    let outcome: string;
    return {
      run: async () => {
        outcome = await lease.release();
      },
      check: async () => {
        // The lease was held, so not-held is wrong. Without a reply the outcome is unknown.
        expect(['released', 'unknown']).toContain(outcome);
        if (outcome === 'released') expect(await scene.ownerOf(name)).toBe(null);
        expect(await lease.release()).toBe(outcome);
      },
    };
  },

  'a release to a waiter': async (scene, locks, name) => {
    const lease = await locks.mutex(name).acquire({ lease: LEASE_MS });
    const owner = await scene.ownerOf(name);
    const mutex = scene.neighbour().mutex(name);
    const waiting = mutex.acquire({ lease: LEASE_MS, wait: '20s' });
    await until(async () => (await scene.waitersOf(name)) === 1);
    let outcome: string;
    return {
      run: async () => {
        outcome = await lease.release();
      },
      check: async () => {
        if ((await scene.ownerOf(name)) === owner) {
          expect(outcome).toBe('unknown');
          await mutex.forceRelease();
        }
        const next = await waiting;
        expect(next.fence).toBeGreaterThan(lease.fence);
        expect(await lease.release()).toBe(outcome);
        expect(await scene.holdersOf(name)).toMatchObject([{ fence: next.fence }]);
        expect(await next.release()).toBe('released');
      },
    };
  },
} as const satisfies Record<string, Arrange>;

/** A program whose connection is cut repeatedly. All names have one length, so that all requests have one length. */
class CutProgram {
  readonly #scene: LockScene;
  readonly #locks: Locks;
  #number = 10_000;

  constructor(scene: LockScene, locks: Locks) {
    this.#scene = scene;
    this.#locks = locks;
  }

  /** Records the bytes that the operation sends and receives without a fault. */
  async record(arrange: Arrange): Promise<Record<Way, string>> {
    const { link, operation } = await this.#arrange(arrange);
    const [requestsBytes, repliesBytes] = [link.requests.text.length, link.replies.text.length];
    await operation.run();
    const wire = {
      requests: link.requests.text.slice(requestsBytes),
      replies: link.replies.text.slice(repliesBytes),
    };
    await operation.check('');
    return wire;
  }

  async cut(arrange: Arrange, way: Way, afterBytes: number): Promise<void> {
    const { link, operation } = await this.#arrange(arrange);
    const receivedBytes = link.replies.text.length;
    link.set({ kind: 'cut', way, afterBytes });
    await operation.run();
    expect(link.isBroken).toBe(true);
    await operation.check(link.replies.text.slice(receivedBytes));
  }

  async #arrange(arrange: Arrange): Promise<{ link: Link; operation: Operation }> {
    const name = `cut-${this.#number++}`;
    // Makes sure that the connection is open, so that its link can be found.
    await this.#locks.mutex(`${name}-before`).run(() => {});
    const operation = await arrange(this.#scene, this.#locks, name);
    return { link: this.#scene.proxy.link('evalsha'), operation };
  }
}

/** Positions around every line end. */
function boundaries(wire: string): number[] {
  const ends = [...wire.matchAll(/\r\n/g)].flatMap(({ index }) => [index, index + 1, index + 2]);
  return [0, 1, ...ends];
}

/** Fewer positions, for programs in which each cut costs a timeout. */
function fewBoundaries(wire: string): number[] {
  return boundaries(wire).filter((at, index) => index % 5 === 0 || at === wire.length);
}

function everyByte(wire: string): number[] {
  return Array.from({ length: wire.length + 1 }, (_, at) => at);
}

interface Program extends ProgramOptions {
  readonly title: string;
  readonly server?: () => Promise<LockScene>;
  readonly places: (wire: string) => number[];
  /** How many cuts are made at the same time, each with a scene of its own; 1 by default. */
  readonly atOnce?: number;
}

const PROGRAMS: readonly Program[] = [
  { title: 'ioredis', places: everyByte },
  {
    // This client never settles the promises of pending requests: our own timeout ends them.
    title: 'ioredis that does not send again',
    requestTimeoutMs: 100,
    ioredis: { autoResendUnfulfilledCommands: false },
    places: fewBoundaries,
    atOnce: 3,
  },
  { title: 'node-redis', client: 'node-redis', places: fewBoundaries, atOnce: 3 },
  { title: 'ioredis on holdfast serve', server: LockScene.openOnHoldfast, places: boundaries },
];

describe.concurrent.each(PROGRAMS)(
  'modes 9 and 10: $title, cut',
  ({ places, server, atOnce = 1, ...options }) => {
    /** Cuts at every `atOnce`-th place, beginning with this one. Returns the number of cuts, and of places. */
    const cutFrom = async (arrange: Arrange, first: number): Promise<[number, number]> => {
      await using scene = await (server ?? LockScene.open)();
      const program = new CutProgram(scene, await scene.locks(options));
      await program.record(arrange);
      const wire = await program.record(arrange);
      const cuts = (['requests', 'replies'] as const).flatMap((way) =>
        places(wire[way]).map((afterBytes) => ({ way, afterBytes })),
      );
      const own = cuts.filter((_, index) => index % atOnce === first);
      for (const { way, afterBytes } of own) {
        try {
          await program.cut(arrange, way, afterBytes);
        } catch (error) {
          throw new Error(`after ${afterBytes} bytes of ${way}`, { cause: error });
        }
      }
      return [own.length, cuts.length];
    };

    it.each(Object.entries(OPERATIONS))('in %s', async (_name, arrange) => {
      const counts = await Promise.all(
        Array.from({ length: atOnce }, (_, first) => cutFrom(arrange, first)),
      );
      expect(counts.reduce((sum, [own]) => sum + own, 0)).toBe(counts[0]![1]);
    });
  },
);
