import type luaparse from 'luaparse';
import { spend } from '../budget.ts';
import { callValue } from '../call.ts';
import { setIndex } from '../operators.ts';
import type { Statement } from '../parse.ts';
import { endLine, rangeOf, startLine, stepsOf } from '../parse.ts';
import { state } from '../state.ts';
import type { Frame, LuaValue, Results, Steps } from '../value.ts';
import { asList, NOTHING } from '../value.ts';
import type { CallNode } from './call.ts';
import type { Context } from './context.ts';
import { describe, isCall, isOpen, siteAt } from './context.ts';
import { bound, firstTurn } from './loop.ts';
import type { Completion, Place } from './statement.ts';
import {
  BREAK,
  chargeFor,
  compileDeclaration,
  compileStatement,
  compileVariableStore,
  NEXT,
  RETURN,
} from './statement.ts';
import type { EvaluateSteps } from './steps-expression.ts';
import {
  compileCallSteps,
  compileExpressionSteps,
  compileListSteps,
  hasCall,
  plain,
} from './steps-expression.ts';

/**
 * The second compiler: the same functions as generators, for coroutines.
 *
 * A closure cannot suspend, so code that runs inside a coroutine is compiled a second time, on first use,
 * to generator functions. Only calls can lead to a yield, so code without calls comes from the first
 * compiler unchanged. Both compilers use the same frames, so functions, captured variables and errors are
 * the same in both.
 */
export function compileSteps(
  context: Context,
  body: readonly Statement[],
): (frame: Frame) => Steps<Results> {
  const block = compileBlockSteps(context, body);
  return function* (frame) {
    return (yield* block(frame)) === RETURN ? state.returned : NOTHING;
  };
}

type ExecuteSteps = (frame: Frame) => Steps<Completion>;

function compileBlockSteps(context: Context, body: readonly Statement[]): ExecuteSteps {
  const statements = [
    ...chargeFor(body).map(plain),
    ...body.map((node) => compileStatementSteps(context, node)),
  ];
  return function* (frame) {
    for (const statement of statements) {
      const completion = yield* statement(frame);
      if (completion !== NEXT) return completion;
    }
    return NEXT;
  };
}

function compileStatementSteps(context: Context, node: Statement): ExecuteSteps {
  if (!hasCall(node)) return plain(compileStatement(context, node));
  switch (node.type) {
    case 'LocalStatement':
      return compileLocalSteps(context, node);
    case 'AssignmentStatement':
      return compileAssignmentSteps(context, node);
    case 'CallStatement':
      return compileCallStatementSteps(context, node.expression);
    case 'ReturnStatement':
      return compileReturnSteps(context, node);
    case 'DoStatement':
      return compileBlockSteps(context, node.body);
    case 'IfStatement':
      return compileIfSteps(context, node);
    case 'WhileStatement':
      return compileWhileSteps(context, node);
    case 'RepeatStatement':
      return compileRepeatSteps(context, node);
    case 'ForNumericStatement':
      return compileForToSteps(context, node);
    case 'ForGenericStatement':
      return compileForInSteps(context, node);
    default:
      return plain(compileStatement(context, node));
  }
}

function compileLocalSteps(context: Context, node: luaparse.LocalStatement): ExecuteSteps {
  const open = isOpen(context, node.init, rangeOf(node)[1], 0);
  const values = compileListSteps(context, node.init, open);
  const stores = node.variables.map((variable) => compileDeclaration(context, variable));
  return function* (frame) {
    const list = yield* values(frame);
    stores.forEach((store, at) => {
      store(frame, list[at]);
    });
    return NEXT;
  };
}

interface TargetSteps {
  readonly locate: (frame: Frame) => Steps<Place>;
  readonly store: (frame: Frame, place: Place, value: LuaValue) => void;
}

function compileAssignmentSteps(
  context: Context,
  node: luaparse.AssignmentStatement,
): ExecuteSteps {
  const { variables, init } = node;
  const line = endLine(node);
  const targets = variables.map((target) => compileTargetSteps(context, target, line));
  const values = compileListSteps(context, init, isOpen(context, init, rangeOf(node)[1], 0));
  return function* (frame) {
    const places: Place[] = [];
    for (const target of targets) places.push(yield* target.locate(frame));
    const list = yield* values(frame);
    for (let at = targets.length - 1; at >= 0; at--) {
      targets[at]!.store(frame, places[at]!, list[at]);
    }
    return NEXT;
  };
}

function compileTargetSteps(
  context: Context,
  target: luaparse.AssignmentStatement['variables'][number],
  line: number,
): TargetSteps {
  if (target.type === 'Identifier') {
    const store = compileVariableStore(context, target, line);
    return {
      locate: plain(() => undefined),
      store: (frame, _, value) => store(frame, value),
    };
  }
  const base = compileExpressionSteps(context, target.base);
  const key =
    target.type === 'IndexExpression'
      ? compileExpressionSteps(context, target.index)
      : plain(() => target.identifier.name);
  const site = siteAt(context, line);
  const name = describe(context, target.base);
  return {
    locate: function* (frame) {
      const object = yield* base(frame);
      return { object, key: yield* key(frame) };
    },
    store: (_, place, value) => setIndex(place!.object, place!.key, value, site, name),
  };
}

function compileCallStatementSteps(context: Context, node: CallNode): ExecuteSteps {
  const call = compileCallSteps(context, node);
  return function* (frame) {
    yield* call(frame);
    return NEXT;
  };
}

function compileReturnSteps(context: Context, node: luaparse.ReturnStatement): ExecuteSteps {
  const [only] = node.arguments;
  const open = isOpen(context, node.arguments, rangeOf(node)[1], 0);
  const values: (frame: Frame) => Steps<Results> =
    open && node.arguments.length === 1 && isCall(only!)
      ? compileCallSteps(context, only as CallNode)
      : compileListSteps(context, node.arguments, open);
  return function* (frame) {
    state.returned = yield* values(frame);
    return RETURN;
  };
}

function compileIfSteps(context: Context, node: luaparse.IfStatement): ExecuteSteps {
  const clauses = node.clauses.map((clause) => ({
    test:
      clause.type === 'ElseClause'
        ? plain(() => true)
        : compileExpressionSteps(context, clause.condition),
    body: compileBlockSteps(context, clause.body),
  }));
  return function* (frame) {
    for (const { test, body } of clauses) {
      if (isTrue(yield* test(frame))) return yield* body(frame);
    }
    return NEXT;
  };
}

function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

function compileWhileSteps(context: Context, node: luaparse.WhileStatement): ExecuteSteps {
  const test = compileExpressionSteps(context, node.condition);
  const body = compileBlockSteps(context, node.body);
  const steps = 1 + stepsOf(node.condition);
  return function* (frame) {
    while (isTrue(yield* test(frame))) {
      spend(steps);
      const completion = yield* body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    }
    return NEXT;
  };
}

function compileRepeatSteps(context: Context, node: luaparse.RepeatStatement): ExecuteSteps {
  const body = compileBlockSteps(context, node.body);
  const test = compileExpressionSteps(context, node.condition);
  const steps = 1 + stepsOf(node.condition);
  return function* (frame) {
    do {
      spend(steps);
      const completion = yield* body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    } while (!isTrue(yield* test(frame)));
    return NEXT;
  };
}

function compileForToSteps(context: Context, node: luaparse.ForNumericStatement): ExecuteSteps {
  const start = compileExpressionSteps(context, node.start);
  const end = compileExpressionSteps(context, node.end);
  const stride: EvaluateSteps =
    node.step === null ? plain(() => 1) : compileExpressionSteps(context, node.step);
  const store = compileDeclaration(context, node.variable);
  const body = compileBlockSteps(context, node.body);
  const site = siteAt(context, endLine(node.step ?? node.end));
  return function* (frame) {
    const from = yield* start(frame);
    const to = yield* end(frame);
    const by = yield* stride(frame);
    const initial = bound(from, 'initial value', site);
    const limit = bound(to, 'limit', site);
    const interval = bound(by, 'step', site);
    for (
      let at = firstTurn(initial, interval);
      interval > 0 ? at <= limit : limit <= at;
      at += interval
    ) {
      spend(1);
      store(frame, at);
      const completion = yield* body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    }
    return NEXT;
  };
}

/** The iterator itself is called like a metamethod: it cannot yield. */
function compileForInSteps(context: Context, node: luaparse.ForGenericStatement): ExecuteSteps {
  const open = isOpen(context, node.iterators, rangeOf(node)[1], 0);
  const control = compileListSteps(context, node.iterators, open);
  const stores = node.variables.map((variable) => compileDeclaration(context, variable));
  const body = compileBlockSteps(context, node.body);
  const site = siteAt(context, startLine(node));
  return function* (frame) {
    const [iterator, subject, first] = yield* control(frame);
    let key = first;
    for (;;) {
      const values = asList(callValue(iterator, [subject, key], site, undefined));
      key = values[0];
      if (key === undefined) return NEXT;
      stores.forEach((store, at) => {
        store(frame, values[at]);
      });
      const completion = yield* body(frame);
      if (completion === BREAK) return NEXT;
      if (completion === RETURN) return RETURN;
    }
  };
}
