// The marks that every attack is judged by.

const MIB = 1024 * 1024;
const MAX_STALL_MS = 1000;
/** A request that stalls redis-server may stall Holdfast this many times longer. */
const MAX_STALL_RATIO = 3;
const MAXMEMORY_FACTOR = 1.3;
const SPARE_BYTES = 256 * MIB;
/** For a server without maxmemory. */
const UNLIMITED_BYTES = 2048 * MIB;

/** Returns the rules that a measurement of Holdfast breaks. `redis` may be missing. */
export function faults(attack, holdfast, redis) {
  const maxStallMs = Math.max(MAX_STALL_MS, MAX_STALL_RATIO * (redis?.stallMs ?? 0));
  const maxBytes = memoryLimitBytes(holdfast.maxmemory);
  const { survived, ended, foreignBytes, foreign, closes, stallMs, peakBytes } = holdfast;
  const rules = [
    [survived, `the server ${ended === 'hangs' ? 'hangs' : `ended: ${ended}`}`],
    [foreignBytes === 0, `${foreignBytes} foreign bytes: ${foreign}`],
    [closes === 0 || attack.endsServer || !survived, 'the innocent client was closed'],
    [stallMs <= maxStallMs || attack.endsServer, `stall over ${Math.round(maxStallMs)} ms`],
    [peakBytes <= maxBytes, `peak over ${Math.round(maxBytes / MIB)} MB`],
  ];
  return [...rules.flatMap(([holds, fault]) => (holds ? [] : [fault])), ...holdfast.failures];
}

function memoryLimitBytes(maxmemory) {
  return maxmemory === 0 ? UNLIMITED_BYTES : maxmemory * MAXMEMORY_FACTOR + SPARE_BYTES;
}
