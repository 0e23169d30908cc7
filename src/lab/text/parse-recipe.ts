import { LabError } from '../lab-error.ts';
import type { Algorithm, Variant } from '../recipe.ts';
import { interpret } from './interpret.ts';
import { readLines } from './lines.ts';
import { parseProgram } from './parse-program.ts';

/**
 * Parses a recipe in the lab's language, which docs/lab.md describes. Errors and reports show `name`, for
 * example the file name.
 *
 * @throws LabError with line, column, what was found there and what was expected.
 * @example explore(parseRecipe(readFileSync('my-recipe.txt', 'utf8'), 'my-recipe.txt'))
 */
export function parseRecipe(text: string, name: string): Algorithm {
  const { program, scripts } = readLines(text, name);
  const { statements, variants, lock } = parseProgram(program, scripts, name);
  return {
    name,
    lockKey: lock.key,
    ...(lock.hasEndInValue && { leaseEnd: endIn(lock.key, name) }),
    ...(variants.length > 0 && { variants: variants.map(variantOf) }),
    client: (tools) => interpret(statements, tools, name),
  };
}

function variantOf(name: string): Variant {
  return { name, about: { en: '', zh: '' }, world: {}, fails: [] };
}

/** For `hold lock.foo until expiry`: the key's value is the end of the lease. */
function endIn(key: string, name: string): (value: string) => number {
  return (value) => {
    const end = Number(value);
    if (value !== '' && Number.isFinite(end)) return end;
    throw new LabError(
      `${name} holds ${key} until a Unix time, and so the value of ${key} must be one, not "${value}"; ` +
        `if its TTL is the end of the lease, write: hold ${key} for 2 s`,
    );
  };
}
