const MEGABYTE = 1024 ** 2;
/** The heap of the program itself. */
const BASE_BYTES = 64 * MEGABYTE;
/**
 * Heap bytes per counted byte. The heap must also hold clients that are not evicted yet (a quarter), the result of
 * one command or script (an eighth), and garbage.
 */
const HEAP_PER_BYTE = 1.5;
const MIN_CAPACITY_BYTES = 16 * MEGABYTE;

/** The largest `maxmemory` that fits into a heap. */
export function capacityFor(heapBytes: number): number {
  return Math.max(MIN_CAPACITY_BYTES, Math.floor((heapBytes - BASE_BYTES) / HEAP_PER_BYTE));
}

/** The heap that a `maxmemory` needs: the inverse of `capacityFor`. */
export function heapFor(capacityBytes: number): number {
  return Math.ceil(capacityBytes * HEAP_PER_BYTE) + BASE_BYTES;
}
