/**
 * At most the first `maxBytes` of an argument, for a line that shows it. The result is a string of its
 * own: a slice would keep the whole argument alive.
 */
export function shortened(argument: string, maxBytes: number): string {
  const moreBytes = argument.length - maxBytes;
  if (moreBytes <= 0) return argument;
  const head = Buffer.from(argument.slice(0, maxBytes), 'latin1').toString('latin1');
  return `${head}... (${moreBytes} more bytes)`;
}

/** Stands for the arguments that are not shown. */
export function moreArguments(count: number): string {
  return `... (${count} more arguments)`;
}
