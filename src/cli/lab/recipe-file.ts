import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type Algorithm, parseRecipe, RECIPES } from '../../lab/index.ts';
import { UsageError } from '../verb.ts';

/** A recipe of the gallery by its name, or that of a file. No name in the gallery has a dot or a slash. */
export function recipeNamed(word: string): Algorithm | string {
  if (isFile(word)) return parseRecipe(textIn(word), word);
  const isKnown = RECIPES.some(({ name }) => name === word);
  if (!isKnown && statSync(word, { throwIfNoEntry: false })?.isFile()) {
    throw new UsageError(
      `The gallery has no recipe ${word}. For the file of that name, write ./${word}.`,
    );
  }
  return word;
}

export function isFile(word: string): boolean {
  return /[./]/.test(word);
}

/** A larger file is no recipe, and may be endless. */
const MAX_BYTES = 65_536;
const CODE = /\.[cm]?[jt]s$/;

function textIn(path: string): string {
  if (CODE.test(path)) {
    throw new UsageError(
      `${path}: a recipe in JavaScript is run by explore() of holdfast/lab; this takes one as plain text (docs/lab.md has both).`,
    );
  }
  const bytes = bytesIn(path);
  if (bytes.length > MAX_BYTES) {
    throw new UsageError(`${path} is larger than ${MAX_BYTES} bytes: that is no recipe.`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${path} is not plain text in UTF-8: save the recipe as such.`);
  }
}

/** The bytes of the file, at most one more than the maximum. */
function bytesIn(path: string): Buffer {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw new UsageError(REASONS.get(code)?.(path) ?? `${path} cannot be read (${code}).`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const REASONS: ReadonlyMap<string, (path: string) => string> = new Map([
  [
    'ENOENT',
    (path) => `There is no file ${path}. Names of the gallery have no dot: see holdfast lab.`,
  ],
  ['EISDIR', (path) => `${path} is a folder: name the file with the recipe in it.`],
]);
