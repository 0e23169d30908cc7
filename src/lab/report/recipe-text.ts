import type { Recipe } from '../index.ts';
import { PSEUDO_CODE } from './pseudo-code.ts';
import { scriptsOf } from './scripts.ts';

/** The pseudo-code of a variant, followed by the scripts that it names: a text that `parseRecipe` takes. */
export function recipeText(recipe: Recipe, variant: string): string {
  const code = PSEUDO_CODE.get(`${recipe.name} ${variant}`) ?? PSEUDO_CODE.get(recipe.name) ?? '';
  const scripts = [...scriptsOf(recipe)]
    .filter(([title]) => code.includes(`<${title}>`))
    .map(([title, text]) => `script <${title}>\n${text.slice(text.indexOf('\n') + 1)}`);
  return [code, ...scripts].join('\n\n');
}

/** False for the library and for a clock in milliseconds: their pseudo-code is for reading only. */
export function isRunnable({ name }: Recipe): boolean {
  return !name.startsWith('holdfast-') && !PSEUDO_CODE.get(name)?.includes('unix time in ms');
}
