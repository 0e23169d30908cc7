import { expect, it, onTestFinished } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { type LockStore, memoryStore, type Waiter } from '../lock/index.ts';
import { CONFORMANCE } from './conformance.ts';

/** As memcached: a waiter polls, and its request fails if the store closes before the reply. */
function failingAtClose(store: LockStore): LockStore {
  const waiters: Waiter[] = [];
  let isClosed = false;
  return Object.assign(Object.create(store) as LockStore, {
    async acquire(...[request, waiter]: Parameters<LockStore['acquire']>) {
      if (isClosed) throw new Error('the store was closed');
      if (waiter) waiters.push(waiter);
      return store.acquire(request, waiter);
    },
    release: (...args: Parameters<LockStore['release']>) => store.release(...args),
    async close() {
      isClosed = true;
      for (const { notify } of waiters) notify({ type: 'retry' });
      await store.close();
    },
  });
}

it('a case handles the failure of a request that is under way when its store closes', async () => {
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): unknown => rejections.push(reason);
  process.on('unhandledRejection', onRejection);
  onTestFinished(() => void process.off('unhandledRejection', onRejection));
  const { run } = CONFORMANCE.find(({ name }) => name.startsWith('hands over in order'))!;
  const clock = virtualClock();
  await run({
    open: async () => failingAtClose(memoryStore(clock)),
    elapse: async (durationMs) => clock.advance(durationMs),
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(rejections).toEqual([]);
});
