import { allocate } from '../memory.ts';
import type { FunctionDeclaration, Statement } from '../parse.ts';
import type { FunctionScope } from '../resolve.ts';
import type { Box, LuaValue, Prototype } from '../value.ts';
import { Closure } from '../value.ts';
import type { Context, Evaluate } from './context.ts';
import { firstUpvalueSlot, slotOf, varargSlot } from './context.ts';
import { compileBody } from './statement.ts';
import { compileSteps } from './steps.ts';

/** Compiles a function expression to a node that makes a closure of it. */
export function compileFunction(context: Context, node: FunctionDeclaration): Evaluate {
  const scope = context.resolution.functions.get(node)!;
  const prototype = compilePrototype({ ...context, scope }, node.body);
  const sources = [...scope.upvalues.keys()].map((variable) => slotOf(context, variable));
  const bytes = CLOSURE_BYTES + sources.length * UPVALUE_BYTES;
  return (frame) => {
    allocate(bytes);
    const boxes: Box[] = [];
    for (let at = 0; at < sources.length; at++) {
      boxes.push(frame[sources[at]!] as unknown as Box);
    }
    return new Closure(prototype, boxes);
  };
}

/** Bytes that V8 uses for a closure, and for each variable that it captures. */
const CLOSURE_BYTES = 224;
const UPVALUE_BYTES = 40;

/** Nodes between a call and the first statement of the callee. */
const CALL_WEIGHT = 3;

export function compilePrototype(context: Context, body: readonly Statement[]): Prototype {
  const { scope } = context;
  const argument = scope.usesVararg ? undefined : scope.argument;
  let steps: ReturnType<Prototype['steps']> | undefined;
  return {
    body: compileBody(context, body),
    steps: () => {
      steps ??= compileSteps(context, body);
      return steps;
    },
    template: new Array<LuaValue>(varargSlot(scope) + 1).fill(undefined),
    parameterCount: scope.parameters.length,
    varargSlot: scope.usesVararg || argument !== undefined ? varargSlot(scope) : -1,
    argumentSlot: argument?.slot ?? -1,
    firstUpvalueSlot: firstUpvalueSlot(scope),
    boxedParameters: boxedParameters(scope),
    weight: CALL_WEIGHT + scope.nesting,
  };
}

function boxedParameters(scope: FunctionScope): number[] {
  const { parameters, argument } = scope;
  const variables = argument === undefined ? parameters : [...parameters, argument];
  return variables.filter((variable) => variable.isCaptured).map((variable) => variable.slot);
}
