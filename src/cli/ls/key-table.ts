import type { KeyGuess, ListedKey } from '../../stores/index.ts';
import type { Paint } from '../console/paint.ts';
import { messageText, printable } from '../printable.ts';
import { type Column, type TextTable, textTable } from './text-table.ts';
import { counted, durationText, shortValue, timeCell } from './words.ts';

/** A table of foreign keys with a head, cut to a width if one is given. */
export function keyTable(
  keys: readonly ListedKey[],
  nowMs: number,
  paint: Paint,
  width?: number,
): TextTable {
  return textTable(columnsAt(nowMs), keys, paint, width);
}

function columnsAt(nowMs: number): readonly Column<ListedKey>[] {
  return [
    { title: 'KEY', cell: ({ keyBytes }) => printable(keyBytes), minWidth: 20 },
    { title: 'KIND', cell: keyKindText },
    { title: 'VALUE', cell: (key) => valueText(key, nowMs), minWidth: 16 },
    {
      title: 'LEFT',
      cell: ({ leftMs }) => (leftMs === undefined ? 'no end' : timeCell(leftMs)),
      isNumber: true,
      style: ({ leftMs }) => (leftMs === undefined ? 'fault' : undefined),
    },
    { title: 'IDLE', cell: ({ idleMs }) => timeCell(idleMs), isNumber: true, isOptional: true },
  ];
}

/** The guessed kind of a key; the type of a key of no known kind. */
export function keyKindText({ guess, type }: ListedKey): string {
  return guess.kind === 'other' ? messageText(type) : guess.kind;
}

function valueText({ guess, type, valueBytes, size }: ListedKey, nowMs: number): string {
  if (type === 'string') {
    const end = endText(guess, nowMs);
    return `${shortValue(valueBytes, printable)}${end === '' ? '' : ` (${end})`}`;
  }
  const fields = type === 'hash' ? `${shortValue(valueBytes, printable)} ` : '';
  return `${fields}(${counted(size, type === 'hash' ? 'field' : 'member')})`;
}

/** When a timestamp lock ends or has ended; empty for every other key. */
export function endText(guess: KeyGuess, nowMs: number): string {
  if (guess.kind !== 'timestamp') return '';
  const text = durationText(Math.abs(guess.endMs - nowMs));
  return guess.hasEnded ? `ended ${text} ago` : `ends in ${text}`;
}
