import type luaparse from 'luaparse';
import { runtimeError } from '../error.ts';
import { allocate, VALUE_BYTES } from '../memory.ts';
import type { OperandNames } from '../operators.ts';
import {
  arithmetic,
  concatenate,
  equals,
  index,
  join,
  lengthOf,
  lessOrEqual,
  lessThan,
} from '../operators.ts';
import type { Expression } from '../parse.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { Box, CallSite, Frame, LuaValue } from '../value.ts';
import { compileArithmetic, isArithmetic } from './arithmetic.ts';
import { compileCall, compileSingleCall } from './call.ts';
import type { Context, Evaluate, EvaluateList, Test } from './context.ts';
import { constantOf, describe, isCall, siteOf, slotOf, varargSlot } from './context.ts';
import { compileFunction } from './function.ts';
import { compileTable } from './table.ts';

/** Compiles an expression for its single value. */
export function compileExpression(context: Context, node: Expression): Evaluate {
  const constant = constantOf(context, node);
  if (constant !== undefined) return compileConstant(constant.value);
  switch (node.type) {
    case 'Identifier':
      return compileName(context, node);
    case 'VarargLiteral':
      return compileFirstVararg(context);
    case 'FunctionDeclaration':
      return compileFunction(context, node);
    case 'TableConstructorExpression':
      return compileTable(context, node);
    case 'UnaryExpression':
      return compileUnary(context, node);
    case 'BinaryExpression':
      return compileBinary(context, node);
    case 'LogicalExpression':
      return compileLogical(context, node);
    case 'MemberExpression':
    case 'IndexExpression':
      return compileIndex(context, node);
    case 'CallExpression':
    case 'StringCallExpression':
    case 'TableCallExpression':
      return compileSingleCall(context, node);
    default:
      throw new Error(`cannot compile ${node.type}`);
  }
}

function compileConstant(value: LuaValue): Evaluate {
  return () => value;
}

function compileName(context: Context, node: luaparse.Identifier): Evaluate {
  const variable = context.resolution.variables.get(node);
  if (variable === undefined) return compileGlobal(context, node);
  const slot = slotOf(context, variable);
  if (!variable.isCaptured) return (frame) => frame[slot];
  return (frame) => (frame[slot] as unknown as Box).value;
}

function compileGlobal(context: Context, node: luaparse.Identifier): Evaluate {
  if (node.name === 'KEYS') return () => state.keys;
  if (node.name === 'ARGV') return () => state.argv;
  const site = siteOf(context, node);
  return () => {
    throw nonexistentGlobal(node.name, site);
  };
}

function nonexistentGlobal(name: string, site: CallSite) {
  return runtimeError(site, `Script attempted to access nonexistent global variable '${name}'`);
}

function compileFirstVararg(context: Context): Evaluate {
  const slot = varargSlot(context.scope);
  return (frame) => (frame[slot] as unknown as LuaValue[])[0];
}

function compileUnary(context: Context, node: luaparse.UnaryExpression): Evaluate {
  if (node.operator === 'not') return compileTest(context, node);
  const operand = compileExpression(context, node.argument);
  const site = siteOf(context, node);
  const name = describe(context, node.argument);
  if (node.operator === '#') return (frame) => lengthOf(operand(frame), site, name);
  const names: OperandNames = { left: name, right: name };
  return (frame) => {
    const value = operand(frame);
    return typeof value === 'number' ? -value : arithmetic('__unm', value, value, site, names);
  };
}

function compileBinary(context: Context, node: luaparse.BinaryExpression): Evaluate {
  const { operator } = node;
  if (operator === '..') return compileConcatenation(context, node);
  if (!isArithmetic(operator)) return compileComparison(context, node);
  const constant = constantOf(context, node.right)?.value;
  return compileArithmetic(
    operator,
    compileExpression(context, node.left),
    compileExpression(context, node.right),
    typeof constant === 'number' ? constant : undefined,
    siteOf(context, node),
    operandNames(context, node.left, node.right),
  );
}

export function operandNames(context: Context, left: Expression, right: Expression): OperandNames {
  return { left: describe(context, left), right: describe(context, right) };
}

/** The operands of `a .. b .. c`, which groups to the right. */
export function concatenationOperands(node: luaparse.BinaryExpression): Expression[] {
  const operands: Expression[] = [node.left];
  let rest = node.right;
  while (rest.type === 'BinaryExpression' && rest.operator === '..') {
    operands.push(rest.left);
    rest = rest.right;
  }
  operands.push(rest);
  return operands;
}

function compileConcatenation(context: Context, node: luaparse.BinaryExpression): Evaluate {
  const operands = concatenationOperands(node);
  const site = siteOf(context, node);
  if (operands.length > 2) {
    const evaluate = compileItems(operands.map((operand) => compileExpression(context, operand)));
    const names = operands.map((operand) => describe(context, operand));
    return (frame) => concatenateAll(evaluate(frame), names, site);
  }
  const left = compileExpression(context, node.left);
  const right = compileExpression(context, node.right);
  const names = operandNames(context, node.left, node.right);
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    if (typeof a === 'string' && typeof b === 'string') return join(a, b, site);
    return concatenate(a, b, site, names);
  };
}

/** Concatenates from the right, as C Lua does, which matters when a metamethod takes part. */
export function concatenateAll(
  values: readonly LuaValue[],
  names: readonly (string | undefined)[],
  site: CallSite,
): LuaValue {
  let last = values.length - 1;
  let result = values[last];
  let resultName = names[last];
  while (last > 0) {
    last -= 1;
    const left = values[last];
    if (typeof left === 'string' && typeof result === 'string') result = join(left, result, site);
    else result = concatenate(left, result, site, { left: names[last], right: resultName });
    resultName = undefined;
  }
  return result;
}

function compileLogical(context: Context, node: luaparse.LogicalExpression): Evaluate {
  const left = compileExpression(context, node.left);
  const right = compileExpression(context, node.right);
  if (node.operator === 'and') {
    return (frame) => {
      const value = left(frame);
      return value === undefined || value === false ? value : right(frame);
    };
  }
  return (frame) => {
    const value = left(frame);
    return value === undefined || value === false ? right(frame) : value;
  };
}

/** Compiles a condition to a JavaScript boolean. */
export function compileTest(context: Context, node: Expression): Test {
  if (node.type === 'UnaryExpression' && node.operator === 'not') {
    const test = compileTest(context, node.argument);
    return (frame) => !test(frame);
  }
  if (node.type === 'LogicalExpression') {
    const left = compileTest(context, node.left);
    const right = compileTest(context, node.right);
    if (node.operator === 'and') return (frame) => left(frame) && right(frame);
    return (frame) => left(frame) || right(frame);
  }
  if (node.type === 'BinaryExpression' && isComparison(node.operator)) {
    return compileComparison(context, node);
  }
  const evaluate = compileExpression(context, node);
  return (frame) => {
    const value = evaluate(frame);
    return value !== undefined && value !== false;
  };
}

type Compare = (left: LuaValue, right: LuaValue, site: CallSite) => boolean;

const COMPARISONS: Readonly<Record<string, Compare>> = {
  '==': equals,
  '~=': (left, right, site) => !equals(left, right, site),
  '<': lessThan,
  '<=': lessOrEqual,
  '>': (left, right, site) => lessThan(right, left, site),
  '>=': (left, right, site) => lessOrEqual(right, left, site),
};

function isComparison(operator: string): boolean {
  return Object.hasOwn(COMPARISONS, operator);
}

export function comparisonOf(operator: string): Compare {
  return COMPARISONS[operator]!;
}

function compileComparison(context: Context, node: luaparse.BinaryExpression): Test {
  const { operator } = node;
  const left = compileExpression(context, node.left);
  const right = compileExpression(context, node.right);
  const site = siteOf(context, node);
  if (operator === '==' || operator === '~=') return compileEquality(context, node, left, right);
  switch (operator) {
    case '<':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a < b : lessThan(a, b, site);
      };
    case '<=':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a <= b : lessOrEqual(a, b, site);
      };
    case '>':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a > b : lessThan(b, a, site);
      };
    default:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === 'number' && typeof b === 'number' ? a >= b : lessOrEqual(b, a, site);
      };
  }
}

function compileEquality(
  context: Context,
  node: luaparse.BinaryExpression,
  left: Evaluate,
  right: Evaluate,
): Test {
  const site = siteOf(context, node);
  const isEqual = node.operator === '==';
  const constant = constantOf(context, node.right);
  if (constant !== undefined && !(constant.value instanceof LuaTable)) {
    const { value } = constant;
    return isEqual ? (frame) => left(frame) === value : (frame) => left(frame) !== value;
  }
  if (isEqual) {
    return (frame) => {
      const a = left(frame);
      const b = right(frame);
      return isQuick(a) ? a === b : equals(a, b, site);
    };
  }
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    return isQuick(a) ? a !== b : !equals(a, b, site);
  };
}

/** True if comparing the value needs no metamethod and takes constant time. */
function isQuick(value: LuaValue): boolean {
  return typeof value === 'string' ? value.length <= 256 : typeof value !== 'object';
}

/** The constant key of `t.name`, `t['name']` or `t[1]`. */
export function constantKey(
  context: Context,
  node: luaparse.MemberExpression | luaparse.IndexExpression,
): LuaValue {
  if (node.type === 'MemberExpression') return node.identifier.name;
  return constantOf(context, node.index)?.value;
}

function compileIndex(
  context: Context,
  node: luaparse.MemberExpression | luaparse.IndexExpression,
): Evaluate {
  const site = siteOf(context, node);
  const name = describe(context, node.base);
  const key = constantKey(context, node);
  if (typeof key === 'number') return compileItem(context, node.base, key, site, name);
  const base = compileExpression(context, node.base);
  if (typeof key === 'string') {
    return (frame) => {
      const table = base(frame);
      if (table instanceof LuaTable) {
        const value = table.getString(key);
        if (value !== undefined || table.metatable === undefined) return value;
      }
      return index(table, key, site, name);
    };
  }
  const evaluateKey = compileExpression(context, (node as luaparse.IndexExpression).index);
  return (frame) => {
    const table = base(frame);
    const position = evaluateKey(frame);
    if (table instanceof LuaTable) {
      const value = table.get(position);
      if (value !== undefined || table.metatable === undefined) return value;
    }
    return index(table, position, site, name);
  };
}

function compileItem(
  context: Context,
  node: Expression,
  key: number,
  site: CallSite,
  name: string | undefined,
): Evaluate {
  if (node.type === 'Identifier' && !context.resolution.variables.has(node)) {
    if (node.name === 'KEYS') return () => itemOf(state.keys, key, site, name);
    if (node.name === 'ARGV') return () => itemOf(state.argv, key, site, name);
  }
  const base = compileExpression(context, node);
  return (frame) => itemOf(base(frame), key, site, name);
}

function itemOf(table: LuaValue, key: number, site: CallSite, name: string | undefined): LuaValue {
  if (table instanceof LuaTable) {
    const value = table.getNumber(key);
    if (value !== undefined || table.metatable === undefined) return value;
  }
  return index(table, key, site, name);
}

/** Compiles a list of expressions, of which the last gives all its values if `open`. */
export function compileList(
  context: Context,
  nodes: readonly Expression[],
  open: boolean,
): EvaluateList {
  if (!open) return compileItems(nodes.map((node) => compileExpression(context, node)));
  const last = nodes.at(-1)!;
  const rest = compileMultiple(context, last);
  if (nodes.length === 1) return rest;
  const items = nodes.slice(0, -1).map((node) => compileExpression(context, node));
  return (frame) => {
    const values: LuaValue[] = [];
    for (let at = 0; at < items.length; at++) values.push(items[at]!(frame));
    const more = rest(frame);
    allocate(more.length * VALUE_BYTES);
    for (let at = 0; at < more.length; at++) values.push(more[at]);
    return values;
  };
}

/** Compiles a call or `...` for all its values. */
function compileMultiple(context: Context, node: Expression): EvaluateList {
  if (isCall(node)) {
    const call = compileCall(context, node as luaparse.CallExpression);
    return (frame) => {
      const results = call(frame);
      return Array.isArray(results) ? results : [results];
    };
  }
  const slot = varargSlot(context.scope);
  return (frame) => frame[slot] as unknown as LuaValue[];
}

/** Evaluates a fixed number of expressions into a new array. */
function compileItems(items: readonly Evaluate[]): EvaluateList {
  const [a, b, c, d] = items;
  switch (items.length) {
    case 0:
      return () => [];
    case 1:
      return (frame) => [a!(frame)];
    case 2:
      return (frame) => [a!(frame), b!(frame)];
    case 3:
      return (frame) => [a!(frame), b!(frame), c!(frame)];
    case 4:
      return (frame) => [a!(frame), b!(frame), c!(frame), d!(frame)];
    default:
      return (frame: Frame) => {
        const values: LuaValue[] = [];
        for (let at = 0; at < items.length; at++) values.push(items[at]!(frame));
        return values;
      };
  }
}
