import { PIECE_BYTES, spend } from '../budget.ts';
import { callBack, mark, recover } from '../call.ts';
import { argumentError, LuaError, libraryError, plainError, position } from '../error.ts';
import { loadChunk } from '../load.ts';
import { allocate, VALUE_BYTES } from '../memory.ts';
import { metamethod, metatableOf } from '../metatable.ts';
import {
  MAX_NUMBER,
  numberToString,
  parseNumber,
  toText,
  trimSpaces,
  untilNul,
} from '../number.ts';
import { index, join } from '../operators.ts';
import { NATIVE_SITE, state } from '../state.ts';
import { LuaSyntaxError } from '../syntax-error.ts';
import { identityOf, LuaTable } from '../table.ts';
import type { CallSite, LuaFunction, LuaValue, Results } from '../value.ts';
import { asList, Builtin, first, isTruthy, LuaUserdata, NOTHING, typeName } from '../value.ts';
import type { Functions } from './arguments.ts';
import {
  expectAny,
  expectFunction,
  expectInt,
  expectString,
  expectTable,
  optionalInt,
  optionalString,
} from './arguments.ts';
import { nextBuiltin } from './next.ts';

/** The functions of Lua's base library that Redis keeps. */
export const baseFunctions: Functions = {
  assert,
  collectgarbage,
  error,
  gcinfo: () => MEMORY_KB,
  getmetatable,
  ipairs: (args) => [ipairsStep, expectTable(args, 0), 0],
  load,
  loadstring: (args) => {
    const source = expectString(args, 0);
    return loadText(source, optionalString(args, 1, source));
  },
  pairs: (args) => [nextBuiltin, expectTable(args, 0), undefined],
  pcall,
  rawequal: (args) => expectAny(args, 0) === expectAny(args, 1),
  rawget: (args) => {
    const table = expectTable(args, 0);
    return table.get(expectAny(args, 1));
  },
  rawset,
  select,
  setmetatable,
  tonumber,
  tostring: (args) => display(expectAny(args, 0)),
  type: (args) => typeName(expectAny(args, 0)),
  unpack,
  xpcall,
  __redis__err__handler: handleError,
};

/** Scripts see a constant here: the real figure would make them depend on the machine. */
const MEMORY_KB = 64;

function assert(args: LuaValue[]): Results {
  if (isTruthy(expectAny(args, 0))) return args;
  throw libraryError(optionalString(args, 1, 'assertion failed!'));
}

const COLLECTOR_OPTIONS: Readonly<Record<string, LuaValue>> = {
  collect: 0,
  count: MEMORY_KB,
  restart: 0,
  setpause: 200,
  setstepmul: 200,
  step: true,
  stop: 0,
};

function collectgarbage(args: LuaValue[]): Results {
  const option = optionalString(args, 0, 'collect');
  if (Object.hasOwn(COLLECTOR_OPTIONS, option)) return COLLECTOR_OPTIONS[option];
  throw argumentError(1, `invalid option '${option}'`);
}

function error(args: LuaValue[]): Results {
  const level = optionalInt(args, 1, 1);
  const text = level > 0 ? toText(args[0]) : undefined;
  const value = text === undefined ? args[0] : join(position(callerAt(level)), text, state.site);
  throw new LuaError(value, state.site);
}

/** The call site `level` calls above the current library function. */
function callerAt(level: number): CallSite {
  if (level === 1) return state.site;
  return state.sites[state.level - (level - 1)] ?? NATIVE_SITE;
}

function getmetatable(args: LuaValue[]): Results {
  const metatable = metatableOf(expectAny(args, 0));
  return metatable?.getString('__metatable') ?? metatable;
}

function setmetatable(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const metatable = args[1];
  if (args.length < 2 || (metatable !== undefined && !(metatable instanceof LuaTable))) {
    throw argumentError(2, 'nil or table expected');
  }
  if (table.metatable?.getString('__metatable') !== undefined) {
    throw libraryError('cannot change a protected metatable');
  }
  if (table.locked) throw plainError('Attempt to modify a readonly table');
  table.metatable = metatable;
  return table;
}

const ipairsStep = new Builtin((args) => {
  const table = expectTable(args, 0);
  const next = expectInt(args, 1) + 1;
  const value = table.getNumber(next);
  return value === undefined ? NOTHING : [next, value];
});

function rawset(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const key = expectAny(args, 1);
  const value = expectAny(args, 2);
  if (table.locked) throw plainError('Attempt to modify a readonly table');
  if (key === undefined) throw plainError('table index is nil');
  if (typeof key === 'number' && Number.isNaN(key)) throw plainError('table index is NaN');
  table.set(key, value);
  return table;
}

function select(args: LuaValue[]): Results {
  if (args[0] === '#') return args.length - 1;
  let from = expectInt(args, 0);
  if (from < 0) from = args.length + from;
  else if (from > args.length) from = args.length;
  if (from < 1) throw argumentError(1, 'index out of range');
  allocate((args.length - from) * VALUE_BYTES);
  return args.slice(from);
}

/** C Lua's limit on the values that one library function may have on the stack. */
const MAX_STACK = 8000;

function unpack(args: LuaValue[]): Results {
  const table = expectTable(args, 0);
  const from = optionalInt(args, 1, 1);
  const to = args[2] === undefined ? table.length() : expectInt(args, 2);
  if (from > to) return NOTHING;
  const count = to - from + 1;
  if (count + args.length > MAX_STACK) throw libraryError('too many results to unpack');
  spend(count);
  allocate(count * VALUE_BYTES);
  const values: LuaValue[] = [];
  for (let at = from; at <= to; at++) values.push(table.getNumber(at));
  return values;
}

/**
 * pcall as in Redis: an error that is a table with an `err` field, as redis.call raises it, is returned
 * as its text.
 */
function pcall(args: LuaValue[]): Results {
  const callee = args.length === 0 ? true : args[0];
  const before = mark();
  allocate(args.length * VALUE_BYTES);
  try {
    return [true, ...asList(callBack(callee, args.slice(1)))];
  } catch (thrown) {
    return [false, ...errorValues(recover(thrown, before).value)];
  }
}

/** For any other table Redis returns the `err` field as a second result. */
function errorValues(value: LuaValue): LuaValue[] {
  if (!(value instanceof LuaTable)) return [value];
  const text = index(value, 'err', NATIVE_SITE, undefined);
  return typeof text === 'string' || typeof text === 'number' ? [text] : [value, text];
}

function xpcall(args: LuaValue[]): Results {
  const handler = args.length < 2 ? expectAny(args, 1) : args[1];
  const before = mark();
  try {
    return [true, ...asList(callBack(args[0], []))];
  } catch (thrown) {
    return [false, handled(handler, recover(thrown, before).value)];
  }
}

function handled(handler: LuaValue, value: LuaValue): LuaValue {
  const before = mark();
  try {
    return first(callBack(handler, [value]));
  } catch (thrown) {
    recover(thrown, before);
    return 'error in error handling';
  }
}

/** Redis's handler for an error that no pcall caught. Scripts can access it and call it. */
function handleError(args: LuaValue[]): Results {
  const value = args[0];
  const report = value instanceof LuaTable ? value : new LuaTable();
  if (!(value instanceof LuaTable)) report.setString('err', `ERR ${toText(display(value))}`);
  if (report.locked) throw libraryError('Attempt to modify a readonly table');
  report.setString('source', state.site.chunk.source);
  report.setString('line', state.site.line);
  return report;
}

function tonumber(args: LuaValue[]): Results {
  const base = optionalInt(args, 1, 10);
  if (base === 10) {
    const value = expectAny(args, 0);
    if (typeof value === 'number') return value;
    return typeof value === 'string' ? parseNumber(value) : undefined;
  }
  const text = expectString(args, 0);
  if (base < 2 || base > 36) throw argumentError(2, 'base out of range');
  return parseInBase(text, base);
}

/** C's strtoul on a whole string: a minus sign wraps around, and a value that is too large becomes the maximum. */
function parseInBase(text: string, base: number): number | undefined {
  if (text.length > MAX_NUMBER) return undefined;
  const match = /^([+-]?)([0-9a-z]+)$/i.exec(trimSpaces(untilNul(text)));
  if (match === null) return undefined;
  let digits = match[2]!.toLowerCase();
  if (base === 16 && digits.startsWith('0x')) digits = digits.slice(2);
  const largest = 2n ** 64n - 1n;
  let value = 0n;
  for (const digit of digits) {
    spend(1);
    const number = Number.parseInt(digit, 36);
    if (number >= base) return undefined;
    if (value <= largest) value = value * BigInt(base) + BigInt(number);
  }
  if (value > largest) return Number(largest);
  return Number(match[1] === '-' ? BigInt.asUintN(64, -value) : value);
}

/** tostring: metamethods first, then a text for each type. */
export function display(value: LuaValue): LuaValue {
  if (typeof value === 'string') return value;
  allocate(PIECE_BYTES);
  if (typeof value === 'number') return numberToString(value);
  const handler = metamethod(value, '__tostring');
  if (handler !== undefined) return first(callBack(handler, [value]));
  if (value === undefined) return 'nil';
  if (typeof value === 'boolean') return String(value);
  if (value instanceof LuaUserdata) return `userdata: ${value.text}`;
  return `${typeName(value)}: 0x${(ADDRESS_BASE + identityOf(value) * 16).toString(16)}`;
}

/** Makes identities look like addresses. */
const ADDRESS_BASE = 0x7f0000000000;

function loadText(source: string, chunkName: string): Results {
  try {
    return loadChunk(source, chunkName);
  } catch (thrown) {
    if (thrown instanceof LuaSyntaxError) return [undefined, thrown.message];
    throw thrown;
  }
}

/** load reads all pieces first. An error of the reader is returned like a syntax error. */
function load(args: LuaValue[]): Results {
  const reader = expectFunction(args, 0);
  const chunkName = optionalString(args, 1, '=(load)');
  const before = mark();
  try {
    return loadText(readPieces(reader), chunkName);
  } catch (thrown) {
    return [undefined, recover(thrown, before).value];
  }
}

function readPieces(reader: LuaFunction): string {
  let source = '';
  for (;;) {
    const piece = first(callBack(reader, []));
    if (piece === undefined || piece === '') return source;
    const text = toText(piece);
    if (text === undefined) throw libraryError('reader function must return a string');
    source = join(source, text, state.site);
  }
}
