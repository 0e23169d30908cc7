import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../clock/index.ts';
import {
  type Algorithm,
  type Exploration,
  explore,
  LabError,
  parseRecipe,
  RECIPES,
  type Recipe,
  type Tools,
  type WorldOptions,
} from '../index.ts';
import { PSEUDO_CODE } from './pseudo-code.ts';
import { recipeText } from './recipe-text.ts';
import { scriptsOf, sentAlone } from './scripts.ts';

/** `npm run search:lab` compares the whole worlds of the recipes. */
const isWholeSearch = process.env['HOLDFAST_LAB'] === 'whole';

/** A command as a list of arguments. `isValue` marks those that come from a variable of the recipe. */
type Words = readonly { readonly text: string; readonly isValue: boolean }[];

const SENT = new Map(RECIPES.map((recipe) => [recipe, sentBy(recipe)]));

/** All commands that a recipe sends in small worlds with pauses, each once. A client that crashes sends none. */
function sentBy(recipe: Recipe): Words[] {
  const sent = new Map<string, Words>();
  const note = (words: Words): void => {
    sent.set(JSON.stringify(words), words);
  };
  const client = (tools: Tools) => recipe.client(listening(tools, note));
  const world = { clients: 2, crashes: 0, pauses: 1 };
  for (const { name: variant, world: own } of recipe.variants) {
    // The commands do not depend on the checks, and one check is the fastest.
    const ticks = fourSeconds(own);
    explore({ ...recipe, client }, { ...world, ticks, variant, checks: ['two-inside'] });
  }
  return [...sent.values()];
}

/** Enough ticks for a lease to end and for another client to take the lock. */
function fourSeconds({ tickMs, ticks }: Partial<WorldOptions>): number {
  return tickMs === undefined ? 4 : ticks!;
}

function listening(tools: Tools, note: (words: Words) => void): Tools {
  return {
    ...tools,
    command(literals, ...values) {
      const words = literals.flatMap((literal, at) => [
        ...plain(literal),
        ...(at < values.length ? [{ text: String(values[at]), isValue: true }] : []),
      ]);
      note(words);
      return tools.command(literals, ...values);
    },
    transaction(...commands) {
      for (const command of ['MULTI', ...commands, 'EXEC']) note(plain(command));
      return tools.transaction(...commands);
    },
  };
}

function plain(text: string): Words {
  const words = text.split(' ').filter((word) => word !== '');
  return words.map((word) => ({ text: word, isValue: false }));
}

/** The commands of a pseudo-code: from an upper-case word to the end of the line, or to `gives`. */
function commandsIn(code: string): string[] {
  const pattern =
    /\b(?:MULTI|EXEC|EVAL|EXPIRE|TTL|(?:GET)?SET(?:NX)?|GET|DEL)\b(?! gave).*?(?= gives|$)/gm;
  return code.replaceAll(/\n +(?=\S+(?: \d+ take")? owner 2000)/g, ' ').match(pattern) ?? [];
}

/** Returns true if a line of pseudo-code is this command, with variable names in place of values. */
function isSame(line: string, words: Words): boolean {
  const parts = line.match(/<[^>]*>|"[^"]*"|\S+/g) ?? [];
  return parts.length === words.length && parts.every((part, at) => standsFor(part, words[at]!));
}

function standsFor(part: string, { text, isValue }: Words[number]): boolean {
  if (part === text) return true;
  if (part.startsWith('<')) return isValue && text.startsWith(`-- ${part.slice(1, -1)}\n`);
  if (!part.startsWith('"')) return isValue && NAMES.has(part);
  const [inner, actual] = [part.slice(1, -1).split(' '), text.split(' ')];
  return inner.every((word, at) => word === actual[at] || NAMES.has(word));
}

const NAMES: ReadonlySet<string> = new Set(
  'token owner expiry found take operation number'.split(' '),
);

/** The pseudo-code of a variant, or that of its recipe. */
function codeOf({ name }: Recipe, variant: string): string {
  return PSEUDO_CODE.get(`${name} ${variant}`) ?? PSEUDO_CODE.get(name)!;
}

/** Recipes whose pseudo-code `parseRecipe` cannot parse, and why. */
const ONLY_FOR_READING: Readonly<Record<string, string>> = {
  'timestamp-getset at-or-before': 'the lease is shorter than what the value of the key says',
  'timestamp-getset without-plus-one': 'the same',
  'timestamp-getset-slow late-losers': 'times in milliseconds',
};

describe('the pseudo-code', () => {
  it('exists for every recipe and no other name', () => {
    const names = [...PSEUDO_CODE.keys()].filter((name) => !name.includes(' '));
    expect(names).toEqual(RECIPES.map(({ name }) => name));
    const variants = RECIPES.flatMap((recipe) =>
      recipe.variants.map(({ name }) => `${recipe.name} ${name}`),
    );
    for (const name of PSEUDO_CODE.keys()) if (name.includes(' ')) expect(variants).toContain(name);
  });

  it.each(RECIPES)('of $name has exactly the commands that the recipe sends', (recipe) => {
    const commands = recipe.variants.flatMap(({ name }) => commandsIn(codeOf(recipe, name)));
    const sent = SENT.get(recipe)!;
    const unwritten = sent.filter((words) => !commands.some((line) => isSame(line, words)));
    const unsent = commands.filter((line) => !sent.some((words) => isSame(line, words)));
    expect({ unwritten, unsent }).toEqual({ unwritten: [], unsent: [] });
    expect(sent.length).toBeGreaterThan(1);
  });

  it.each(RECIPES)(
    'of $name has its commands in the order in which a single client sends them',
    (recipe) => {
      for (const { name: variant } of recipe.variants) {
        const lines = commandsIn(codeOf(recipe, variant));
        for (const argv of sentAlone(recipe.name, variant)) {
          const words = argv.map((text) => ({ text, isValue: true }));
          const at = lines.findIndex((line) => isSame(line, words));
          expect(at, `${argv.join(' ')} in ${lines.join('; ')}`).toBeGreaterThanOrEqual(0);
          // A loop may send the same command again.
          lines.splice(0, at);
        }
      }
    },
  );

  it('of the library has the operations that the library sends', () => {
    for (const recipe of RECIPES.filter(({ name }) => name.startsWith('holdfast-'))) {
      const asked = PSEUDO_CODE.get(recipe.name)!.match(/(?<=request )(?!operation)\w+/g);
      const sent = SENT.get(recipe)!.map((words) => words[4]!.text.split(' ')[0]);
      expect(new Set(asked)).toEqual(new Set(sent));
    }
  });

  it('names scripts by the first lines of the scripts that are sent', () => {
    for (const recipe of RECIPES) {
      const codes = recipe.variants.map(({ name }) => codeOf(recipe, name));
      const named = new Set(codes.join('\n').match(/(?<=EVAL <)[^>]*/g));
      expect([...scriptsOf(recipe).keys()].sort()).toEqual([...named].sort());
    }
    const fenced = scriptsOf(RECIPES.find(({ name }) => name === 'fenced')!);
    expect(fenced.get('set nx px, and the next fence')).toContain("redis.call('incr', KEYS[2])");
  });
});

describe('the pseudo-code as a program', () => {
  const textbook = RECIPES.filter(({ name }) => !name.startsWith('holdfast-')).flatMap((recipe) =>
    recipe.variants
      .filter(({ name }) => ONLY_FOR_READING[`${recipe.name} ${name}`] === undefined)
      .map(({ name: variant }) => ({ recipe, variant })),
  );

  it.each(textbook)(
    'of $recipe.name, $variant, does what the recipe does',
    ({ recipe, variant }) => {
      const program = recipeText(recipe, variant);
      const parsed = { ...parseRecipe(program, recipe.name), variants: recipe.variants };
      expect(parsed.lockKey).toBe(recipe.lockKey);
      const { world } = recipe.variants.find(({ name }) => name === variant)!;
      const ticks = isWholeSearch ? {} : { ticks: fourSeconds(world) };
      expect(found(parsed, variant, ticks)).toEqual(found(recipe, variant, ticks));
    },
  );

  it('throws a LabError or runs to its end after random damage', () => {
    const random = seededRandom(7);
    const pick = (count: number): number => Math.floor(random.next() * count);
    const programs = [
      ...new Set(textbook.map(({ recipe, variant }) => recipeText(recipe, variant))),
    ];
    const words = programs.join(' ').match(/\S+|\n *| /g)!;
    const errors = new Set<string>();
    for (let round = 0; round < 3000; round++) {
      const parts = programs[pick(programs.length)]!.match(/\S+|\n *| /g)!;
      for (let change = pick(3); change >= 0; change--) {
        const at = pick(parts.length);
        parts.splice(at, pick(2), ...(pick(2) === 0 ? [] : [words[pick(words.length)]!]));
      }
      try {
        const recipe = parseRecipe(parts.join(''), 'damaged');
        explore(recipe, { clients: 1, ticks: 2, pauses: 0, checks: ['two-inside'] });
      } catch (error) {
        expect(error, parts.join('')).toBeInstanceOf(LabError);
        errors.add((error as LabError).message.replaceAll(/\d+|"[^"]*"/g, ''));
      }
    }
    expect(errors.size).toBeGreaterThan(30);
  });

  function found(
    recipe: Algorithm,
    variant: string,
    world: Partial<WorldOptions>,
  ): Partial<Exploration> {
    const { verdicts, states, moves, interleavings, isComplete } = explore(recipe, {
      variant,
      ...world,
    });
    return { verdicts, states, moves, interleavings, isComplete };
  }
});
