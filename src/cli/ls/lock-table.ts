import type { Paint } from '../console/paint.ts';
import { printable } from '../printable.ts';
import type { LockRow } from './lock-rows.ts';
import { type Column, type TextTable, textTable } from './text-table.ts';
import { holderText, timeCell } from './words.ts';

/** A table of locks with a head, cut to a width if one is given. */
export function lockTable(rows: readonly LockRow[], paint: Paint, width?: number): TextTable {
  return textTable(COLUMNS, rows, paint, width);
}

const COLUMNS: readonly Column<LockRow>[] = [
  { title: 'NAME', cell: ({ nameBytes }) => printable(nameBytes), minWidth: 20 },
  { title: 'KIND', cell: ({ kind }) => kind },
  {
    title: 'HOLDER',
    cell: holderText,
    minWidth: 16,
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
