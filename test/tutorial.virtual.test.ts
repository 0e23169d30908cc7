import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECIPES } from '../src/lab/index.ts';
import findings from '../web/learn/findings.json' with { type: 'json' };
import { parseTutorial, repliesText, type Tutorial } from '../web/learn/tutorial/parse-tutorial.ts';
import { Terminal } from '../web/learn/tutorial/terminal.ts';

const ROOT = join(import.meta.dirname, '..');
const texts = ['docs/tutorial.md', 'docs/tutorial.zh-CN.md'].map((path) =>
  readFileSync(join(ROOT, path), 'utf8'),
);
const [english, chinese] = texts.map(parseTutorial) as [Tutorial, Tutorial];

function dialogues({ steps }: Tutorial) {
  return steps.map(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'dialogue' ? part.lines : [])),
  );
}

describe('the tutorial', () => {
  it('has ten steps with commands, the same in both languages', () => {
    expect(english.steps).toHaveLength(10);
    expect(dialogues(english).every((lines) => lines.length > 0)).toBe(true);
    expect(dialogues(chinese)).toEqual(dialogues(english));
  });

  it.each(english.steps.map(({ title }, at) => [title, at] as const))(
    'shows the replies of %s',
    (_, at) => {
      const terminal = new Terminal();
      for (const line of dialogues(english)[at]!) {
        const replies =
          line.kind === 'wait'
            ? repliesText(terminal.wait(line.seconds * 1000), null)
            : repliesText(terminal.run(line.client, line.command), line.client);
        expect(replies, JSON.stringify(line)).toBe(line.replies);
      }
      terminal.close();
    },
  );

  it('links to variants and steps of the lab that are there, the same in both languages', () => {
    const linked = texts.map((text) =>
      [...text.matchAll(/#\/recipe\/([\w-]+)\/([\w-]+)\/(\d+)\)/g)].map(([, ...parts]) => parts),
    );
    expect(linked[0]).toHaveLength(11);
    expect(linked[1]).toEqual(linked[0]);
    for (const [recipe, variant, step] of linked[0]!) {
      const known = RECIPES.find(({ name }) => name === recipe)?.variants.map(({ name }) => name);
      expect(known).toContain(variant);
      const { schedule } = findings[`${recipe} ${variant}` as keyof typeof findings];
      const steps = schedule.match(/[xzwl+-]?[a-h]|\./g)!.length;
      expect(Number(step)).toBeLessThanOrEqual(steps);
    }
  });
});
