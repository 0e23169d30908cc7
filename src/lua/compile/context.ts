import type luaparse from 'luaparse';
import type { Expression } from '../parse.ts';
import { decodeString, endLine, isParenthesised } from '../parse.ts';
import type { FunctionScope, Resolution, Variable } from '../resolve.ts';
import { globals } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { CallSite, ChunkName, Frame, LuaValue, Results } from '../value.ts';

/** The function that is being compiled, and the chunk it belongs to. */
export interface Context {
  readonly resolution: Resolution;
  readonly scope: FunctionScope;
  readonly chunk: ChunkName;
}

export type Evaluate = (frame: Frame) => LuaValue;
export type EvaluateResults = (frame: Frame) => Results;
export type EvaluateList = (frame: Frame) => LuaValue[];
export type Test = (frame: Frame) => boolean;

/** Frames have room for three arguments even where the callee has fewer parameters. */
const MIN_FRAME_SLOTS = 3;

export function firstUpvalueSlot(scope: FunctionScope): number {
  return Math.max(MIN_FRAME_SLOTS, scope.slotCount);
}

export function varargSlot(scope: FunctionScope): number {
  return firstUpvalueSlot(scope) + scope.upvalues.size;
}

/** The slot of a variable of this function or of an outer one. */
export function slotOf(context: Context, variable: Variable): number {
  const { scope } = context;
  if (variable.owner === scope) return variable.slot;
  return firstUpvalueSlot(scope) + scope.upvalues.get(variable)!;
}

export function siteAt(context: Context, line: number, callee?: Expression): CallSite {
  const isMethod = callee?.type === 'MemberExpression' && callee.indexer === ':';
  return { chunk: context.chunk, line, name: calleeName(callee), isMethod };
}

function calleeName(callee: Expression | undefined): string | undefined {
  if (callee?.type === 'Identifier') return callee.name;
  return callee?.type === 'MemberExpression' ? callee.identifier.name : undefined;
}

/** The position of an operation. C Lua uses the line where its last operand ends. */
export function siteOf(context: Context, node: Expression): CallSite {
  return siteAt(context, endLine(node));
}

/** How C Lua names a value in errors: by the variable or field that it was read from. */
export function describe(context: Context, node: Expression): string | undefined {
  switch (node.type) {
    case 'Identifier': {
      const variable = context.resolution.variables.get(node);
      if (variable === undefined) return `global '${node.name}'`;
      return `${variable.owner === context.scope ? 'local' : 'upvalue'} '${node.name}'`;
    }
    case 'MemberExpression':
      return `${node.indexer === ':' ? 'method' : 'field'} '${node.identifier.name}'`;
    case 'IndexExpression': {
      const { index } = node;
      return `field '${index.type === 'StringLiteral' ? decodeString(index.raw) : '?'}'`;
    }
    case 'LogicalExpression':
      return isDecided(node) ? describe(context, node.right) : undefined;
    default:
      return undefined;
  }
}

/** True if a literal on the left always selects the right operand, as in `'x' and y`. */
function isDecided({ operator, left }: luaparse.LogicalExpression): boolean {
  if (left.type === 'NilLiteral') return operator === 'or';
  if (left.type === 'BooleanLiteral') return left.value === (operator === 'and');
  const isLiteral = left.type === 'StringLiteral' || left.type === 'NumericLiteral';
  return isLiteral && operator === 'and';
}

/** Globals that change with each call; all others are fixed and can be read while compiling. */
const PER_CALL_GLOBALS: ReadonlySet<string> = new Set(['KEYS', 'ARGV']);

interface Constant {
  readonly value: LuaValue;
}

/** The value of an expression that is the same whenever it is evaluated. */
export function constantOf(context: Context, node: Expression): Constant | undefined {
  switch (node.type) {
    case 'StringLiteral':
      return { value: decodeString(node.raw) };
    case 'NumericLiteral':
    case 'BooleanLiteral':
      return { value: node.value };
    case 'NilLiteral':
      return { value: undefined };
    case 'Identifier':
      if (context.resolution.variables.has(node)) return undefined;
      return constantGlobal(node.name);
    case 'MemberExpression': {
      const table = constantOf(context, node.base)?.value;
      if (!(table instanceof LuaTable)) return undefined;
      const { name } = node.identifier;
      return table === globals ? constantGlobal(name) : defined(table.getString(name));
    }
    case 'UnaryExpression': {
      const operand = constantOf(context, node.argument)?.value;
      return node.operator === '-' && typeof operand === 'number' ? { value: -operand } : undefined;
    }
    default:
      return undefined;
  }
}

function constantGlobal(name: string): Constant | undefined {
  return PER_CALL_GLOBALS.has(name) ? undefined : defined(globals.getString(name));
}

function defined(value: LuaValue): Constant | undefined {
  return value === undefined ? undefined : { value };
}

/**
 * True if a list of expressions ends in a call or `...` that gives all its values. `end` and `owned`
 * are those of `isParenthesised`.
 */
export function isOpen(
  context: Context,
  nodes: readonly Expression[],
  end: number,
  owned: number,
): boolean {
  const last = nodes.at(-1);
  if (last === undefined || !isMultiple(last)) return false;
  return !isParenthesised(context.resolution.source, last, end, owned);
}

function isMultiple(node: Expression): boolean {
  return node.type === 'VarargLiteral' || isCall(node);
}

export function isCall(node: Expression): boolean {
  return (
    node.type === 'CallExpression' ||
    node.type === 'StringCallExpression' ||
    node.type === 'TableCallExpression'
  );
}
