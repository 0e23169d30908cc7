import { partOf } from '../resp/index.ts';

/**
 * At most the first `maxBytes` of an argument, for a line that shows it. The result does not
 * keep the whole argument alive.
 */
export function shortened(argument: string, maxBytes: number): string {
  const moreBytes = argument.length - maxBytes;
  if (moreBytes <= 0) return argument;
  return `${partOf(argument, 0, maxBytes)}... (${moreBytes} more bytes)`;
}

/** Stands for the arguments that are not shown. */
export function moreArguments(count: number): string {
  return `... (${count} more arguments)`;
}
