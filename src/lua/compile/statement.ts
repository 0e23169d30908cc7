import type luaparse from 'luaparse';
import { refuel, spend } from '../budget.ts';
import { runtimeError } from '../error.ts';
import { setIndex } from '../operators.ts';
import type { FunctionDeclaration, Identifier, Statement } from '../parse.ts';
import { endLine, rangeOf, startLine, stepsOf } from '../parse.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { CallSite, Frame, LuaValue } from '../value.ts';
import { Box, NOTHING } from '../value.ts';
import type { CallNode } from './call.ts';
import { compileCall, compileTailCall } from './call.ts';
import type { Context, Evaluate, EvaluateResults } from './context.ts';
import { describe, isCall, isOpen, siteAt, slotOf } from './context.ts';
import { compileExpression, compileList, compileTest, constantKey } from './expression.ts';
import { compileFunction } from './function.ts';
import { compileForIn, compileForTo } from './loop.ts';

/** How a statement ended. Numbers, because exceptions are slow and objects allocate. */
export const NEXT = 0;
export const BREAK = 1;
export const RETURN = 2;
export type Completion = typeof NEXT | typeof BREAK | typeof RETURN;

export type Execute = (frame: Frame) => Completion;

/**
 * Compiles a function's body. If the last statement is a return, its results are returned directly;
 * other returns leave them in `state.returned`.
 */
export function compileBody(context: Context, body: readonly Statement[]): EvaluateResults {
  const last = body.at(-1);
  const statements = body.slice(0, -1).map((node) => compileStatement(context, node));
  const before = [...chargeFor(body), ...statements];
  const end = last === undefined ? () => NOTHING : compileEnd(context, last);
  if (before.length === 0) return end;
  const run = compileSequence(before);
  return (frame) => (run(frame) === RETURN ? state.returned : end(frame));
}

/** A statement that charges a long block for its steps. */
export function chargeFor(body: readonly Statement[]): Execute[] {
  const steps = body.length === 0 ? 0 : stepsOf(body[0]!, body.at(-1));
  if (steps === 0) return [];
  const charge = (): Completion => {
    spend(steps);
    return NEXT;
  };
  return [charge];
}

function compileEnd(context: Context, node: Statement): EvaluateResults {
  if (node.type === 'ReturnStatement') return compileReturnValues(context, node);
  if (node.type === 'IfStatement') return compileIfAtEnd(context, node);
  if (node.type === 'DoStatement') return compileBody(context, node.body);
  const statement = compileStatement(context, node);
  return (frame) => (statement(frame) === RETURN ? state.returned : NOTHING);
}

function compileIfAtEnd(context: Context, node: luaparse.IfStatement): EvaluateResults {
  return compileClauses(context, node, compileBody, () => NOTHING);
}

/** The clauses of an `if`, from the last to the first, each with what follows when its test fails. */
function compileClauses<Result>(
  context: Context,
  node: luaparse.IfStatement,
  compile: (context: Context, body: luaparse.Statement[]) => (frame: Frame) => Result,
  nothing: (frame: Frame) => Result,
): (frame: Frame) => Result {
  let otherwise = nothing;
  for (const clause of node.clauses.toReversed()) {
    const body = compile(context, clause.body);
    if (clause.type === 'ElseClause') {
      otherwise = body;
      continue;
    }
    const test = compileTest(context, clause.condition);
    const rest = otherwise;
    otherwise = (frame) => (test(frame) ? body(frame) : rest(frame));
  }
  return otherwise;
}

function compileReturnValues(context: Context, node: luaparse.ReturnStatement): EvaluateResults {
  const values = node.arguments;
  const open = isOpen(context, values, rangeOf(node)[1], 0);
  const only = values.length === 1 ? values[0]! : undefined;
  if (only === undefined || (open && !isCall(only))) return compileList(context, values, open);
  return open ? compileTailCall(context, only as CallNode) : compileExpression(context, only);
}

export function compileBlock(context: Context, body: readonly Statement[]): Execute {
  const statements = body.map((node) => compileStatement(context, node));
  return compileSequence([...chargeFor(body), ...statements]);
}

function compileSequence(statements: readonly Execute[]): Execute {
  const [a, b, c] = statements;
  switch (statements.length) {
    case 0:
      return () => NEXT;
    case 1:
      return a!;
    case 2:
      return (frame) => a!(frame) || b!(frame);
    case 3:
      return (frame) => a!(frame) || b!(frame) || c!(frame);
    default:
      return (frame) => {
        for (let at = 0; at < statements.length; at++) {
          const completion = statements[at]!(frame);
          if (completion !== NEXT) return completion;
        }
        return NEXT;
      };
  }
}

export function compileStatement(context: Context, node: Statement): Execute {
  switch (node.type) {
    case 'LocalStatement':
      return compileLocal(context, node);
    case 'AssignmentStatement':
      return compileAssignment(context, node);
    case 'CallStatement':
      return compileCallStatement(context, node.expression);
    case 'FunctionDeclaration':
      return compileFunctionStatement(context, node);
    case 'ReturnStatement':
      return compileReturn(context, node);
    case 'BreakStatement':
      return () => BREAK;
    case 'DoStatement':
      return compileBlock(context, node.body);
    case 'IfStatement':
      return compileIf(context, node);
    case 'WhileStatement':
      return compileWhile(context, node);
    case 'RepeatStatement':
      return compileRepeat(context, node);
    case 'ForNumericStatement':
      return compileForTo(context, node);
    case 'ForGenericStatement':
      return compileForIn(context, node);
    default:
      throw new Error(`cannot compile ${node.type}`);
  }
}

function compileCallStatement(context: Context, node: CallNode): Execute {
  const call = compileCall(context, node);
  return (frame) => {
    call(frame);
    return NEXT;
  };
}

function compileReturn(context: Context, node: luaparse.ReturnStatement): Execute {
  const values = compileReturnValues(context, node);
  return (frame) => {
    state.returned = values(frame);
    return RETURN;
  };
}

function compileIf(context: Context, node: luaparse.IfStatement): Execute {
  return compileClauses(context, node, compileBlock, () => NEXT);
}

function compileWhile(context: Context, node: luaparse.WhileStatement): Execute {
  const test = compileTest(context, node.condition);
  const body = compileBlock(context, node.body);
  const steps = 1 + stepsOf(node.condition);
  return (frame) => {
    while (test(frame)) {
      state.fuel -= steps;
      if (state.fuel < 0) refuel();
      const completion = body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    }
    return NEXT;
  };
}

function compileRepeat(context: Context, node: luaparse.RepeatStatement): Execute {
  const body = compileBlock(context, node.body);
  const test = compileTest(context, node.condition);
  const steps = 1 + stepsOf(node.condition);
  return (frame) => {
    do {
      state.fuel -= steps;
      if (state.fuel < 0) refuel();
      const completion = body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    } while (!test(frame));
    return NEXT;
  };
}

export type Store = (frame: Frame, value: LuaValue) => void;

/** Gives a new local its first value. A captured one gets a new box, also in each loop turn. */
export function compileDeclaration(context: Context, node: Identifier): Store {
  const variable = context.resolution.variables.get(node)!;
  const { slot } = variable;
  if (variable.isCaptured) {
    return (frame, value) => {
      (frame as unknown[])[slot] = new Box(value);
    };
  }
  return (frame, value) => {
    frame[slot] = value;
  };
}

function compileLocal(context: Context, node: luaparse.LocalStatement): Execute {
  const { variables, init } = node;
  const open = isOpen(context, init, rangeOf(node)[1], 0);
  if (variables.length === 1 && init.length <= 1) {
    const variable = context.resolution.variables.get(variables[0]!)!;
    const value: Evaluate =
      init[0] === undefined ? () => undefined : compileExpression(context, init[0]);
    return compileSingleLocal(variable.slot, variable.isCaptured, value);
  }
  const stores = variables.map((variable) => compileDeclaration(context, variable));
  const values = compileList(context, init, open);
  return (frame) => {
    const list = values(frame);
    for (let at = 0; at < stores.length; at++) stores[at]!(frame, list[at]);
    return NEXT;
  };
}

function compileSingleLocal(slot: number, isCaptured: boolean, value: Evaluate): Execute {
  if (isCaptured) {
    return (frame) => {
      (frame as unknown[])[slot] = new Box(value(frame));
      return NEXT;
    };
  }
  return (frame) => {
    frame[slot] = value(frame);
    return NEXT;
  };
}

function compileFunctionStatement(context: Context, node: FunctionDeclaration): Execute {
  const { identifier } = node;
  if (node.isLocal) return compileLocalFunction(context, node, identifier as Identifier);
  const closure = compileFunction(context, node);
  return compileSingleAssignment(context, identifier as Target, closure, startLine(node));
}

/** Compiles a local function. It can call itself: the variable exists before the closure is made. */
function compileLocalFunction(
  context: Context,
  node: FunctionDeclaration,
  identifier: Identifier,
): Execute {
  const variable = context.resolution.variables.get(identifier)!;
  const closure = compileFunction(context, node);
  const { slot } = variable;
  if (!variable.isCaptured) return compileSingleLocal(slot, false, closure);
  return (frame) => {
    const box = new Box(undefined);
    (frame as unknown[])[slot] = box;
    box.value = closure(frame);
    return NEXT;
  };
}

type Target = luaparse.AssignmentStatement['variables'][number];

function compileAssignment(context: Context, node: luaparse.AssignmentStatement): Execute {
  const { variables, init } = node;
  const line = endLine(node);
  if (variables.length === 1 && init.length === 1) {
    return compileSingleAssignment(
      context,
      variables[0]!,
      compileExpression(context, init[0]!),
      line,
    );
  }
  const targets = variables.map((target) => compileTarget(context, target, line));
  const values = compileList(context, init, isOpen(context, init, rangeOf(node)[1], 0));
  return (frame) => {
    const places: Place[] = [];
    for (let at = 0; at < targets.length; at++) places.push(targets[at]!.locate(frame));
    const list = values(frame);
    for (let at = targets.length - 1; at >= 0; at--) {
      targets[at]!.store(frame, places[at]!, list[at]);
    }
    return NEXT;
  };
}

/** The table and key of an assignment, found before the values are evaluated. */
export type Place = { readonly object: LuaValue; readonly key: LuaValue } | undefined;

interface CompiledTarget {
  readonly locate: (frame: Frame) => Place;
  readonly store: (frame: Frame, place: Place, value: LuaValue) => void;
}

function compileTarget(context: Context, target: Target, line: number): CompiledTarget {
  if (target.type === 'Identifier') {
    const store = compileVariableStore(context, target, line);
    return { locate: () => undefined, store: (frame, _, value) => store(frame, value) };
  }
  const base = compileExpression(context, target.base);
  const key = compileKey(context, target);
  const site = siteAt(context, line);
  const name = describe(context, target.base);
  return {
    locate: (frame) => ({ object: base(frame), key: key(frame) }),
    store: (_, place, value) => setIndex(place!.object, place!.key, value, site, name),
  };
}

function compileKey(
  context: Context,
  target: luaparse.MemberExpression | luaparse.IndexExpression,
): Evaluate {
  if (target.type === 'IndexExpression') return compileExpression(context, target.index);
  const { name } = target.identifier;
  return () => name;
}

export function compileVariableStore(context: Context, target: Identifier, line: number): Store {
  const variable = context.resolution.variables.get(target);
  if (variable === undefined) return globalStore(siteAt(context, line));
  const slot = slotOf(context, variable);
  if (variable.isCaptured) {
    return (frame, value) => {
      (frame[slot] as unknown as Box).value = value;
    };
  }
  return (frame, value) => {
    frame[slot] = value;
  };
}

function globalStore(site: CallSite): Store {
  return () => {
    throw runtimeError(site, 'Attempt to modify a readonly table');
  };
}

function compileSingleAssignment(
  context: Context,
  target: Target,
  value: Evaluate,
  line: number,
): Execute {
  if (target.type !== 'Identifier') return compileFieldAssignment(context, target, value, line);
  const variable = context.resolution.variables.get(target);
  if (variable !== undefined && !variable.isCaptured) {
    return compileSingleLocal(slotOf(context, variable), false, value);
  }
  const store = compileVariableStore(context, target, line);
  return (frame) => {
    store(frame, value(frame));
    return NEXT;
  };
}

function compileFieldAssignment(
  context: Context,
  target: luaparse.MemberExpression | luaparse.IndexExpression,
  value: Evaluate,
  line: number,
): Execute {
  const base = compileExpression(context, target.base);
  const site = siteAt(context, line);
  const name = describe(context, target.base);
  const constant = constantKey(context, target);
  if (typeof constant === 'string') {
    return (frame) => {
      const table = base(frame);
      const item = value(frame);
      if (isPlain(table)) table.setString(constant, item);
      else setIndex(table, constant, item, site, name);
      return NEXT;
    };
  }
  const key = compileKey(context, target);
  return (frame) => {
    const table = base(frame);
    const at = key(frame);
    const item = value(frame);
    if (typeof at === 'number' && !Number.isNaN(at) && isPlain(table)) table.setNumber(at, item);
    else setIndex(table, at, item, site, name);
    return NEXT;
  };
}

function isPlain(value: LuaValue): value is LuaTable {
  return value instanceof LuaTable && value.metatable === undefined && !value.locked;
}
