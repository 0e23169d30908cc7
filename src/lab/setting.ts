import { named } from './nearest.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import type { Recipe, Variant } from './recipe.ts';
import { RECIPES } from './recipes/index.ts';

/** A recipe, one of its variants, and the world to run it in. */
export interface Setting {
  readonly recipe: Recipe;
  readonly variant: Variant;
  readonly world: WorldOptions;
}

/** What the wishes of a caller come to. What is not wished for is as the variant says. */
export function settle(
  wished: Recipe | string,
  { variant: name, ...wishes }: Partial<WorldOptions> & { readonly variant?: string },
  usual: Partial<WorldOptions> = {},
): Setting {
  const recipe = typeof wished === 'string' ? named('recipe', wished, RECIPES) : wished;
  const [first] = recipe.variants;
  const variant = name === undefined ? first! : named('variant', name, recipe.variants);
  return { recipe, variant, world: worldOptions(wishes, variant.world, usual) };
}
