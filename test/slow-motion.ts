import type { Answer, Claim, LockStore } from '../src/lock/index.ts';

/**
 * A store whose milliseconds last longer: the conformance suite's leases are short, so that they end soon
 * on a virtual clock, but a busy machine may keep a real request waiting for as long.
 */
export function inSlowMotion(store: LockStore, factor: number): LockStore {
  const slow = (claim: Claim): Claim => ({ ...claim, leaseMs: claim.leaseMs * factor });
  const quick = <Given extends Answer | undefined>(answer: Given): Given =>
    answer?.held === false ? { ...answer, retryInMs: answer.retryInMs / factor } : answer;
  return {
    ask: async (claim, queues) => quick(await store.ask(slow(claim), queues)),
    askAll: async (claims, leastFence) => quick(await store.askAll(claims.map(slow), leastFence)),
    adopt: async (claim, from) => quick(await store.adopt(slow(claim), from)),
    extend: (hold, leaseMs) => store.extend(hold, leaseMs * factor),
    release: (hold, fence) => store.release(hold, fence),
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
    close: () => store.close(),
  };
}
