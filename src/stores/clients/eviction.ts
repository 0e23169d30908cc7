/**
 * Emits a process warning if Redis may evict locks. `memory` is the reply to INFO memory. No warning if it does not name
 * the policy.
 */
export function warnOfEviction(memory: unknown): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(memory))?.[1];
  if (policy === undefined || policy === 'noeviction') return;
  process.emitWarning(
    `locks live in a Redis whose maxmemory-policy is ${policy}. When its memory is full, it deletes locks ` +
      'that are held, and two holders work at once. Set maxmemory-policy to noeviction, or give locks a ' +
      'Redis of their own.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_EVICTION' },
  );
}
