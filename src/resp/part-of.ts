/**
 * Returns a part of a latin1 text that keeps at most twice its own length alive. A slice of V8 refers to the whole
 * text: a key of 20 bytes that a script cuts out of 100 MB would keep all of it alive, and be counted as 20 bytes.
 */
export function partOf(text: string, start: number, end: number): string {
  const length = end - start;
  const part = text.slice(start, end);
  if (length < MIN_SLICE_LENGTH || 2 * length >= text.length) return part;
  return Buffer.from(part, 'latin1').latin1Slice();
}

/** V8 copies shorter slices itself. */
const MIN_SLICE_LENGTH = 13;
