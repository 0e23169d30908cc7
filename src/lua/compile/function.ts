import { LuaTable } from '../table.ts';
import type { FunctionDeclaration, Statement } from '../parse.ts';
import type { FunctionScope, Variable } from '../resolve.ts';
import type { Box, Frame, LuaValue, Prototype } from '../value.ts';
import { Closure } from '../value.ts';
import type { Context, Evaluate, EvaluateResults } from './context.ts';
import { firstUpvalueSlot, slotOf, varargSlot } from './context.ts';
import { compileBody } from './statement.ts';
import { compileSteps } from './steps.ts';

/** Compiles a function expression to a node that makes a closure of it. */
export function compileFunction(context: Context, node: FunctionDeclaration): Evaluate {
  const scope = context.resolution.functions.get(node)!;
  const prototype = compilePrototype({ ...context, scope }, node.body);
  const sources = [...scope.upvalues.keys()].map((variable) => slotOf(context, variable));
  return (frame) => {
    const boxes: Box[] = [];
    for (let at = 0; at < sources.length; at++) {
      boxes.push(frame[sources[at]!] as unknown as Box);
    }
    return new Closure(prototype, boxes);
  };
}

/** Nodes between a call and the first statement of the callee. */
const CALL_WEIGHT = 3;

export function compilePrototype(context: Context, body: readonly Statement[]): Prototype {
  const { scope } = context;
  let steps: ReturnType<Prototype['steps']> | undefined;
  return {
    body: withArgument(scope, compileBody(context, body)),
    steps: () => {
      steps ??= compileSteps(context, body);
      return steps;
    },
    template: new Array<LuaValue>(varargSlot(scope) + 1).fill(undefined),
    parameterCount: scope.parameters.length,
    varargSlot: scope.isVararg ? varargSlot(scope) : -1,
    firstUpvalueSlot: firstUpvalueSlot(scope),
    boxedParameters: scope.parameters.filter(isBoxed).map((variable) => variable.slot),
    weight: CALL_WEIGHT + scope.nesting,
  };
}

function isBoxed(variable: Variable): boolean {
  return variable.isCaptured;
}

/** Lua 5.0's `arg` table, which 5.1 still gives to a vararg function that does not use `...`. */
function withArgument(scope: FunctionScope, body: EvaluateResults): EvaluateResults {
  const { argument } = scope;
  if (argument === undefined) return body;
  return (frame: Frame) => {
    const table = scope.usesVararg ? undefined : packArgument(frame, varargSlot(scope));
    if (argument.isCaptured) (frame as unknown[])[argument.slot] = { value: table };
    else frame[argument.slot] = table;
    return body(frame);
  };
}

function packArgument(frame: Frame, slot: number): LuaTable {
  const values = frame[slot] as unknown as LuaValue[];
  const table = LuaTable.fromList(values.slice());
  table.setString('n', values.length);
  return table;
}
