import { RECIPES } from '../../lab/index.ts';
import { type Io, print } from '../verb.ts';
import { Findings } from './findings.ts';
import { LIST_OPTIONS, readWords } from './lab-options.ts';
import { lookFor } from './session.ts';

/** `holdfast lab list`: the recipes and their variants. Searches nothing. */
export async function listRecipes(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(LIST_OPTIONS, [], args);
  if (values.help) return print(io, help);
  if (values.json) return print(io, JSON.stringify(RECIPES.map(recipeData), null, 2));
  const findings = new Findings(lookFor(values, io));
  for (const recipe of RECIPES) {
    const names = recipe.variants.map(({ name }) => name).join(', ');
    const variants = findings.say({ en: `variants: ${names}`, zh: `变体：${names}` });
    print(io, `${findings.recipe(recipe)}\n  ${variants}\n`);
  }
  return print(
    io,
    findings.say({
      en: 'holdfast lab run <recipe> searches one of them, holdfast lab all of them.',
      zh: 'holdfast lab run <recipe> 搜索其中一个，holdfast lab 搜索全部。',
    }),
  );
}

function recipeData({ name, about, variants }: (typeof RECIPES)[number]): object {
  return {
    name,
    about,
    variants: variants.map((each) => ({ name: each.name, about: each.about })),
  };
}
