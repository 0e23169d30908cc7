import { LabError } from './lab-error.ts';
import { named } from './nearest.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import type { Algorithm, Variant } from './recipe.ts';
import { RECIPES } from './recipes/index.ts';

/** An algorithm, one of its variants, and the world to run it in. */
export interface Setting {
  readonly recipe: Algorithm;
  readonly variant: Variant;
  readonly world: WorldOptions;
}

/** For an algorithm that says nothing of itself: nothing may fail. */
const OWN: Variant = { name: 'own', about: { en: '', zh: '' }, world: {}, fails: [] };

/** What the wishes of a caller come to. What is not wished for is as the variant says. */
export function settle(
  wished: Algorithm | string,
  { variant: name, ...wishes }: Partial<WorldOptions> & { readonly variant?: string },
  usual: Partial<WorldOptions> = {},
): Setting {
  const recipe = typeof wished === 'string' ? named('recipe', wished, RECIPES) : wished;
  const { variants = [] } = recipe;
  const known = variants.length === 0 ? [OWN] : variants;
  if (variants.length === 0 && name !== undefined && name !== OWN.name) {
    throw new LabError(`${recipe.name} has no variants, and so none called "${name}"`);
  }
  const variant = name === undefined ? known[0]! : named('variant', name, known);
  return { recipe, variant, world: worldOptions(wishes, variant.world, usual) };
}
