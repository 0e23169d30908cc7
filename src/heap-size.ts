const MEGABYTE = 1024 ** 2;
/** What the program itself needs. */
const BASE_BYTES = 64 * MEGABYTE;
/**
 * Beyond what is counted a heap must have room for clients that are not evicted yet (a quarter), for what one
 * command or script builds (an eighth), and for garbage.
 */
const HEAP_PER_BYTE = 1.5;
const MIN_CAPACITY_BYTES = 16 * MEGABYTE;

/** How many bytes of `maxmemory` a heap can hold. */
export function capacityFor(heapBytes: number): number {
  return Math.max(MIN_CAPACITY_BYTES, Math.floor((heapBytes - BASE_BYTES) / HEAP_PER_BYTE));
}

/** The heap that so many bytes of `maxmemory` need: the inverse of `capacityFor`. */
export function heapFor(capacityBytes: number): number {
  return Math.ceil(capacityBytes * HEAP_PER_BYTE) + BASE_BYTES;
}
