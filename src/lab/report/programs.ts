import { readdirSync, readFileSync } from 'node:fs';

/** A recipe as a program in some language. */
interface Program {
  /** The file name, as a valid HTML id. */
  readonly id: string;
  /** The language, and in brackets how this program differs from the recipe. */
  readonly title: string;
  readonly code: string;
}

/** The programs in examples/recipes/ for a recipe, in the order of LANGUAGES. */
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

/** The same relative path from src/ and from dist/. The trailing slash is needed to resolve file names. */
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
