import { refuel } from './budget.ts';
import { LuaError, plainError, runtimeError } from './error.ts';
import { yieldBuiltin } from './lib/yield.ts';
import { allocate, VALUE_BYTES } from './memory.ts';
import { metamethod } from './metatable.ts';
import { NATIVE_SITE, state } from './state.ts';
import { LuaTable } from './table.ts';
import type { CallSite, Frame, LuaValue, Results, Steps } from './value.ts';
import { Box, Builtin, Closure, isFunction, typeName } from './value.ts';

/**
 * Maximum weight of the active functions, a limit for the JavaScript stack. Of many kinds of recursion,
 * the one with the largest frames exhausted V8's 984 kB at a weight of about 9950; a quarter is left for
 * the host's commands and for library functions that recurse.
 */
const MAX_DEPTH = 7500;

/** C Lua's limit on nested calls of library functions that call back and of metamethods. */
const MAX_NATIVE_DEPTH = 198;

/** From this depth on tail calls replace their frame instead of nesting. */
const TAIL_DEPTH = 400;

/** Returned by a function body that ends in a tail call, see `tailCall`. */
const TAIL: LuaValue[] = [];

/** Runs a Lua function whose arguments are already in `frame`. */
export function enter(callee: Closure, frame: Frame, site: CallSite): Results {
  state.fuel -= 1;
  if (state.fuel < 0) refuel();
  const { depth, level } = state;
  const { prototype } = callee;
  state.depth = depth + prototype.weight;
  if (state.depth > MAX_DEPTH) throw stackOverflow(depth, site);
  state.sites[level] = site;
  state.level = level + 1;
  prepare(callee, frame);
  let results = prototype.body(frame);
  while (results === TAIL) results = continueTail(depth, site);
  state.depth = depth;
  state.level = level;
  return results;
}

/** Copies captured variables into the frame, and boxes the parameters that inner functions capture. */
export function prepare(callee: Closure, frame: Frame): void {
  const { boxes, prototype } = callee;
  const slots = frame as (LuaValue | Box)[];
  for (let at = 0; at < boxes.length; at++) slots[prototype.firstUpvalueSlot + at] = boxes[at]!;
  const { boxedParameters } = prototype;
  for (let at = 0; at < boxedParameters.length; at++) {
    const slot = boxedParameters[at]!;
    slots[slot] = new Box(frame[slot]);
  }
}

/** Makes the frame of a Lua function from a list of arguments. */
export function frameFor(callee: Closure, args: readonly LuaValue[]): Frame {
  const { template, parameterCount, varargSlot, argumentSlot } = callee.prototype;
  const frame = template.slice();
  const count = Math.min(parameterCount, args.length);
  for (let at = 0; at < count; at++) frame[at] = args[at];
  if (varargSlot >= 0) {
    allocate(args.length * VALUE_BYTES);
    const rest = args.slice(parameterCount);
    (frame as unknown[])[varargSlot] = rest;
    if (argumentSlot >= 0) frame[argumentSlot] = argumentTable(rest);
  }
  return frame;
}

/** Lua 5.0's `arg`, which 5.1 still gives to a vararg function that does not use `...`. */
function argumentTable(values: readonly LuaValue[]): LuaTable {
  const table = LuaTable.fromList(values.slice());
  table.setString('n', values.length);
  return table;
}

function continueTail(depth: number, site: CallSite): Results {
  state.fuel -= 1;
  if (state.fuel < 0) refuel();
  const callee = state.tailCallee!;
  state.depth = depth + callee.prototype.weight;
  if (state.depth > MAX_DEPTH) throw stackOverflow(depth, site);
  const frame = frameFor(callee, state.tailArguments);
  prepare(callee, frame);
  return callee.prototype.body(frame);
}

function stackOverflow(depth: number, site: CallSite): LuaError {
  state.depth = depth;
  return runtimeError(site, 'stack overflow');
}

/** Calls any value from Lua code. */
export function callValue(
  callee: LuaValue,
  args: LuaValue[],
  site: CallSite,
  description: string | undefined,
): Results {
  if (callee instanceof Closure) return enter(callee, frameFor(callee, args), site);
  if (callee instanceof Builtin) {
    state.site = site;
    state.fuel -= 1;
    if (state.fuel < 0) refuel();
    return callee.run(args);
  }
  const handler = metamethod(callee, '__call');
  if (!isFunction(handler)) throw callError(callee, site, description);
  return callValue(handler, [callee, ...args], site, undefined);
}

/** `enter` for a coroutine. A suspended function leaves the stack, so the weight is relative. */
export function* enterSteps(callee: Closure, frame: Frame, site: CallSite): Steps<Results> {
  state.fuel -= 1;
  if (state.fuel < 0) refuel();
  const { prototype } = callee;
  const weight = prototype.weight * STEPS_WEIGHT;
  if (state.depth + weight > MAX_DEPTH) throw runtimeError(site, 'stack overflow');
  allocate(GENERATOR_BYTES + frame.length * VALUE_BYTES);
  state.depth += weight;
  state.sites[state.level] = site;
  state.level += 1;
  prepare(callee, frame);
  const results = yield* prototype.steps()(frame);
  state.depth -= weight;
  state.level -= 1;
  return results;
}

/** A generator takes about three times the stack of a plain function. */
const STEPS_WEIGHT = 3;

/** Bytes that V8 uses for a function that is suspended, with the statements that it is in. */
const GENERATOR_BYTES = 1600;

/** `callValue` for a coroutine: Lua functions and yield can suspend, all others cannot. */
export function* callSteps(
  callee: LuaValue,
  args: LuaValue[],
  site: CallSite,
  description: string | undefined,
): Steps<Results> {
  if (callee === yieldBuiltin) return yield args;
  if (callee instanceof Closure) return yield* enterSteps(callee, frameFor(callee, args), site);
  return callValue(callee, args, site, description);
}

/** A call in return position. From `TAIL_DEPTH` on it replaces the frame, so that tail calls never overflow. */
export function tailCall(
  callee: LuaValue,
  args: LuaValue[],
  site: CallSite,
  description: string | undefined,
): Results {
  if (!(callee instanceof Closure) || state.depth < TAIL_DEPTH) {
    return callValue(callee, args, site, description);
  }
  state.tailCallee = callee;
  state.tailArguments = args;
  return TAIL;
}

function callError(callee: LuaValue, site: CallSite, description: string | undefined): LuaError {
  return typeError(site, 'call', callee, description);
}

/** `attempt to index local 'a' (a nil value)`, or without a name when the place has none. */
export function typeError(
  site: CallSite,
  action: string,
  value: LuaValue,
  description: string | undefined,
): LuaError {
  const type = typeName(value);
  const subject =
    description === undefined ? `a ${type} value` : `${description} (a ${type} value)`;
  return runtimeError(site, `attempt to ${action} ${subject}`);
}

/** Calls from a library function: the callee sees a caller without a line. */
export function callBack(callee: LuaValue, args: LuaValue[]): Results {
  const { site } = state;
  const results = callNative(callee, args, NATIVE_SITE);
  state.site = site;
  return results;
}

/** Calls a metamethod: from the line of the operation, which gives it no name. */
export function callMetamethod(handler: LuaValue, args: LuaValue[], site: CallSite): Results {
  const { chunk, line } = site;
  return callNative(handler, args, { chunk, line, name: undefined, isMethod: false });
}

/** Calls that C Lua makes from C, and that therefore nest less deep than those of Lua code. */
function callNative(callee: LuaValue, args: LuaValue[], site: CallSite): Results {
  const { nativeDepth, depth } = state;
  if (nativeDepth >= MAX_NATIVE_DEPTH) throw nativeOverflow(site);
  state.nativeDepth = nativeDepth + 1;
  state.depth = depth + NATIVE_WEIGHT;
  const results = callValue(callee, args, site, undefined);
  state.nativeDepth = nativeDepth;
  state.depth = depth;
  return results;
}

function nativeOverflow(site: CallSite): LuaError {
  return site === NATIVE_SITE
    ? plainError('C stack overflow')
    : runtimeError(site, 'C stack overflow');
}

const NATIVE_WEIGHT = 8;

interface Mark {
  depth: number;
  nativeDepth: number;
  level: number;
  site: CallSite;
}

/** Saves the registers that an error would leave wrong. */
export function mark(): Mark {
  const { depth, nativeDepth, level, site } = state;
  return { depth, nativeDepth, level, site };
}

/**
 * Restores the registers after an exception and returns its Lua error. An exception that is not a Lua
 * error, such as ScriptStopped, is rethrown: no pcall may catch it.
 */
export function recover(thrown: unknown, to: Mark): LuaError {
  state.depth = to.depth;
  state.nativeDepth = to.nativeDepth;
  state.level = to.level;
  state.site = to.site;
  if (thrown instanceof LuaError) return thrown;
  if (!(thrown instanceof RangeError)) throw thrown;
  // The weights and the budget should prevent these. If they happen all the same, they become Lua errors.
  if (/call stack/i.test(thrown.message)) return runtimeError(to.site, 'stack overflow');
  if (/string length/i.test(thrown.message)) return new LuaError('not enough memory', to.site);
  throw thrown;
}
