import { argumentError } from '../error.ts';
import { toNumber, toText } from '../number.ts';
import { LuaTable } from '../table.ts';
import type { LuaFunction, LuaValue, Results } from '../value.ts';
import { Builtin, isFunction, typeName } from '../value.ts';

/** Readers of a library function's arguments. `at` counts from zero; errors count from one. */

export function expectAny(args: readonly LuaValue[], at: number): LuaValue {
  if (at >= args.length) throw argumentError(at + 1, 'value expected');
  return args[at];
}

export function expectTable(args: readonly LuaValue[], at: number): LuaTable {
  const value = args[at];
  if (value instanceof LuaTable) return value;
  throw wrongType(args, at, 'table');
}

export function expectFunction(args: readonly LuaValue[], at: number): LuaFunction {
  const value = args[at];
  if (isFunction(value)) return value;
  throw wrongType(args, at, 'function');
}

export function expectNumber(args: readonly LuaValue[], at: number): number {
  const value = args[at];
  if (typeof value === 'number') return value;
  const number = toNumber(value);
  if (number === undefined) throw wrongType(args, at, 'number');
  return number;
}

export function expectString(args: readonly LuaValue[], at: number): string {
  const value = args[at];
  if (typeof value === 'string') return value;
  const text = toText(value);
  if (text === undefined) throw wrongType(args, at, 'string');
  return text;
}

/** A number truncated to a 64-bit integer, as C's cast does. */
export function expectInteger(args: readonly LuaValue[], at: number): number {
  return toInteger(expectNumber(args, at));
}

export function optionalInteger(args: readonly LuaValue[], at: number, otherwise: number): number {
  return args[at] === undefined ? otherwise : expectInteger(args, at);
}

/** A number truncated to a 32-bit integer, as `luaL_checkint` does. */
export function expectInt(args: readonly LuaValue[], at: number): number {
  return toInt(expectNumber(args, at));
}

export function optionalInt(args: readonly LuaValue[], at: number, otherwise: number): number {
  return args[at] === undefined ? otherwise : expectInt(args, at);
}

export function optionalString(args: readonly LuaValue[], at: number, otherwise: string): string {
  return args[at] === undefined ? otherwise : expectString(args, at);
}

const INT64_MIN = -(2 ** 63);

/** C's cast to a 64-bit integer. On x86 a double that does not fit becomes the smallest integer. */
export function toInteger(value: number): number {
  const whole = Math.trunc(value);
  return whole >= INT64_MIN && whole < 2 ** 63 ? whole + 0 : INT64_MIN;
}

/** C's cast of a double to an unsigned 64-bit integer, as x86 does it. */
export function toUnsigned(value: number): bigint {
  const whole = Math.trunc(value);
  if (whole >= 2 ** 63 && whole < 2 ** 64) return BigInt(whole);
  if (whole >= 2 ** 64) return 0n;
  return BigInt.asUintN(64, BigInt(toInteger(value)));
}

export function toInt(value: number): number {
  const whole = toInteger(value);
  if (Number.isSafeInteger(whole)) return whole | 0;
  return Number(BigInt.asIntN(32, BigInt(whole)));
}

function wrongType(args: readonly LuaValue[], at: number, expected: string) {
  const actual = at < args.length ? typeName(args[at]) : 'no value';
  return argumentError(at + 1, `${expected} expected, got ${actual}`);
}

export type Functions = Readonly<Record<string, (args: LuaValue[]) => Results>>;

/** Makes a library's table. */
export function makeLibrary(functions: Functions, values: Record<string, LuaValue> = {}): LuaTable {
  const library = new LuaTable();
  for (const [name, run] of Object.entries(functions)) library.setString(name, new Builtin(run));
  for (const [name, value] of Object.entries(values)) library.setString(name, value);
  return library;
}
