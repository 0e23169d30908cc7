import { totalmem } from 'node:os';
import { heapFor, parseMemorySize } from '../../memory/index.ts';

const MEGABYTE = 1024 ** 2;
/** A million locks take some 150 MB. More is an option. */
const MOST_DEFAULT_BYTES = 1024 * MEGABYTE;
const LEAST_DEFAULT_BYTES = 32 * MEGABYTE;
/** Memory of Node itself and the buffers of sockets. */
const PROCESS_BYTES = 192 * MEGABYTE;

/**
 * `maxmemory` in bytes; if it is not given, half of the memory of the machine or container beside Node. A text that is
 * no size counts as not given: the server refuses it.
 */
export function maxmemoryBytes(given = ''): number {
  const bytes = Number(parseMemorySize(given) ?? 0);
  if (bytes > 0) return bytes;
  const freeBytes = (machineBytes() - PROCESS_BYTES) / 2;
  return Math.floor(Math.min(Math.max(freeBytes, LEAST_DEFAULT_BYTES), MOST_DEFAULT_BYTES));
}

/** The old generation that a thread needs to hold so much data. */
export function heapMegabytes(bytes: number): number {
  return Math.ceil(heapFor(bytes) / MEGABYTE);
}

/** Whether Node was started with a size for its heap. It applies to all threads, so that `serve` cannot choose. */
export function isHeapGiven(execArgv: readonly string[], nodeOptions = ''): boolean {
  return [...execArgv, nodeOptions].some((text) => /--max[-_]old[-_]space[-_]size/.test(text));
}

/** Node returns a number above all memory if the process has no limit. */
function machineBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory?.() || totalmem());
}
