import type { ListedLock } from '../../stores/index.ts';
import type { Paint, Style } from '../console/paint.ts';
import { fitText, shorten, widthOf } from '../lab/text-width.ts';
import { printable } from './printable.ts';
import { durationText, holderText, kindText } from './words.ts';

interface Column {
  readonly title: string;
  readonly cell: (lock: ListedLock) => string;
  /** Numbers stand at the right. */
  readonly isNumber?: true;
  /** May be cut down to so many columns of the terminal. */
  readonly leastWidth?: number;
  readonly style?: (lock: ListedLock) => Style | undefined;
}

const COLUMNS: readonly Column[] = [
  { title: 'NAME', cell: ({ nameBytes }) => printable(nameBytes), leastWidth: 12 },
  { title: 'KIND', cell: kindText },
  {
    title: 'HOLDER',
    cell: holderText,
    leastWidth: 12,
    style: ({ holders: [first] }) => (first?.info === undefined ? 'faint' : undefined),
  },
  { title: 'AGE', cell: ({ holders: [first] }) => timeCell(first?.ageMs), isNumber: true },
  {
    title: 'LEFT',
    cell: ({ holders: [first] }) =>
      first !== undefined && first.leftMs === undefined ? 'no end' : timeCell(first?.leftMs),
    isNumber: true,
  },
  { title: 'FENCE', cell: ({ holders: [first] }) => `${first?.fence ?? '-'}`, isNumber: true },
  {
    title: 'WAITING',
    cell: ({ waiterCount }) => (waiterCount === 0 ? '-' : `${waiterCount}`),
    isNumber: true,
    style: ({ waiterCount }) => (waiterCount === 0 ? undefined : 'fault'),
  },
];

const GAP = '  ';

/** Locks as lines under a head, aligned, and cut to a width if one is given. */
export function lockTable(
  locks: readonly ListedLock[],
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): { readonly head: string; readonly lines: readonly string[] } {
  const rows = locks.map((lock) => COLUMNS.map(({ cell }) => cell(lock)));
  const widths = fitWidths(naturalWidths(rows), width);
  const head = lineOf(
    COLUMNS.map(({ title }) => title),
    widths,
  );
  const lines = rows.map((row, index) => painted(locks[index]!, row, widths, paint, width));
  return { head: paint('faint', shorten(head, width)), lines };
}

function timeCell(ms: number | undefined): string {
  return ms === undefined ? '-' : durationText(ms);
}

function naturalWidths(rows: readonly string[][]): number[] {
  return COLUMNS.map(({ title }, column) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[column]!)), title.length),
  );
}

/** The widest of the columns that may be cut gives way first. */
function fitWidths(natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
  while (total() > width) {
    const room = COLUMNS.map(({ leastWidth }, column) =>
      leastWidth !== undefined && widths[column]! > leastWidth ? widths[column]! : 0,
    );
    const widest = room.indexOf(Math.max(...room));
    if (room[widest] === 0) break;
    widths[widest]!--;
  }
  return widths;
}

function lineOf(cells: readonly string[], widths: readonly number[]): string {
  return fitted(cells, widths).join(GAP).trimEnd();
}

function fitted(cells: readonly string[], widths: readonly number[]): string[] {
  return cells.map((cell, column) => {
    if (COLUMNS[column]!.isNumber) return cell.padStart(widths[column]!);
    return fitText(cell, widths[column]!);
  });
}

/** Colours have no width, and so come last; a line that is too long all the same does without. */
function painted(
  lock: ListedLock,
  row: readonly string[],
  widths: readonly number[],
  paint: Paint,
  width: number,
): string {
  const plain = lineOf(row, widths);
  if (widthOf(plain) > width) return shorten(plain, width);
  const cells = fitted(row, widths).map((cell, column) => {
    const style = COLUMNS[column]!.style?.(lock);
    return style === undefined ? cell : paint(style, cell);
  });
  return cells.join(GAP).trimEnd();
}
