import type { ListedLock } from '../../stores/index.ts';
import type { Paint, Style } from '../console/paint.ts';
import { fitText, shorten, widthOf } from '../lab/text-width.ts';
import { printable } from '../printable.ts';
import { durationText, holderText, kindText } from './words.ts';

interface Column {
  readonly title: string;
  readonly cell: (lock: ListedLock) => string;
  /** Numbers stand at the right. */
  readonly isNumber?: true;
  /** May be cut down to so many columns of the terminal. */
  readonly leastWidth?: number;
  /** Is left out where there is no room for it. */
  readonly isOptional?: true;
  readonly style?: (lock: ListedLock) => Style | undefined;
}

const COLUMNS: readonly Column[] = [
  { title: 'NAME', cell: ({ nameBytes }) => printable(nameBytes), leastWidth: 20 },
  { title: 'KIND', cell: kindText },
  {
    title: 'HOLDER',
    cell: holderText,
    leastWidth: 16,
    style: ({ holders: [first] }) => (first?.info === undefined ? 'faint' : undefined),
  },
  { title: 'AGE', cell: ({ holders: [first] }) => timeCell(first?.ageMs), isNumber: true },
  {
    title: 'LEFT',
    cell: ({ holders: [first] }) =>
      first !== undefined && first.leftMs === undefined ? 'no end' : timeCell(first?.leftMs),
    isNumber: true,
  },
  {
    title: 'FENCE',
    cell: ({ holders: [first] }) => `${first?.fence ?? '-'}`,
    isNumber: true,
    isOptional: true,
  },
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
  const fields = fitFields(locks, width);
  const head = fields.map(({ column, width }) => fitCell(column.title, column, width));
  return {
    head: paint('faint', shorten(head.join(GAP).trimEnd(), width)),
    lines: locks.map((lock, row) => lineOf(lock, row, fields, paint, width)),
  };
}

/** A column with its texts and the width that it gets. */
interface Field {
  readonly column: Column;
  readonly texts: readonly string[];
  width: number;
}

function timeCell(ms: number | undefined): string {
  return ms === undefined ? '-' : durationText(ms);
}

function fitFields(locks: readonly ListedLock[], width: number): Field[] {
  const all = COLUMNS.map((column) => fieldOf(column, locks));
  const least = all.map((field) => Math.min(field.width, field.column.leastWidth ?? field.width));
  const fields = totalWidth(least) > width ? all.filter(({ column }) => !column.isOptional) : all;
  // The widest of those that may be cut gives way first.
  while (totalWidth(fields.map((field) => field.width)) > width) {
    const widest = fields
      .filter((field) => field.width > (field.column.leastWidth ?? field.width))
      .reduce<Field | undefined>(
        (one, other) => (one && one.width >= other.width ? one : other),
        undefined,
      );
    if (widest === undefined) break;
    widest.width--;
  }
  return fields;
}

function fieldOf(column: Column, locks: readonly ListedLock[]): Field {
  const texts = locks.map(column.cell);
  const width = texts.reduce((most, text) => Math.max(most, widthOf(text)), column.title.length);
  return { column, texts, width };
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
}

function fitCell(text: string, { isNumber }: Column, width: number): string {
  return isNumber ? text.padStart(width) : fitText(text, width);
}

/** Colours have no width, and so come last; a line that is too long all the same does without. */
function lineOf(
  lock: ListedLock,
  row: number,
  fields: readonly Field[],
  paint: Paint,
  width: number,
): string {
  const cells = fields.map((field) => fitCell(field.texts[row]!, field.column, field.width));
  const plain = cells.join(GAP).trimEnd();
  if (widthOf(plain) > width) return shorten(plain, width);
  const painted = fields.map(({ column }, index) => {
    const style = column.style?.(lock);
    return style === undefined ? cells[index]! : paint(style, cells[index]!);
  });
  return painted.join(GAP).trimEnd();
}
