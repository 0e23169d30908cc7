/** The rows of a list to draw: `first` up to, but not including, `end`. */
export interface RowWindow {
  readonly first: number;
  readonly end: number;
}

/** Rows that are drawn above and below the visible ones, so that a fast scroll shows no gap. */
const MARGIN = 8;

/**
 * Finds the rows of a list that are on the screen. `topPx` is the distance from the top of the screen to the top of the
 * list; it is negative when the list is scrolled.
 */
export function windowOfRows(
  count: number,
  rowPx: number,
  topPx: number,
  screenPx: number,
): RowWindow {
  const above = Math.floor(-topPx / rowPx);
  const below = Math.ceil((screenPx - topPx) / rowPx);
  const first = clamp(above - MARGIN, 0, count);
  return { first, end: clamp(below + MARGIN, first, count) };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
