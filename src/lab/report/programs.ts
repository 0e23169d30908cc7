import { readdirSync, readFileSync } from 'node:fs';

/** A recipe as a program in some language. */
interface Program {
  /** The file, in letters that an id of a page may have. */
  readonly id: string;
  /** The language, and in brackets how this program differs from the recipe. */
  readonly title: string;
  readonly code: string;
}

/** The programs that the package brings for a recipe, in the order of LANGUAGES. */
export function programsOf(recipe: string): Program[] {
  const files = readdirSync(FOLDER).filter((file) => file.startsWith(`${recipe}.`));
  return [...LANGUAGES].flatMap(([ending, language]) =>
    files
      .filter((file) => file.endsWith(`.${ending}`))
      .sort((one, other) => one.length - other.length)
      .map((file) => ({
        id: file.replaceAll('.', '-'),
        title: [language, ...file.split('.').slice(1, -1).map(inBrackets)].join(' '),
        code: readFileSync(new URL(file, FOLDER), 'utf8').trimEnd(),
      })),
  );
}

/** As far from src/ as from dist/. */
const FOLDER = new URL('../../../examples/recipes/', import.meta.url);

const LANGUAGES: ReadonlyMap<string, string> = new Map([
  ['php', 'PHP'],
  ['py', 'Python'],
  ['java', 'Java'],
  ['lua', 'Lua'],
]);

function inBrackets(text: string): string {
  return `(${text})`;
}
