import { describe, expect, it } from 'vitest';
import { RECIPES } from '../src/lab/index.ts';
import findings from '../web/learn/findings.json' with { type: 'json' };
import { faultOf, runSchedule, searchAll } from '../web/learn/lab/laboratory.ts';

type Finding = { check: string | null; schedule: string; states: number; interleavings: string };

const all = new Map<string, Finding>(Object.entries(findings));
const variants = RECIPES.flatMap((recipe) =>
  recipe.variants.map(({ name }) => [recipe.name, name] as const),
);

describe('the runs that the page shows first', () => {
  it('are there for every variant, and for no other', () => {
    expect([...all.keys()]).toEqual(variants.map((names) => names.join(' ')));
  });

  it.each(variants)(
    '%s %s: its run fails as it says, and its steps have lines',
    (recipe, variant) => {
      const { check, schedule } = all.get(`${recipe} ${variant}`)!;
      const run = runSchedule({ kind: 'gallery', recipe, variant }, {}, schedule);
      expect(run.schedule).toBe(schedule);
      const failed = run.violations.map((violation) => violation.check);
      if (check === null) expect(failed).toEqual([]);
      else expect(failed).toContain(check);
      if (recipe.startsWith('holdfast-') || recipe === 'timestamp-getset-slow') return;
      for (const [at, { kind }] of run.trace.entries()) {
        expect(run.lines[at] !== null).toBe(kind === 'step' || kind === 'lose');
      }
    },
  );

  it('have the counts of a search', () => {
    const source = { kind: 'gallery', recipe: 'set-nx-px-lua-del', variant: 'no-pause' } as const;
    const found = searchAll(source, {}, () => {});
    const { states, interleavings } = all.get('set-nx-px-lua-del no-pause')!;
    expect(found).toMatchObject({ states, interleavings: BigInt(interleavings), failure: null });
  });
});

describe('the line of a step', () => {
  const text = 'until SETNX lock 1 gives 1\n    sleep 1 s\nhold lock\n    work\nDEL lock';

  it('is that of the statement that sends the command', () => {
    expect(runSchedule({ kind: 'text', text }, {}, 'a.aa').lines).toEqual([1, null, 4, 5]);
  });

  it('is that of the error, if the text is wrong', () => {
    const wrong = { kind: 'text', text: text.replace('sleep', 'slep') } as const;
    expect(() => runSchedule(wrong, {}, '')).toThrow();
    try {
      runSchedule(wrong, {}, '');
    } catch (error) {
      expect(faultOf(error)).toMatchObject({ line: 2, column: 5 });
    }
  });
});
