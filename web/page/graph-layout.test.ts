import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placesOf } from './graph-layout.ts';

describe('placesOf', () => {
  it('puts a chain into one row', () => {
    const places = placesOf(3, [
      { from: 0, to: 1 },
      { from: 1, to: 2 },
    ]);
    expect(places).toEqual([
      { layer: 0, row: 0 },
      { layer: 1, row: 0 },
      { layer: 2, row: 0 },
    ]);
  });

  it('orders a layer by its neighbours, so that edges do not cross', () => {
    // 0 → 3 and 1 → 2: with 2 above 3 they would cross.
    const places = placesOf(4, [
      { from: 0, to: 3 },
      { from: 1, to: 2 },
    ]);
    expect(places[3]!.row).toBe(places[0]!.row);
    expect(places[2]!.row).toBe(places[1]!.row);
  });

  it('has one edge that leads back for a ring', () => {
    const edges = [0, 1, 2, 3].map((from) => ({ from, to: (from + 1) % 4 }));
    const places = placesOf(4, edges);
    const back = edges.filter(({ from, to }) => places[to]!.layer <= places[from]!.layer);
    expect(back).toEqual([{ from: 3, to: 0 }]);
  });

  it('gives each node of any graph a place of its own', () => {
    const node = fc.nat({ max: 29 });
    fc.assert(
      fc.property(fc.array(fc.record({ from: node, to: node }), { maxLength: 80 }), (edges) => {
        const places = placesOf(30, edges);
        const keys = places.map(({ layer, row }) => `${layer} ${row}`);
        expect(new Set(keys).size).toBe(30);
      }),
    );
  });
});
