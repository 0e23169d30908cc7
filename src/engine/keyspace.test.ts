import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NEVER } from './deadline-heap.ts';
import { Keyspace } from './keyspace.ts';

interface Entry {
  readonly value: string;
  readonly deadlineMs: number;
  readonly usedSeconds: number;
}

/** The entries of the keyspace, by key. */
function contents(keyspace: Keyspace): Map<string, Entry> {
  return new Map(
    keyspace.keys.map((key, slot) => [
      key,
      {
        value: keyspace.values[slot] as string,
        deadlineMs: keyspace.deadlines.get(slot),
        usedSeconds: keyspace.usedSeconds(slot),
      },
    ]),
  );
}

function insert(keyspace: Keyspace, key: string, entry: Entry): void {
  const slot = keyspace.insert(key, entry.value, entry.deadlineMs);
  keyspace.markUsed(slot, entry.usedSeconds);
}

describe('Keyspace', () => {
  const step = fc.record({
    key: fc.integer({ min: 0, max: 150 }).map((number) => `key${number}`),
    value: fc.string({ maxLength: 3 }),
    deadlineMs: fc.oneof(fc.integer({ min: 0, max: 99 }), fc.constant(NEVER)),
    usedSeconds: fc.integer({ min: 0, max: 1000 }),
  });

  test('gives the results of a Map, and its slots have no holes', () => {
    const steps = fc.array(step, { maxLength: 500, size: 'max' });
    fc.assert(
      fc.property(fc.integer(), steps, (seed, taken) => {
        const keyspace = new Keyspace(seed);
        const model = new Map<string, Entry>();
        for (const { key, ...entry } of taken) {
          expect(keyspace.find(key) >= 0).toBe(model.has(key));
          if (model.delete(key)) keyspace.remove(keyspace.find(key));
          else {
            model.set(key, entry);
            insert(keyspace, key, entry);
          }
        }
        expect(keyspace.size).toBe(model.size);
        expect(keyspace.values).toHaveLength(model.size);
        expect(contents(keyspace)).toEqual(model);
        for (const [slot, key] of keyspace.keys.entries()) expect(keyspace.find(key)).toBe(slot);
        const volatile = [...model.values()].filter(({ deadlineMs }) => deadlineMs !== NEVER);
        expect(keyspace.deadlines.size).toBe(volatile.length);
      }),
      { numRuns: 50 },
    );
  });

  test('the first deadline belongs to an existing key after any moves', () => {
    const keyspace = new Keyspace(1);
    for (let at = 0; at < 300; at++) keyspace.insert(`key${at}`, 'v', 1000 - at);
    const ended: string[] = [];
    for (let slot = keyspace.deadlines.first(); slot >= 0; slot = keyspace.deadlines.first()) {
      ended.push(keyspace.keys[slot]!);
      keyspace.remove(slot);
    }
    expect(ended).toEqual(Array.from({ length: 300 }, (_, at) => `key${299 - at}`));
  });

  test('entries only move to lower slots, as SCAN requires', () => {
    const slots = fc.array(fc.nat(), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(slots, (removals) => {
        const keyspace = new Keyspace(9);
        for (let at = 0; at < 80; at++) keyspace.insert(`key${at}`, 'v', NEVER);
        for (const removal of removals) {
          const before = new Map(keyspace.keys.map((key, slot) => [key, slot]));
          keyspace.remove(removal % keyspace.size);
          for (const [slot, key] of keyspace.keys.entries()) {
            expect(slot).toBeLessThanOrEqual(before.get(key)!);
          }
        }
      }),
    );
  });
});
