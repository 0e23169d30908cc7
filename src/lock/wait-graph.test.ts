import { describe, expect, it } from 'vitest';
import { DeadlockError } from './errors.ts';
import type { HeldLock, LockTarget, LockWaits, NestedWaiter } from './store.ts';
import { findCycle } from './wait-graph.ts';

/** The waiter `from` holds the mutex `from`, and waits for the mutex `to`. */
interface Edge {
  readonly from: string;
  readonly to: string;
}

function held(name: string): HeldLock {
  return { kind: 'mutex', name, slots: 1, owner: `holder of ${name}` };
}

function waiterOf({ from }: Edge): NestedWaiter {
  const client = { host: 'h', pid: 1, label: from };
  return { owner: from, ...client, permits: 1, aheadPermits: 0, holds: [held(from)] };
}

/** A store in which these edges exist. `edgesAt` gets the number of the read. */
class Edges {
  readCount = 0;
  readonly #edgesAt: (read: number) => readonly Edge[];

  constructor(edgesAt: (read: number) => readonly Edge[]) {
    this.#edgesAt = edgesAt;
  }

  async readWaits(targets: readonly LockTarget[]): Promise<LockWaits[]> {
    const edges = this.#edgesAt(++this.readCount);
    return targets.map(({ name }) => ({
      slots: 1,
      holders: [{ owner: held(name).owner, permits: 1 }],
      waiters: edges.filter(({ to }) => to === name).map(waiterOf),
    }));
  }
}

/** A cycle of this many members: 0 waits for 1, and so on. */
function ring(size: number): Edge[] {
  return Array.from({ length: size }, (_, index) => ({
    from: `${index}`,
    to: `${(index + 1) % size}`,
  }));
}

describe('findCycle', () => {
  it('returns the members in the order in which they wait, and the largest owner', async () => {
    const cycle = await findCycle(new Edges(() => ring(3)), '1', [held('1')]);
    expect(cycle?.victim).toBe('2');
    const steps = cycle?.path.map(({ waiter, holds, waitsFor }) => [waiter.owner, holds, waitsFor]);
    expect(steps).toEqual([
      ['1', '1', '2'],
      ['2', '2', '0'],
      ['0', '0', '1'],
    ]);
  });

  it('returns undefined if a member is missing in the second read', async () => {
    const edges = new Edges((read) => (read <= 3 ? ring(3) : ring(3).slice(1)));
    expect(await findCycle(edges, '1', [held('1')])).toBe(undefined);
    expect(edges.readCount).toBe(4);
  });

  it('returns undefined if another request waits in the second read instead of a member', async () => {
    const late = [{ from: 'later', to: '1' }, ...ring(3).slice(1)];
    const edges = new Edges((read) => (read <= 3 ? ring(3) : late));
    expect(await findCycle(edges, '1', [held('1')])).toBe(undefined);
  });

  it('reads once if no nested request waits for what the callback holds', async () => {
    const edges = new Edges(() => [{ from: '0', to: '1' }]);
    expect(await findCycle(edges, '0', [held('0')])).toBe(undefined);
    expect(edges.readCount).toBe(1);
  });

  it('finds a cycle of 32 members, and gives up on a longer one', async () => {
    expect((await findCycle(new Edges(() => ring(32)), '0', [held('0')]))?.path).toHaveLength(32);
    const edges = new Edges(() => ring(33));
    expect(await findCycle(edges, '0', [held('0')])).toBe(undefined);
    expect(edges.readCount).toBe(32);
  });

  it.each([255, 256])('with %i locks behind the callback reads at most 256', async (count) => {
    const others = Array.from({ length: count }, (_, index) => ({ from: `w${index}`, to: '0' }));
    const edges = new Edges(() => [...ring(2), ...others.slice(1)]);
    const cycle = await findCycle(edges, '0', [held('0')]);
    expect(cycle?.victim).toBe(count === 255 ? '1' : undefined);
  });
});

describe('DeadlockError of a cycle', () => {
  it('names eight members', async () => {
    const cycle = await findCycle(new Edges(() => ring(10)), '0', [held('0')]);
    const { message } = new DeadlockError('1', cycle!);
    expect(message).toContain("never end: h pid 1 (0) holds '0' and waits for '1'; h pid 1 (1) ");
    expect(message).toContain("holds '7' and waits for '8'; and 2 more. Take locks in one order");
  });
});
