import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

/** The one metatable of all strings; its __index is the string library. */
export const stringMetatable = new LuaTable();

export function metatableOf(value: LuaValue): LuaTable | undefined {
  if (value instanceof LuaTable) return value.metatable;
  return typeof value === 'string' ? stringMetatable : undefined;
}

export function metamethod(value: LuaValue, event: string): LuaValue {
  return metatableOf(value)?.getString(event);
}
