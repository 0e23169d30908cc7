import { totalmem } from 'node:os';
import { heapFor } from '../../engine/index.ts';

const MEGABYTE = 1024 ** 2;
/** The largest default. A million locks take about 150 MB. */
const MOST_DEFAULT_BYTES = 1024 * MEGABYTE;
const LEAST_DEFAULT_BYTES = 32 * MEGABYTE;
/** What Node itself and the buffers of sockets take. */
const PROCESS_BYTES = 192 * MEGABYTE;

/** `maxmemory` unless it is given: half of what the machine, or the container, has beside Node. */
export function defaultMaxmemory(): number {
  const freeBytes = (machineBytes() - PROCESS_BYTES) / 2;
  return Math.floor(Math.min(Math.max(freeBytes, LEAST_DEFAULT_BYTES), MOST_DEFAULT_BYTES));
}

/** The old generation that a thread needs to hold so much data. */
export function heapMegabytes(maxmemoryBytes: number): number {
  return Math.ceil(heapFor(maxmemoryBytes) / MEGABYTE);
}

/** Whether Node was told how large its heap may be. That holds for all threads, so that `serve` cannot choose. */
export function isHeapGiven(execArgv: readonly string[], nodeOptions = ''): boolean {
  return [...execArgv, nodeOptions].some((text) => /--max[-_]old[-_]space[-_]size/.test(text));
}

/** Node gives a number beyond all memory where nothing limits the process. */
function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory?.() || totalmem());
}
