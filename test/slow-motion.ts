import type { AcquireResult, LockRequest, LockStore } from '../src/lock/index.ts';

/**
 * A store whose milliseconds last longer: the conformance suite's leases are short, so that they end soon
 * on a virtual clock, but a busy machine may keep a real request waiting for as long.
 */
export function inSlowMotion(store: LockStore, factor: number): LockStore {
  const slow = (request: LockRequest): LockRequest => ({
    ...request,
    leaseMs: request.leaseMs * factor,
  });
  const quick = <Given extends AcquireResult | undefined>(result: Given): Given =>
    result?.type === 'busy' ? { ...result, retryInMs: result.retryInMs / factor } : result;
  return {
    ...(store.ownerPrefix !== undefined && { ownerPrefix: store.ownerPrefix }),
    acquire: async (request, waiter) => quick(await store.acquire(slow(request), waiter)),
    acquireAll: async (requests, minFence) =>
      quick(await store.acquireAll(requests.map(slow), minFence)),
    adopt: async (request, from) => quick(await store.adopt(slow(request), from)),
    extend: (request) => store.extend(slow(request)),
    keep: (request) => store.keep(slow(request)),
    release: (request, fence) => store.release(slow(request), fence),
    forceRelease: (target) => store.forceRelease(target),
    async inspect(target) {
      const { holders, waiters } = await store.inspect(target);
      const quicker = holders.map((holder) => ({
        ...holder,
        leftMs: holder.leftMs / factor,
        ...(holder.foreign ? {} : { ageMs: holder.ageMs / factor }),
      }));
      return { holders: quicker, waiters };
    },
    contention: (request) => store.contention(slow(request)),
    onLost: (listener) => store.onLost?.(listener),
    watch: (request, onContended) => store.watch?.(slow(request), onContended),
    unwatch: (request) => store.unwatch?.(slow(request)),
    close: () => store.close(),
  };
}
