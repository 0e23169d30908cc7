import { PIECE_BYTES, spend, spendMaking } from '../budget.ts';
import { callBack } from '../call.ts';
import { libraryError, plainError } from '../error.ts';
import { toText } from '../number.ts';
import { lessThan, MAX_STRING } from '../operators.ts';
import { NATIVE_SITE } from '../state.ts';
import type { LuaTable } from '../table.ts';
import type { LuaFunction, LuaValue, Results } from '../value.ts';
import { first, isTruthy, NOTHING, typeName } from '../value.ts';
import {
  expectFunction,
  expectInt,
  expectTable,
  makeLibrary,
  optionalInt,
  optionalString,
} from './arguments.ts';

export const tableLibrary: LuaTable = makeLibrary({
  concat,
  foreach,
  foreachi,
  getn: (args) => expectTable(args, 0).length(),
  insert,
  maxn: (args) => {
    const table = expectTable(args, 0);
    spend(table.capacity());
    return table.largestIndex();
  },
  remove,
  setn: () => {
    throw libraryError("'setn' is obsolete");
  },
  sort,
});

function concat(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const separator = optionalString(args, 1, '');
  const from = optionalInt(args, 2, 1);
  const to = args[3] === undefined ? table.length() : expectInt(args, 3);
  let text = '';
  for (let at = from; at <= to; at++) {
    const value = table.getNumber(at);
    const piece = toText(value);
    if (piece === undefined) {
      throw libraryError(`invalid value (${typeName(value)}) at index ${at} in table for 'concat'`);
    }
    const added = piece.length + separator.length;
    if (text.length + added > MAX_STRING) throw plainError('not enough memory');
    spendMaking(added + 2 * PIECE_BYTES);
    text += at < to ? piece + separator : piece;
  }
  return text;
}

function foreach(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const visit = expectFunction(args, 1);
  spend(table.capacity() >>> 3);
  for (let at = table.advance(-1); at >= 0; ) {
    const key = table.keyAt(at);
    const result = first(callBack(visit, [key, table.valueAt(at)]));
    if (result !== undefined) return result;
    const place = table.placeOf(key);
    if (place === undefined) throw plainError("invalid key to 'next'");
    at = table.advance(place);
  }
  return NOTHING;
}

function foreachi(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const visit = expectFunction(args, 1);
  const length = table.length();
  for (let at = 1; at <= length; at++) {
    const result = first(callBack(visit, [at, table.getNumber(at)]));
    if (result !== undefined) return result;
  }
  return NOTHING;
}

function insert(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  let end = table.length() + 1;
  if (args.length === 2) {
    set(table, end, args[1]);
    return NOTHING;
  }
  if (args.length !== 3) throw libraryError("wrong number of arguments to 'insert'");
  const at = expectInt(args, 1);
  if (at > end) end = at;
  for (let place = end; place > at; place--) {
    spend(1);
    set(table, place, table.getNumber(place - 1));
  }
  set(table, at, args[2]);
  return NOTHING;
}

function set(table: LuaTable, at: number, value: LuaValue): void {
  if (table.locked) throw plainError('Attempt to modify a readonly table');
  table.setNumber(at, value);
}

function remove(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const length = table.length();
  const at = optionalInt(args, 1, length);
  if (at < 1 || at > length) return NOTHING;
  const removed = table.getNumber(at);
  for (let place = at; place < length; place++) {
    spend(1);
    set(table, place, table.getNumber(place + 1));
  }
  set(table, length, undefined);
  return removed;
}

type IsLess = (left: LuaValue, right: LuaValue) => boolean;

function sort(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const length = table.length();
  const comparator = args[1] === undefined ? undefined : expectFunction(args, 1);
  quicksort(table, 1, length, comparator === undefined ? isLess : lessBy(comparator));
  return NOTHING;
}

function isLess(left: LuaValue, right: LuaValue): boolean {
  spend(1);
  return lessThan(left, right, NATIVE_SITE);
}

function lessBy(comparator: LuaFunction): IsLess {
  return (left, right) => isTruthy(first(callBack(comparator, [left, right])));
}

/**
 * C Lua's quicksort, step by step. The calls of the script's comparator, the order of equal items, and
 * the error for an inconsistent comparator depend on it.
 */
function quicksort(table: LuaTable, from: number, to: number, less: IsLess): void {
  let low = from;
  let high = to;
  while (low < high) {
    order(table, low, high, less);
    if (high - low === 1) return;
    const middle = Math.floor((low + high) / 2);
    if (less(table.getNumber(middle), table.getNumber(low))) swap(table, middle, low);
    else order(table, middle, high, less);
    if (high - low === 2) return;
    const pivot = table.getNumber(middle);
    swap(table, middle, high - 1);
    const split = partition(table, low, high, pivot, less);
    // The smaller part is sorted by recursion and the larger one by the loop.
    if (split - low < high - split) {
      quicksort(table, low, split - 1, less);
      low = split + 1;
    } else {
      quicksort(table, split + 1, high, less);
      high = split - 1;
    }
  }
}

function order(table: LuaTable, low: number, high: number, less: IsLess): void {
  if (less(table.getNumber(high), table.getNumber(low))) swap(table, low, high);
}

function swap(table: LuaTable, left: number, right: number): void {
  const value = table.getNumber(left);
  set(table, left, table.getNumber(right));
  set(table, right, value);
}

function partition(
  table: LuaTable,
  low: number,
  high: number,
  pivot: LuaValue,
  less: IsLess,
): number {
  let left = low;
  let right = high - 1;
  for (;;) {
    left += 1;
    while (less(table.getNumber(left), pivot)) {
      if (left > high) throw libraryError('invalid order function for sorting');
      left += 1;
    }
    right -= 1;
    while (less(pivot, table.getNumber(right))) {
      if (right < low) throw libraryError('invalid order function for sorting');
      right -= 1;
    }
    if (right < left) break;
    swap(table, left, right);
  }
  swap(table, high - 1, left);
  return left;
}
