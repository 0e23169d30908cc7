import { NOT_A_FLOAT } from './errors.ts';
import { formatFloat64, parseFloat64 } from './number.ts';

/** The sum of two numbers as INCRBYFLOAT and HINCRBYFLOAT count and print it. */
export function addLongDoubles(a: string, b: string): string {
  const first = parseFloat64(a);
  const second = parseFloat64(b);
  if (first === undefined || second === undefined) throw NOT_A_FLOAT;
  return formatFloat64(first + second);
}
