import { LuaTable } from './table.ts';

/** A Lua value as JavaScript holds it. Strings are latin1: one char is one byte. */
export type LuaValue =
  | undefined // nil
  | boolean
  | number
  | string
  | LuaTable
  | Closure
  | Builtin
  | LuaThread
  | LuaUserdata;

/**
 * The results of a call: a single value as itself, so that the common case allocates nothing, or an array
 * for none or several. Such arrays are never changed after they are returned.
 */
export type Results = LuaValue | LuaValue[];

export const NOTHING: LuaValue[] = [];

/** The slots of one running function: parameters, locals, boxes of captured variables, varargs. */
export type Frame = LuaValue[];

/** Holds a variable that an inner function captures. */
export class Box {
  value: LuaValue;
  constructor(value: LuaValue) {
    this.value = value;
  }
}

/** The position of a call or an operation in the source, and the name of the callee there. */
export interface CallSite {
  readonly chunk: ChunkName;
  readonly line: number;
  /** The callee's name as the source spells it, for "bad argument #1 to 'name'". */
  readonly name: string | undefined;
  readonly isMethod: boolean;
}

export interface ChunkName {
  /** As debug.getinfo gives it, such as `@user_script`. */
  readonly source: string;
  /** As error positions give it, such as `user_script`. */
  readonly short: string;
}

/** The part that all closures of one function in the source share. */
export interface Prototype {
  /** Runs the function in a prepared frame. */
  body: (frame: Frame) => Results;
  /** The same body as a generator, made when a coroutine first needs it. */
  steps: () => (frame: Frame) => Steps<Results>;
  /** A frame full of nil, copied at each call. Never shorter than three slots. */
  template: Frame;
  parameterCount: number;
  /** The slot of the varargs array, or -1. */
  varargSlot: number;
  /** The slot of Lua 5.0's `arg` table, or -1 if the function does not use it. */
  argumentSlot: number;
  firstUpvalueSlot: number;
  /** Parameters that inner functions capture and that the prologue therefore boxes. */
  boxedParameters: readonly number[];
  /** An upper bound of the JavaScript stack that one call uses, in nodes of the tree. */
  weight: number;
}

let lastIdentity = 0;

/** Gives tables and functions the number that stands for C Lua's address. */
export function nextIdentity(): number {
  lastIdentity += 1;
  return lastIdentity;
}

/** A Lua function with its captured variables. */
export class Closure {
  readonly prototype: Prototype;
  readonly boxes: readonly Box[];
  identity = 0;
  constructor(prototype: Prototype, boxes: readonly Box[]) {
    this.prototype = prototype;
    this.boxes = boxes;
  }
}

/** A library function. It must not change or keep the array of arguments. */
export class Builtin {
  readonly run: (args: LuaValue[]) => Results;
  identity = 0;
  constructor(run: (args: LuaValue[]) => Results) {
    this.run = run;
  }
}

export type LuaFunction = Closure | Builtin;

/** A light userdata. The only one is cjson.null. */
export class LuaUserdata {
  readonly text: string;
  identity = 0;
  constructor(text: string) {
    this.text = text;
  }
}

type ThreadStatus = 'suspended' | 'running' | 'normal' | 'dead';

/** Lua code that can suspend: it yields the values of coroutine.yield and receives those of coroutine.resume. */
export type Steps<Result> = Generator<LuaValue[], Result, LuaValue[]>;

/** A coroutine. */
export class LuaThread {
  status: ThreadStatus = 'suspended';
  readonly entry: Closure;
  steps: Steps<Results> | undefined = undefined;
  /** Its registers while it is suspended. */
  sites: CallSite[] = [];
  level = 0;
  depth = 0;
  identity = 0;
  constructor(entry: Closure) {
    this.entry = entry;
  }
}

type TypeName =
  | 'nil'
  | 'boolean'
  | 'number'
  | 'string'
  | 'table'
  | 'function'
  | 'thread'
  | 'userdata';

export function typeName(value: LuaValue): TypeName {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
    case 'number':
    case 'string':
      return typeof value as TypeName;
  }
  if (value instanceof LuaTable) return 'table';
  if (value instanceof LuaThread) return 'thread';
  return value instanceof LuaUserdata ? 'userdata' : 'function';
}

export function isFunction(value: LuaValue): value is LuaFunction {
  return value instanceof Closure || value instanceof Builtin;
}

export function isTruthy(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

/** The first of a call's results, nil when there is none. */
export function first(results: Results): LuaValue {
  return Array.isArray(results) ? results[0] : results;
}

export function asList(results: Results): LuaValue[] {
  return Array.isArray(results) ? results : [results];
}
