import { PIECE_BYTES, spend, spendReading } from './budget.ts';
import { callMetamethod, typeError } from './call.ts';
import { runtimeError } from './error.ts';
import { allocate } from './memory.ts';
import { metamethod, metatableOf, stringMetatable } from './metatable.ts';
import { toNumber, toText } from './number.ts';
import { power } from './power.ts';
import { LuaTable } from './table.ts';
import type { CallSite, LuaValue } from './value.ts';
import { first, isFunction, isTruthy, typeName } from './value.ts';

/** The longest string a script can make. */
export const MAX_STRING = 64 * 1024 * 1024;

/** Work on strings up to this length counts as part of the step. */
const SHORT_STRING = 256;

/** C Lua's limit for a chain of __index tables. */
const MAX_CHAIN = 100;

/** `object[key]`, with metamethods. `description` names the object in errors. */
export function index(
  object: LuaValue,
  key: LuaValue,
  site: CallSite,
  description: string | undefined,
): LuaValue {
  let holder = object;
  for (let step = 0; step < MAX_CHAIN; step++) {
    if (step > 0) spend(1);
    let handler: LuaValue;
    if (holder instanceof LuaTable) {
      const value = holder.get(key);
      if (value !== undefined || holder.metatable === undefined) return value;
      handler = holder.metatable.getString('__index');
      if (handler === undefined) return undefined;
    } else {
      handler = typeof holder === 'string' ? stringMetatable.getString('__index') : undefined;
      if (handler === undefined) {
        throw typeError(site, 'index', holder, step === 0 ? description : undefined);
      }
    }
    if (isFunction(handler)) return first(callMetamethod(handler, [holder, key], site));
    holder = handler;
  }
  throw runtimeError(site, 'loop in gettable');
}

/** `object[key] = value`, with metamethods. */
export function setIndex(
  object: LuaValue,
  key: LuaValue,
  value: LuaValue,
  site: CallSite,
  description: string | undefined,
): void {
  let holder = object;
  for (let step = 0; step < MAX_CHAIN; step++) {
    if (step > 0) spend(1);
    let handler: LuaValue;
    if (holder instanceof LuaTable) {
      const { metatable } = holder;
      if (metatable === undefined || holder.get(key) !== undefined) handler = undefined;
      else handler = metatable.getString('__newindex');
      if (handler === undefined) {
        checkWritable(holder, key, site);
        holder.set(key, value);
        return;
      }
    } else {
      handler = metamethod(holder, '__newindex');
      if (handler === undefined) {
        throw typeError(site, 'index', holder, step === 0 ? description : undefined);
      }
    }
    if (isFunction(handler)) {
      callMetamethod(handler, [holder, key, value], site);
      return;
    }
    holder = handler;
  }
  throw runtimeError(site, 'loop in settable');
}

function checkWritable(table: LuaTable, key: LuaValue, site: CallSite): void {
  if (table.locked) throw runtimeError(site, 'Attempt to modify a readonly table');
  if (key === undefined) throw runtimeError(site, 'table index is nil');
  if (typeof key === 'number' && Number.isNaN(key)) throw runtimeError(site, 'table index is NaN');
}

export type ArithmeticEvent = '__add' | '__sub' | '__mul' | '__div' | '__mod' | '__pow' | '__unm';

const ARITHMETIC = {
  __add: (a, b) => a + b,
  __sub: (a, b) => a - b,
  __mul: (a, b) => a * b,
  __div: (a, b) => a / b,
  __mod: (a, b) => modulo(a, b),
  __pow: (a, b) => power(a, b),
  __unm: (a) => -a,
} as const satisfies Record<ArithmeticEvent, (a: number, b: number) => number>;

export function modulo(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

/** How the source names an operation's operands, for its error. */
export interface OperandNames {
  readonly left: string | undefined;
  readonly right: string | undefined;
}

/** Arithmetic on operands of which at least one is not a number. */
export function arithmetic(
  event: ArithmeticEvent,
  left: LuaValue,
  right: LuaValue,
  site: CallSite,
  names: OperandNames,
): LuaValue {
  const leftNumber = toNumber(left);
  const rightNumber = toNumber(right);
  if (leftNumber !== undefined && rightNumber !== undefined) {
    return ARITHMETIC[event](leftNumber, rightNumber);
  }
  const handler = metamethod(left, event) ?? metamethod(right, event);
  if (handler !== undefined) {
    return first(callMetamethod(handler, [left, right], site));
  }
  const isLeft = leftNumber === undefined;
  throw typeError(
    site,
    'perform arithmetic on',
    isLeft ? left : right,
    isLeft ? names.left : names.right,
  );
}

export function concatenate(
  left: LuaValue,
  right: LuaValue,
  site: CallSite,
  names: OperandNames,
): LuaValue {
  const leftText = toText(left);
  const rightText = toText(right);
  if (leftText !== undefined && rightText !== undefined) return join(leftText, rightText, site);
  const handler = metamethod(left, '__concat') ?? metamethod(right, '__concat');
  if (handler !== undefined) {
    return first(callMetamethod(handler, [left, right], site));
  }
  const isLeft = leftText === undefined;
  throw typeError(site, 'concatenate', isLeft ? left : right, isLeft ? names.left : names.right);
}

/** Concatenates two strings. Charges their length, and throws above `MAX_STRING`. */
export function join(left: string, right: string, site: CallSite): string {
  const length = left.length + right.length;
  if (length > SHORT_STRING) {
    if (length > MAX_STRING) throw runtimeError(site, 'string length overflow');
    spend(length >>> 4);
  }
  allocate(length + PIECE_BYTES);
  return left + right;
}

/** `left == right` for two different tables: calls `__eq`. */
function equalTables(left: LuaTable, right: LuaTable, site: CallSite): boolean {
  const handler = left.metatable?.getString('__eq');
  if (handler === undefined || right.metatable === undefined) return false;
  if (left.metatable !== right.metatable && right.metatable.getString('__eq') !== handler) {
    return false;
  }
  return isTruthy(first(callMetamethod(handler, [left, right], site)));
}

export function equals(left: LuaValue, right: LuaValue, site: CallSite): boolean {
  if (typeof left === 'string' && left.length > SHORT_STRING) spendReading(left.length);
  if (left === right) return true;
  return left instanceof LuaTable && right instanceof LuaTable && equalTables(left, right, site);
}

export function lessThan(left: LuaValue, right: LuaValue, site: CallSite): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left < right;
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length > SHORT_STRING) spendReading(left.length);
    return left < right;
  }
  const handler = orderHandler('__lt', left, right);
  if (handler === undefined) throw orderError(left, right, site);
  return isTruthy(first(callMetamethod(handler, [left, right], site)));
}

export function lessOrEqual(left: LuaValue, right: LuaValue, site: CallSite): boolean {
  if (typeof left === 'number' && typeof right === 'number') return left <= right;
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length > SHORT_STRING) spendReading(left.length);
    return left <= right;
  }
  const direct = orderHandler('__le', left, right);
  if (direct !== undefined) {
    return isTruthy(first(callMetamethod(direct, [left, right], site)));
  }
  const reversed = orderHandler('__lt', right, left);
  if (reversed === undefined) throw orderError(left, right, site);
  return !isTruthy(first(callMetamethod(reversed, [right, left], site)));
}

/** A comparison has a metamethod only for values of one type that share the handler. */
function orderHandler(event: string, left: LuaValue, right: LuaValue): LuaValue {
  if (typeName(left) !== typeName(right)) return undefined;
  const handler = metatableOf(left)?.getString(event);
  if (handler === undefined) return undefined;
  return metatableOf(right)?.getString(event) === handler ? handler : undefined;
}

function orderError(left: LuaValue, right: LuaValue, site: CallSite) {
  const leftType = typeName(left);
  const rightType = typeName(right);
  // C Lua distinguishes types by the third letter of their names, which "string" and "thread" share.
  if (leftType[2] === rightType[2]) {
    return runtimeError(site, `attempt to compare two ${leftType} values`);
  }
  return runtimeError(site, `attempt to compare ${leftType} with ${rightType}`);
}

export function lengthOf(
  value: LuaValue,
  site: CallSite,
  description: string | undefined,
): LuaValue {
  if (typeof value === 'string') return value.length;
  if (value instanceof LuaTable) return value.length();
  throw typeError(site, 'get length of', value, description);
}
