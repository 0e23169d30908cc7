import { describe, expect, it } from 'vitest';
import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

function keysOf(table: LuaTable): LuaValue[] {
  const keys: LuaValue[] = [];
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) keys.push(table.keyAt(at));
  return keys;
}

describe('a table', () => {
  it('distinguishes numbers from their string forms', () => {
    const table = new LuaTable();
    table.set(1, 'number');
    table.set('1', 'string');
    expect([table.get(1), table.get('1')]).toEqual(['number', 'string']);
  });

  it('treats minus zero as zero, and has no value for NaN', () => {
    const table = new LuaTable();
    table.set(0, 'zero');
    expect(table.get(-0)).toBe('zero');
    expect(table.get(Number.NaN)).toBeUndefined();
  });

  it('does not treat fractions and large numbers as array items', () => {
    const table = LuaTable.fromList(['a', 'b']);
    for (const key of [0, -1, 1.5, 3, 2 ** 32 + 1, 2 ** 53]) expect(table.get(key)).toBeUndefined();
    table.set(2 ** 32 + 1, 'far');
    expect([table.get(1), table.get(2 ** 32 + 1)]).toEqual(['a', 'far']);
  });

  it('has no values for names of JavaScript properties', () => {
    const table = new LuaTable();
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(table.get(name)).toBeUndefined();
      table.set(name, name);
      expect(table.get(name)).toBe(name);
    }
  });

  it('iterates in the order of C Lua, recorded from Redis', () => {
    const table = new LuaTable();
    for (const key of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']) {
      table.set(key, true);
    }
    expect(keysOf(table).join(' ')).toBe('four seven eight nine six two three five one');
  });

  it('continues an iteration while keys are removed', () => {
    const table = new LuaTable();
    for (let key = 0; key < 100; key++) table.set(`k${key}`, key);
    let seen = 0;
    for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
      table.set(table.keyAt(at), undefined);
      seen += 1;
    }
    expect(seen).toBe(100);
    expect(table.advance(-1)).toBe(-1);
  });

  it('returns every stored value, in any order of insertion', () => {
    const table = new LuaTable();
    const model = new Map<LuaValue, number>();
    let random = 1;
    const below = (limit: number) => {
      random = (random * 48271) % 2147483647;
      return random % limit;
    };
    for (let turn = 0; turn < 20_000; turn++) {
      const number = below(300);
      const key = [number, `s${number}`, number / 4, -number][below(4)]!;
      const value = below(3) === 0 ? undefined : turn;
      table.set(key, value);
      if (value === undefined) model.delete(key);
      else model.set(key, value);
    }
    for (const [key, value] of model) expect(table.get(key)).toBe(value);
    expect(new Set(keysOf(table))).toEqual(new Set(model.keys()));
  });

  it('has a border at the end of a list without holes', () => {
    const table = new LuaTable();
    for (let at = 1; at <= 100; at++) {
      table.set(at, at);
      expect(table.length()).toBe(at);
    }
    for (let at = 100; at >= 1; at--) {
      table.set(at, undefined);
      expect(table.length()).toBe(at - 1);
    }
  });
});
