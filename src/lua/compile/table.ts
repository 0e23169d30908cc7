import type luaparse from 'luaparse';
import { setIndex } from '../operators.ts';
import type { Expression } from '../parse.ts';
import { rangeOf } from '../parse.ts';
import { LuaTable } from '../table.ts';
import type { Frame, LuaValue } from '../value.ts';
import type { Context, Evaluate } from './context.ts';
import { isOpen, siteOf } from './context.ts';
import { compileExpression, compileList } from './expression.ts';

/** Compiles `{ ... }`. Keyed fields are set as they come, positional ones together at the end. */
export function compileTable(
  context: Context,
  node: luaparse.TableConstructorExpression,
): Evaluate {
  const positional = positionalFields(node);
  const open = opensLast(context, node);
  const arraySize = roundedSize(positional.length - (open ? 1 : 0));
  if (positional.length === node.fields.length) {
    const items = compileList(context, positional, open);
    if (!open) return (frame) => LuaTable.fromConstructor(items(frame), arraySize);
    return (frame) => LuaTable.fromConstructor(items(frame).slice(), arraySize);
  }
  const hashSize = roundedSize(node.fields.length - positional.length);
  const fields = compileFields(context, node, open);
  return (frame) => {
    const table = new LuaTable(arraySize, hashSize);
    const items: LuaValue[] = [];
    for (let at = 0; at < fields.length; at++) fields[at]!(frame, table, items);
    if (items.length > 0) table.setConstructorItems(items);
    return table;
  };
}

export function positionalFields(node: luaparse.TableConstructorExpression): Expression[] {
  return node.fields.filter((field) => field.type === 'TableValue').map((field) => field.value);
}

/** Whether the last field is a call or `...` that gives all its values. */
export function opensLast(context: Context, node: luaparse.TableConstructorExpression): boolean {
  const last = node.fields.at(-1);
  if (last?.type !== 'TableValue') return false;
  return isOpen(context, [last.value], rangeOf(last)[1], 0);
}

type AddField = (frame: Frame, table: LuaTable, items: LuaValue[]) => void;

function compileFields(
  context: Context,
  node: luaparse.TableConstructorExpression,
  open: boolean,
): AddField[] {
  const last = node.fields.length - 1;
  return node.fields.map((field, at) =>
    open && at === last ? compileOpenField(context, field.value) : compileField(context, field),
  );
}

type Field = luaparse.TableConstructorExpression['fields'][number];

function compileField(context: Context, field: Field): AddField {
  const value = compileExpression(context, field.value);
  if (field.type === 'TableValue') return (frame, _, items) => items.push(value(frame));
  if (field.type === 'TableKeyString') {
    const { name } = field.key;
    return (frame, table) => table.setString(name, value(frame));
  }
  const key = compileExpression(context, field.key);
  const site = siteOf(context, field.value);
  return (frame, table) => {
    const at = key(frame);
    setIndex(table, at, value(frame), site, undefined);
  };
}

function compileOpenField(context: Context, node: Expression): AddField {
  const values = compileList(context, [node], true);
  return (frame, _, items) => {
    for (const value of values(frame)) items.push(value);
  };
}

/** C Lua stores a constructor's sizes in one byte each, with a mantissa of three bits. */
export function roundedSize(size: number): number {
  let mantissa = size;
  let exponent = 0;
  while (mantissa >= 16) {
    mantissa = (mantissa + 1) >> 1;
    exponent += 1;
  }
  return mantissa << exponent;
}
