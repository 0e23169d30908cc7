/** Levels of heat above 0, which is no colour. */
export const LEVELS = 5;

/** The level of a value, by its share of the largest: the root, so that small values are told apart as well. */
export function levelOf(value: number, max: number): number {
  if (value <= 0 || max <= 0) return 0;
  return Math.min(LEVELS, Math.max(1, Math.ceil(Math.sqrt(value / max) * LEVELS)));
}

/** One SVG path for each level, with a cell for each minute of that level: six elements a row instead of sixty. */
export function heatPaths(
  values: readonly number[],
  max: number,
  cellPx: number,
  heightPx: number,
): string[] {
  const paths = new Array<string>(LEVELS + 1).fill('');
  const widthPx = Math.max(1, cellPx - 1);
  for (const [index, value] of values.entries()) {
    const x = round(index * cellPx);
    paths[levelOf(value, max)] += `M${x} 0h${round(widthPx)}v${heightPx}h${round(-widthPx)}z`;
  }
  return paths;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
