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

/** For an algorithm without variants: no check may fail. */
const OWN: Variant = { name: 'own', about: { en: '', zh: '' }, world: {}, fails: [] };

/** Resolves recipe, variant and world. Overrides win over the variant's world, which wins over `defaults`. */
export function settingOf(
  requested: Algorithm | string,
  { variant: name, ...overrides }: Partial<WorldOptions> & { readonly variant?: string },
  defaults: Partial<WorldOptions> = {},
): Setting {
  const recipe = typeof requested === 'string' ? named('recipe', requested, RECIPES) : requested;
  const { variants = [] } = recipe;
  const known = variants.length === 0 ? [OWN] : variants;
  if (variants.length === 0 && name !== undefined && name !== OWN.name) {
    throw new LabError(`${recipe.name} has no variants, and so none called "${name}"`);
  }
  const variant = name === undefined ? known[0]! : named('variant', name, known);
  return { recipe, variant, world: worldOptions(overrides, variant.world, defaults) };
}
