import { spend } from '../budget.ts';
import { plainError } from '../error.ts';
import type { LuaValue, Results } from '../value.ts';
import { Builtin } from '../value.ts';
import { expectTable } from './arguments.ts';

/** `next`, in its own file because the compiler recognises it in `for ... in pairs(t)`. */
export const nextBuiltin = new Builtin((args: LuaValue[]): Results => {
  const table = expectTable(args, 0);
  const from = table.placeOf(args[1]);
  if (from === undefined) throw plainError("invalid key to 'next'");
  const place = table.advance(from);
  // One step for every eight places of the table that are passed.
  spend(((place < 0 ? table.capacity() : place) - from) >>> 3);
  return place < 0 ? undefined : [table.keyAt(place), table.valueAt(place)];
});
