import type luaparse from 'luaparse';
import { callSteps } from '../call.ts';
import { arithmetic, index, lengthOf, setIndex } from '../operators.ts';
import type { Expression } from '../parse.ts';
import { LuaTable } from '../table.ts';
import type { Frame, LuaValue, Results, Steps } from '../value.ts';
import { asList, first } from '../value.ts';
import { arithmeticEvent, isArithmetic } from './arithmetic.ts';
import type { CallNode } from './call.ts';
import { argumentNodes, argumentsOpen, callSite, isMethodCall } from './call.ts';
import type { Context } from './context.ts';
import { describe, isCall, siteOf } from './context.ts';
import {
  comparisonOf,
  compileExpression,
  compileList,
  concatenateAll,
  concatenationOperands,
  operandNames,
} from './expression.ts';
import { opensLast, positionalFields, roundedSize } from './table.ts';

export type EvaluateSteps = (frame: Frame) => Steps<LuaValue>;
type EvaluateListSteps = (frame: Frame) => Steps<LuaValue[]>;

/** Wraps code that cannot yield as a generator. */
export function plain<Result>(run: (frame: Frame) => Result): (frame: Frame) => Steps<Result> {
  // biome-ignore lint/correctness/useYield: callers need a generator
  return function* (frame) {
    return run(frame);
  };
}

/** True if a node contains a call, not counting those in inner functions. */
export function hasCall(node: object): boolean {
  const { type } = node as { type?: string };
  if (type === 'FunctionDeclaration') return false;
  if (type !== undefined && isCall(node as Expression)) return true;
  return Object.values(node).some(
    (child) => typeof child === 'object' && child !== null && hasCall(child),
  );
}

export function compileExpressionSteps(context: Context, node: Expression): EvaluateSteps {
  if (!hasCall(node)) return plain(compileExpression(context, node));
  switch (node.type) {
    case 'CallExpression':
    case 'StringCallExpression':
    case 'TableCallExpression':
      return compileFirstResult(context, node);
    case 'UnaryExpression':
      return compileUnarySteps(context, node);
    case 'BinaryExpression':
      return compileBinarySteps(context, node);
    case 'LogicalExpression':
      return compileLogicalSteps(context, node);
    case 'MemberExpression':
    case 'IndexExpression':
      return compileIndexSteps(context, node);
    case 'TableConstructorExpression':
      return compileTableSteps(context, node);
    default:
      return plain(compileExpression(context, node));
  }
}

function compileFirstResult(context: Context, node: CallNode): EvaluateSteps {
  const call = compileCallSteps(context, node);
  return function* (frame) {
    return first(yield* call(frame));
  };
}

/** Compiles a call for all its results. */
export function compileCallSteps(
  context: Context,
  node: CallNode,
): (frame: Frame) => Steps<Results> {
  const { base } = node;
  const site = callSite(context, node);
  const args = compileListSteps(context, argumentNodes(node), argumentsOpen(context, node));
  const description = describe(context, base);
  if (!isMethodCall(base)) {
    const callee = compileExpressionSteps(context, base);
    return function* (frame) {
      const target = yield* callee(frame);
      return yield* callSteps(target, yield* args(frame), site, description);
    };
  }
  const object = compileExpressionSteps(context, base.base);
  const objectName = describe(context, base.base);
  return function* (frame) {
    const self = yield* object(frame);
    const target = index(self, base.identifier.name, site, objectName);
    return yield* callSteps(target, [self, ...(yield* args(frame))], site, description);
  };
}

function compileUnarySteps(context: Context, node: luaparse.UnaryExpression): EvaluateSteps {
  const operand = compileExpressionSteps(context, node.argument);
  const site = siteOf(context, node);
  const name = describe(context, node.argument);
  const { operator } = node;
  return function* (frame) {
    const value = yield* operand(frame);
    if (operator === 'not') return value === undefined || value === false;
    if (operator === '#') return lengthOf(value, site, name);
    return arithmetic('__unm', value, value, site, { left: name, right: name });
  };
}

function compileBinarySteps(context: Context, node: luaparse.BinaryExpression): EvaluateSteps {
  const { operator } = node;
  if (operator === '..') return compileConcatenationSteps(context, node);
  const left = compileExpressionSteps(context, node.left);
  const right = compileExpressionSteps(context, node.right);
  const site = siteOf(context, node);
  if (isArithmetic(operator)) {
    const event = arithmeticEvent(operator);
    const names = operandNames(context, node.left, node.right);
    return function* (frame) {
      const a = yield* left(frame);
      return arithmetic(event, a, yield* right(frame), site, names);
    };
  }
  const compare = comparisonOf(operator);
  return function* (frame) {
    const a = yield* left(frame);
    return compare(a, yield* right(frame), site);
  };
}

function compileConcatenationSteps(
  context: Context,
  node: luaparse.BinaryExpression,
): EvaluateSteps {
  const operands = concatenationOperands(node);
  const values = compileListSteps(context, operands, false);
  const names = operands.map((operand) => describe(context, operand));
  const site = siteOf(context, node);
  return function* (frame) {
    return concatenateAll(yield* values(frame), names, site);
  };
}

function compileLogicalSteps(context: Context, node: luaparse.LogicalExpression): EvaluateSteps {
  const left = compileExpressionSteps(context, node.left);
  const right = compileExpressionSteps(context, node.right);
  const isAnd = node.operator === 'and';
  return function* (frame) {
    const value = yield* left(frame);
    const isTrue = value !== undefined && value !== false;
    return isTrue === isAnd ? yield* right(frame) : value;
  };
}

function compileIndexSteps(
  context: Context,
  node: luaparse.MemberExpression | luaparse.IndexExpression,
): EvaluateSteps {
  const base = compileExpressionSteps(context, node.base);
  const key =
    node.type === 'IndexExpression'
      ? compileExpressionSteps(context, node.index)
      : plain(() => node.identifier.name);
  const site = siteOf(context, node);
  const name = describe(context, node.base);
  return function* (frame) {
    const object = yield* base(frame);
    return index(object, yield* key(frame), site, name);
  };
}

function compileTableSteps(
  context: Context,
  node: luaparse.TableConstructorExpression,
): EvaluateSteps {
  const open = opensLast(context, node);
  const positional = positionalFields(node).length;
  const arraySize = roundedSize(positional - (open ? 1 : 0));
  const hashSize = roundedSize(node.fields.length - positional);
  const fields = node.fields.map((field, at) =>
    compileFieldSteps(context, field, open && at === node.fields.length - 1),
  );
  return function* (frame) {
    const table = new LuaTable(arraySize, hashSize);
    const items: LuaValue[] = [];
    for (const field of fields) yield* field(frame, table, items);
    if (items.length > 0) table.setConstructorItems(items);
    return table;
  };
}

type AddFieldSteps = (frame: Frame, table: LuaTable, items: LuaValue[]) => Steps<void>;

function compileFieldSteps(
  context: Context,
  field: luaparse.TableConstructorExpression['fields'][number],
  open: boolean,
): AddFieldSteps {
  if (field.type === 'TableValue') {
    const values = compileListSteps(context, [field.value], open);
    return function* (frame, _, items) {
      items.push(...(yield* values(frame)));
    };
  }
  const value = compileExpressionSteps(context, field.value);
  const key =
    field.type === 'TableKey'
      ? compileExpressionSteps(context, field.key)
      : plain(() => field.key.name);
  const site = siteOf(context, field.value);
  return function* (frame, table) {
    const at = yield* key(frame);
    setIndex(table, at, yield* value(frame), site, undefined);
  };
}

/** Compiles a list of expressions, of which the last gives all its values if `open`. */
export function compileListSteps(
  context: Context,
  nodes: readonly Expression[],
  open: boolean,
): EvaluateListSteps {
  if (!nodes.some(hasCall)) return plain(compileList(context, nodes, open));
  const closed = open ? nodes.slice(0, -1) : nodes;
  const items = closed.map((node) => compileExpressionSteps(context, node));
  const last = open ? nodes.at(-1)! : undefined;
  const rest = last === undefined ? undefined : compileRestSteps(context, last);
  return function* (frame) {
    const values: LuaValue[] = [];
    for (const item of items) values.push(yield* item(frame));
    if (rest !== undefined) for (const value of yield* rest(frame)) values.push(value);
    return values;
  };
}

function compileRestSteps(context: Context, node: Expression): EvaluateListSteps {
  if (!isCall(node)) return plain(compileList(context, [node], true));
  const call = compileCallSteps(context, node as CallNode);
  return function* (frame) {
    return asList(yield* call(frame));
  };
}
