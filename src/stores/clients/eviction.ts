/**
 * Warns if a Redis may delete locks to make room. `memory` is what INFO says about memory; a Redis that
 * does not tell is not warned about.
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
