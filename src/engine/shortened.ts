import { partOf } from '../resp/index.ts';

/**
 * Shortens an argument to `maxBytes` for MONITOR and SLOWLOG. The result does not keep the whole argument alive.
 */
export function shortened(argument: string, maxBytes: number): string {
  const moreBytes = argument.length - maxBytes;
  if (moreBytes <= 0) return argument;
  return `${partOf(argument, 0, maxBytes)}... (${moreBytes} more bytes)`;
}

/** The text in place of arguments that are left out. */
export function moreArguments(count: number): string {
  return `... (${count} more arguments)`;
}
