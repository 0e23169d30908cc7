import type { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { expectNumber, makeLibrary } from './arguments.ts';

/** LuaBitOp: operations on the low 32 bits, with signed results. */
export const bitLibrary: LuaTable = makeLibrary({
  arshift: shift((value, by) => value >> by),
  band: fold((a, b) => a & b),
  bnot: (args) => ~bits(args, 0),
  bor: fold((a, b) => a | b),
  bswap: (args) => swapBytes(bits(args, 0)),
  bxor: fold((a, b) => a ^ b),
  lshift: shift((value, by) => value << by),
  rol: shift((value, by) => (value << by) | (value >>> (32 - by))),
  ror: shift((value, by) => (value >>> by) | (value << (32 - by))),
  rshift: shift((value, by) => (value >>> by) | 0),
  tobit: (args) => bits(args, 0),
  tohex,
});

/** Adding this rounds a double to an integer and leaves its low bits at the end of the mantissa. */
const MAGIC = 6755399441055744;
const double = new Float64Array(1);
const words = new Int32Array(double.buffer);

function bits(args: LuaValue[], at: number): number {
  double[0] = expectNumber(args, at) + MAGIC;
  return words[0]!;
}

function fold(operate: (a: number, b: number) => number) {
  return (args: LuaValue[]): Results => {
    let result = bits(args, 0);
    for (let at = args.length - 1; at > 0; at--) result = operate(result, bits(args, at));
    return result;
  };
}

function shift(operate: (value: number, by: number) => number) {
  return (args: LuaValue[]): Results => {
    const value = bits(args, 0);
    return operate(value, bits(args, 1) & 31) | 0;
  };
}

function swapBytes(value: number): number {
  return (value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);
}

function tohex(args: LuaValue[]): Results {
  const value = bits(args, 0) >>> 0;
  const width = args[1] === undefined ? 8 : bits(args, 1);
  const digits = Math.min(8, Math.abs(width));
  const text = value
    .toString(16)
    .padStart(8, '0')
    .slice(8 - digits);
  return width < 0 ? text.toUpperCase() : text;
}
