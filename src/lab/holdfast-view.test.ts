import { describe, expect, it } from 'vitest';
import { holdfastView } from './holdfast-view.ts';
import { holdfastMutex } from './recipes/holdfast-mutex.ts';
import { holdfastSemaphore } from './recipes/holdfast-semaphore.ts';
import { replay } from './replay.ts';
import { type Image, START_MS, Store } from './store.ts';
import {
  cutShort,
  extendedLease,
  livePermits,
  passedOver,
  type StoreView,
  unraised,
} from './store-view.ts';

describe('holdfastView', () => {
  const store = new Store(holdfastMutex, false);
  const set = (image: Image, ...argv: string[]): Image =>
    store.run(image, START_MS, { kind: 'command', lines: [argv] }).image;

  it('reads holders, queue and fence as the script writes them', () => {
    const [a, b] = replay('holdfast-semaphore', 'ab').trace.slice(0, 2);
    expect([a!.reply, b!.reply]).toEqual(['(integer) 1000000000', '(integer) -2000']);
    const view = viewAfter('ab');
    expect(view).toEqual({
      grants: [{ owner: 'A.A1', permits: 1, fence: START_MS * 1000, endMs: START_MS + 2000 }],
      queue: [{ owner: 'B.B1', silentMs: START_MS + 2000 }],
      fence: START_MS * 1000,
    });
  });

  it('reads a foreign client as a grant without fence', () => {
    const image = set(store.empty, 'SET', 'lock:{foo}', 'another', 'PX', '1000');
    expect(image.view!.grants).toEqual([
      { owner: 'another', permits: 1, fence: 0, endMs: START_MS + 1000 },
    ]);
  });

  it('leaves out waiters whose client is dead', () => {
    const members = ['1', '1 2000 A.1 []', '2', '1 2000 B.1 []'];
    const image = set(store.empty, 'ZADD', 'lock:{foo}:queue', ...members);
    const alive = set(image, 'SET', 'lock:{foo}:queue:B', '', 'PX', '9000');
    expect(holdfastView('lock:{foo}')(alive.entries)).toEqual({
      grants: [],
      queue: [{ owner: 'B.1', silentMs: START_MS + 1000 }],
      fence: 0,
    });
  });
});

function viewAfter(schedule: string): StoreView {
  const { trace } = replay('holdfast-semaphore', schedule);
  const store = new Store(holdfastSemaphore, false);
  let image = store.empty;
  for (const { lines } of trace) {
    if (lines) image = store.run(image, START_MS, { kind: 'command', lines }).image;
  }
  return image.view!;
}

describe('the comparison of two views', () => {
  const A = { owner: 'A1', permits: 1, fence: 5, endMs: 2000 };
  const B = { owner: 'B1', permits: 1, fence: 6, endMs: 3000 };
  const view = (grants: StoreView['grants'], owners: string[] = [], fence = 6): StoreView => ({
    grants,
    queue: owners.map((owner) => ({ owner, silentMs: 1000 })),
    fence,
  });
  const isB = (owner: string): boolean => owner.startsWith('B');

  it('counts the permits of leases that have not ended', () => {
    expect(livePermits(view([A, B]), 1999)).toBe(2);
    expect(livePermits(view([A, B]), 2000)).toBe(1);
  });

  it('finds a lease of another client that was cut short, but not one that had ended, is its own, or stays', () => {
    expect(cutShort(view([A]), view([B]), 1999, isB)).toBe(A);
    expect(cutShort(view([A]), view([B]), 2000, isB)).toBeUndefined();
    expect(cutShort(view([B]), view([]), 0, isB)).toBeUndefined();
    expect(cutShort(view([A]), view([A, B]), 0, isB)).toBeUndefined();
  });

  it('finds a lease of another client that was extended', () => {
    const later = { ...A, endMs: 2500 };
    expect(extendedLease(view([A]), view([later]), isB)).toEqual({ grant: A, byMs: 500 });
    expect(extendedLease(view([A]), view([later]), () => true)).toBeUndefined();
  });

  it('finds a grant whose fence was not raised', () => {
    expect(unraised(view([]), view([{ ...A, fence: 6 }]))).toMatchObject({ owner: 'A1' });
    expect(unraised(view([]), view([{ ...A, fence: 7 }]))).toBeUndefined();
    expect(unraised(view([]), view([{ ...A, fence: 0 }]))).toBeUndefined();
  });

  it('finds a waiter that was passed over', () => {
    const turn = { served: 'B1', passed: 'A1' };
    const C = { ...A, owner: 'C1' };
    expect(passedOver(view([C], ['A1', 'B1']), view([B], ['A1']), 0)).toEqual(turn);
    expect(passedOver(view([C], ['A1']), view([B], ['A1']), 0)).toEqual(turn);
    expect(passedOver(view([C], ['B1', 'A1']), view([B], ['A1']), 0)).toBeUndefined();
    expect(passedOver(view([C], ['A1', 'B1']), view([A, B]), 0)).toBeUndefined();
    // The lease had expired, so the queue order does not apply.
    expect(passedOver(view([C], ['A1', 'B1']), view([B], ['A1']), 2000)).toBeUndefined();
  });

  it('does not count a waiter whose client is silent as passed over', () => {
    const C = { ...A, owner: 'C1' };
    expect(passedOver(view([C], ['A1', 'B1']), view([B], ['A1']), 1000)).toBeUndefined();
  });
});

describe('a client that listens', () => {
  it('receives its message at once, late if it is paused, and never if the message is lost', () => {
    const replies = (schedule: string, options = {}): unknown[] =>
      replay('holdfast-mutex', schedule, options)
        .trace.filter(({ client }) => client === 'B')
        .map(({ action, reply }) => [action.split(' ')[0], reply]);
    expect(replies('ab.baaabb').slice(2)).toEqual([
      ['message', expect.stringMatching(/^"1001000000 B.B1 /)],
      ['EVAL', '(integer) 1'],
    ]);
    expect(replies('ab.baaazb.wbb').slice(2)).toEqual([
      ['pause', null],
      ['resume', null],
      ['message', expect.stringMatching(/^"1001000000 B.B1 /)],
    ]);
    // The refresh replies that the client is not in the queue any more.
    expect(replies('ab.baaalb.bb', { lostReplies: 1 }).slice(2)).toEqual([
      ['message', '(the message is lost)'],
      ['EVAL', '(integer) 0'],
      ['EVAL', '(integer) 1001000000'],
    ]);
  });
});
