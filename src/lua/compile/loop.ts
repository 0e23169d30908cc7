import type luaparse from 'luaparse';
import { refuel, spend } from '../budget.ts';
import { callValue } from '../call.ts';
import { LuaError, runtimeError } from '../error.ts';
import { nextBuiltin } from '../lib/next.ts';
import { toNumber } from '../number.ts';
import { endLine, rangeOf, startLine } from '../parse.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { CallSite, Frame, LuaValue } from '../value.ts';
import { Box } from '../value.ts';
import type { Context } from './context.ts';
import { isOpen, siteAt } from './context.ts';
import { compileExpression, compileList } from './expression.ts';
import type { Execute, Store } from './statement.ts';
import { BREAK, compileBlock, compileDeclaration, NEXT, RETURN } from './statement.ts';

/** Compiles `for i = from, to, step do`. */
export function compileForTo(context: Context, node: luaparse.ForNumericStatement): Execute {
  const start = compileExpression(context, node.start);
  const end = compileExpression(context, node.end);
  const stride = node.step === null ? () => 1 : compileExpression(context, node.step);
  const body = compileBlock(context, node.body);
  const variable = context.resolution.variables.get(node.variable)!;
  const { slot, isCaptured } = variable;
  const site = siteAt(context, endLine(node.step ?? node.end));
  return (frame) => {
    const from = start(frame);
    const to = end(frame);
    const by = stride(frame);
    const initial = bound(from, 'initial value', site);
    const limit = bound(to, 'limit', site);
    const step = bound(by, 'step', site);
    for (let at = firstTurn(initial, step); step > 0 ? at <= limit : limit <= at; at += step) {
      state.fuel -= 1;
      if (state.fuel < 0) refuel();
      if (isCaptured) (frame as unknown[])[slot] = new Box(at);
      else frame[slot] = at;
      const completion = body(frame);
      if (completion === BREAK) break;
      if (completion === RETURN) return RETURN;
    }
    return NEXT;
  };
}

/** C Lua subtracts the step before the loop and adds it in the first iteration, which rounds fractions. */
export function firstTurn(initial: number, step: number): number {
  return initial - step + step;
}

export function bound(value: LuaValue, what: string, site: CallSite): number {
  const number = toNumber(value);
  if (number === undefined) throw runtimeError(site, `'for' ${what} must be a number`);
  return number;
}

/** Compiles `for k, v in iterator, state, first do`. */
export function compileForIn(context: Context, node: luaparse.ForGenericStatement): Execute {
  const open = isOpen(context, node.iterators, rangeOf(node)[1], 0);
  const control = compileList(context, node.iterators, open);
  const stores = node.variables.map((variable) => compileDeclaration(context, variable));
  const body = compileBlock(context, node.body);
  const site = siteAt(context, startLine(node));
  return (frame) => {
    const [iterator, subject, first] = control(frame);
    if (iterator === nextBuiltin && subject instanceof LuaTable) {
      return walkTable(frame, subject, first, stores, body);
    }
    return iterate(frame, iterator, subject, first, stores, body, site);
  };
}

function iterate(
  frame: Frame,
  iterator: LuaValue,
  subject: LuaValue,
  first: LuaValue,
  stores: readonly Store[],
  body: Execute,
  site: CallSite,
) {
  let control = first;
  for (;;) {
    const results = callValue(iterator, [subject, control], site, undefined);
    if (Array.isArray(results)) {
      control = results[0];
      if (control === undefined) return NEXT;
      for (let at = 0; at < stores.length; at++) stores[at]!(frame, results[at]);
    } else {
      control = results;
      if (control === undefined) return NEXT;
      stores[0]!(frame, control);
      for (let at = 1; at < stores.length; at++) stores[at]!(frame, undefined);
    }
    const completion = body(frame);
    if (completion === BREAK) return NEXT;
    if (completion === RETURN) return RETURN;
  }
}

/**
 * `for k, v in pairs(t)` without the calls to `next`. The iteration keeps a place in the table. When an
 * assignment in the body has changed the layout, it looks up its key again, as `next` would.
 */
function walkTable(
  frame: Frame,
  table: LuaTable,
  from: LuaValue,
  stores: readonly Store[],
  body: Execute,
) {
  let key = from;
  let layout: unknown;
  let place = 0;
  const [storeKey, storeValue] = stores;
  for (;;) {
    const current = table.layout();
    if (current !== layout) {
      place = findPlace(table, key);
      layout = current;
    }
    const next = table.advance(place);
    spend(1 + (((next < 0 ? table.capacity() : next) - place) >>> 3));
    if (next < 0) return NEXT;
    place = next;
    key = table.keyAt(place);
    storeKey!(frame, key);
    if (storeValue !== undefined) storeValue(frame, table.valueAt(place));
    for (let at = 2; at < stores.length; at++) stores[at]!(frame, undefined);
    const completion = body(frame);
    if (completion === BREAK) return NEXT;
    if (completion === RETURN) return RETURN;
  }
}

function findPlace(table: LuaTable, key: LuaValue): number {
  const place = table.placeOf(key);
  if (place === undefined) throw new LuaError("invalid key to 'next'", state.site);
  return place;
}
