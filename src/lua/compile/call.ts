import type luaparse from 'luaparse';
import { refuel } from '../budget.ts';
import { callValue, enter, tailCall } from '../call.ts';
import { index } from '../operators.ts';
import type { Expression } from '../parse.ts';
import { endLine, rangeOf, startLine } from '../parse.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { CallSite } from '../value.ts';
import { Builtin, Closure } from '../value.ts';
import type { Context, Evaluate, EvaluateList, EvaluateResults } from './context.ts';
import { constantOf, describe, isOpen, siteAt } from './context.ts';
import { compileExpression, compileList } from './expression.ts';

export type CallNode =
  | luaparse.CallExpression
  | luaparse.StringCallExpression
  | luaparse.TableCallExpression;

/** Compiles a call for its first result. */
export function compileSingleCall(context: Context, node: CallNode): Evaluate {
  const call = compileCall(context, node);
  return (frame) => {
    const results = call(frame);
    return typeof results === 'object' && Array.isArray(results) ? results[0] : results;
  };
}

/** Compiles a call for all its results. */
export function compileCall(context: Context, node: CallNode): EvaluateResults {
  const { base } = node;
  const site = callSite(context, node);
  if (isMethodCall(base)) return compileMethodCall(context, node, base, site);
  const builtin = constantOf(context, base)?.value;
  if (builtin instanceof Builtin) return compileBuiltinCall(context, node, builtin, site);
  const parts = argumentNodes(node);
  if (parts.length <= 3 && !argumentsOpen(context, node)) {
    return compileShortCall(context, base, parts, site);
  }
  const callee = compileExpression(context, base);
  const args = compileArguments(context, node);
  const name = describe(context, base);
  return (frame) => {
    const target = callee(frame);
    return callValue(target, args(frame), site, name);
  };
}

/** Compiles the call of a `return f(x)`, which replaces the frame when the stack is deep. */
export function compileTailCall(context: Context, node: CallNode): EvaluateResults {
  const { base } = node;
  if (isMethodCall(base) || constantOf(context, base) !== undefined)
    return compileCall(context, node);
  const site = callSite(context, node);
  const callee = compileExpression(context, base);
  const args = compileArguments(context, node);
  const name = describe(context, base);
  return (frame) => {
    const target = callee(frame);
    return tailCall(target, args(frame), site, name);
  };
}

export function callSite(context: Context, node: CallNode): CallSite {
  const line = node.type === 'CallExpression' ? endLine(node.base) : argumentLine(node);
  return siteAt(context, line, node.base);
}

function argumentLine(node: luaparse.StringCallExpression | luaparse.TableCallExpression): number {
  return startLine(node.type === 'StringCallExpression' ? node.argument : node.arguments);
}

export function isMethodCall(base: Expression): base is luaparse.MemberExpression {
  return base.type === 'MemberExpression' && base.indexer === ':';
}

export function argumentNodes(node: CallNode): Expression[] {
  if (node.type === 'CallExpression') return node.arguments;
  return [node.type === 'StringCallExpression' ? node.argument : node.arguments];
}

export function argumentsOpen(context: Context, node: CallNode): boolean {
  if (node.type !== 'CallExpression') return false;
  return isOpen(context, node.arguments, rangeOf(node)[1], 1);
}

function compileArguments(context: Context, node: CallNode): EvaluateList {
  return compileList(context, argumentNodes(node), argumentsOpen(context, node));
}

/** Compiles a call of a library function that is known at compile time: no lookup at run time. */
function compileBuiltinCall(
  context: Context,
  node: CallNode,
  builtin: Builtin,
  site: CallSite,
): EvaluateResults {
  const { run } = builtin;
  const args = compileArguments(context, node);
  return (frame) => {
    const values = args(frame);
    state.site = site;
    state.fuel -= 1;
    if (state.fuel < 0) refuel();
    return run(values);
  };
}

/** Compiles a call with up to three arguments, which are stored directly in the callee's frame. */
function compileShortCall(
  context: Context,
  base: Expression,
  args: readonly Expression[],
  site: CallSite,
): EvaluateResults {
  const callee = compileExpression(context, base);
  const name = describe(context, base);
  const [first, second, third] = args.map((node) => compileExpression(context, node));
  switch (args.length) {
    case 0:
      return (frame) => {
        const target = callee(frame);
        if (!(target instanceof Closure) || target.prototype.varargSlot >= 0) {
          return callValue(target, [], site, name);
        }
        return enter(target, target.prototype.template.slice(), site);
      };
    case 1:
      return (frame) => {
        const target = callee(frame);
        const a = first!(frame);
        if (!(target instanceof Closure) || target.prototype.varargSlot >= 0) {
          return callValue(target, [a], site, name);
        }
        const next = target.prototype.template.slice();
        next[0] = a;
        return enter(target, next, site);
      };
    case 2:
      return (frame) => {
        const target = callee(frame);
        const a = first!(frame);
        const b = second!(frame);
        if (!(target instanceof Closure) || target.prototype.varargSlot >= 0) {
          return callValue(target, [a, b], site, name);
        }
        const next = target.prototype.template.slice();
        next[0] = a;
        next[1] = b;
        return enter(target, next, site);
      };
    default:
      return (frame) => {
        const target = callee(frame);
        const a = first!(frame);
        const b = second!(frame);
        const c = third!(frame);
        if (!(target instanceof Closure) || target.prototype.varargSlot >= 0) {
          return callValue(target, [a, b, c], site, name);
        }
        const next = target.prototype.template.slice();
        next[0] = a;
        next[1] = b;
        next[2] = c;
        return enter(target, next, site);
      };
  }
}

function compileMethodCall(
  context: Context,
  node: CallNode,
  base: luaparse.MemberExpression,
  site: CallSite,
): EvaluateResults {
  const object = compileExpression(context, base.base);
  const objectName = describe(context, base.base);
  const { name } = base.identifier;
  const args = compileArguments(context, node);
  const description = `method '${name}'`;
  return (frame) => {
    const self = object(frame);
    let target = self instanceof LuaTable ? self.getString(name) : undefined;
    if (target === undefined) target = index(self, name, site, objectName);
    return callValue(target, [self, ...args(frame)], site, description);
  };
}
