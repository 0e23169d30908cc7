import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineHeap, NEVER } from './deadline-heap.ts';

/** A heap as a Map with a linear search. */
class Model {
  readonly deadlines = new Map<number, number>();

  set(slot: number, deadlineMs: number): void {
    if (deadlineMs === NEVER) this.deadlines.delete(slot);
    else this.deadlines.set(slot, deadlineMs);
  }

  /** The lowest slot with the earliest deadline, or -1. */
  first(): number {
    const earliestMs = Math.min(NEVER, ...this.deadlines.values());
    const slots = [...this.deadlines.keys()].filter(
      (slot) => this.deadlines.get(slot) === earliestMs,
    );
    return slots.length === 0 ? -1 : Math.min(...slots);
  }
}

function expectSame(heap: DeadlineHeap, model: Model, slots: number): void {
  expect(heap.size).toBe(model.deadlines.size);
  expect(heap.first()).toBe(model.first());
  for (let slot = 0; slot < slots; slot++) {
    expect(heap.get(slot)).toBe(model.deadlines.get(slot) ?? NEVER);
  }
}

function drained(heap: DeadlineHeap): number[] {
  const order: number[] = [];
  while (heap.size > 0) {
    const slot = heap.first();
    order.push(heap.get(slot));
    heap.set(slot, NEVER);
  }
  expect(heap.first()).toBe(-1);
  return order;
}

describe('DeadlineHeap', () => {
  const slot = fc.integer({ min: 0, max: 120 });
  const deadlineMs = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant(NEVER));
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ slot, deadlineMs }) },
    { weight: 1, arbitrary: fc.record({ from: slot, to: slot }) },
  );

  test('gives the results of a Map with a linear search', () => {
    const steps = fc.array(step, { maxLength: 400, size: 'max' });
    fc.assert(
      fc.property(steps, (taken) => {
        const heap = new DeadlineHeap();
        const model = new Model();
        for (const each of taken) {
          if ('slot' in each) {
            heap.set(each.slot, each.deadlineMs);
            model.set(each.slot, each.deadlineMs);
          } else if (each.from > each.to && !model.deadlines.has(each.to)) {
            const movedMs = model.deadlines.get(each.from) ?? NEVER;
            heap.move(each.from, each.to);
            model.set(each.from, NEVER);
            model.set(each.to, movedMs);
          }
          expect(heap.first()).toBe(model.first());
        }
        expectSame(heap, model, 130);
        const expected = [...model.deadlines.values()].sort((a, b) => a - b);
        expect(drained(heap)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('returns many slots in order of their deadlines', () => {
    const heap = new DeadlineHeap();
    const expected: number[] = [];
    for (let at = 0; at < 20_000; at++) {
      const endMs = (at * 7919) % 20_011;
      heap.set(at, endMs);
      expected.push(endMs);
    }
    expect(drained(heap)).toEqual(expected.sort((a, b) => a - b));
  });

  test('a slot beyond the array has no deadline until it is set', () => {
    const heap = new DeadlineHeap();
    expect(heap.get(1000)).toBe(NEVER);
    heap.set(1000, NEVER);
    heap.move(1000, 3);
    expect(heap.size).toBe(0);
    heap.set(1000, 5);
    expect(heap.first()).toBe(1000);
    expect(heap.get(999)).toBe(NEVER);
  });

  test('a deadline can move earlier, later and be removed', () => {
    const heap = new DeadlineHeap();
    for (let at = 0; at < 50; at++) heap.set(at, 100 + at);
    heap.set(30, 1);
    expect(heap.first()).toBe(30);
    heap.set(30, 1000);
    expect(heap.first()).toBe(0);
    heap.set(0, NEVER);
    expect(heap.first()).toBe(1);
    expect(heap.size).toBe(49);
  });
});
