import { LabError } from '../lab-error.ts';
import { textFault } from './text-fault.ts';
import type { Place } from './tree.ts';

/** A line of the program with at least one word in it. */
export interface Line {
  readonly place: Place;
  /** Spaces before the first word. */
  readonly indent: number;
  readonly words: readonly Word[];
}

/** A word, a text in quotes without them, or the title of a script without its brackets. */
export interface Word {
  readonly kind: 'plain' | 'quoted' | 'script';
  readonly text: string;
  readonly place: Place;
}

export interface Sections {
  readonly program: readonly Line[];
  /** Lua by title, with the title as a comment in its first line. */
  readonly scripts: ReadonlyMap<string, string>;
}

/** Far more than a recipe needs. A longer text is probably the wrong file. */
const MAX_LENGTH = 65_536;

/** Splits a text into the lines of its program and its scripts. Throws LabError. */
export function readLines(text: string, file: string): Sections {
  if (text.length > MAX_LENGTH) {
    throw new LabError(
      `${file} has more than ${MAX_LENGTH} characters: that is not a recipe. Give the file with the recipe's text`,
    );
  }
  const rows = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  for (const [at, row] of rows.entries()) refuseUnseen(row, at + 1, file);
  const first = rows.findIndex((row) => SCRIPT_TITLE.test(row));
  const end = first < 0 ? rows.length : first;
  const program = rows.slice(0, end).flatMap((row, at) => lineOf(row, at + 1, file));
  if (program.length === 0) {
    throw new LabError(
      `${file} has no statement. Write how a client takes the lock, works and releases it: see "A recipe as plain text" in docs/lab.md`,
    );
  }
  return { program, scripts: scriptsIn(rows, end, file) };
}

const SCRIPT_TITLE = /^script <([^<>]+)>\s*$/;
/** Invalid UTF-8 and invisible characters: controls, direction marks, other line separators. */
const NOT_TEXT = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD]/u;

function refuseUnseen(row: string, line: number, file: string): void {
  const at = row.search(NOT_TEXT);
  if (at < 0) return;
  const code = row.codePointAt(at)!.toString(16).toUpperCase().padStart(4, '0');
  throw textFault(
    file,
    { line, column: at + 1 },
    `this is not plain text in UTF-8: U+${code} is not allowed in a recipe. Remove it`,
  );
}

function lineOf(row: string, number: number, file: string): Line[] {
  const indent = row.search(/\S|$/);
  const tab = row.slice(0, indent).indexOf('\t') + 1;
  if (tab > 0 && indent < row.length) {
    throw textFault(
      file,
      { line: number, column: tab },
      'a tab at the start of a line: indent by spaces, four a level',
    );
  }
  const words = wordsOf(row, number, file);
  return words.length === 0 ? [] : [{ place: words[0]!.place, indent, words }];
}

/** A quoted text, a script's title, a comment, or a word between spaces. */
const WORD = /\s*(?:"([^"]*)"(?!\S)|<([^<>=\s][^<>]*)>(?!\S)|(#.*)|(\S+))/gy;

function wordsOf(row: string, line: number, file: string): Word[] {
  const words: Word[] = [];
  for (const match of row.trimEnd().matchAll(WORD)) {
    const [all, quoted, script, comment, plain] = match;
    if (comment !== undefined) break;
    const place = { line, column: match.index + all.search(/\S/) + 1 };
    if (plain?.startsWith('"')) {
      throw textFault(file, place, `${plain}: a text in quotes ends with a quote and a space`);
    }
    if (quoted !== undefined) words.push({ kind: 'quoted', text: quoted, place });
    else if (script !== undefined) words.push({ kind: 'script', text: script, place });
    else words.push({ kind: 'plain', text: plain!, place });
  }
  return words;
}

/** Every script ends at the next title, or at the end of the text. */
function scriptsIn(rows: readonly string[], from: number, file: string): Map<string, string> {
  const scripts = new Map<string, string>();
  for (let at = from; at < rows.length; ) {
    const title = SCRIPT_TITLE.exec(rows[at]!)![1]!;
    const next = rows.findIndex((row, index) => index > at && SCRIPT_TITLE.test(row));
    const end = next < 0 ? rows.length : next;
    const body = undent(rows.slice(at + 1, end));
    const place = { line: at + 1, column: 1 };
    if (body === '') throw textFault(file, place, `script <${title}> has no text below it`);
    if (scripts.has(title)) {
      throw textFault(
        file,
        place,
        `there is a script <${title}> above: give this one another title`,
      );
    }
    scripts.set(title, `-- ${title}\n${body}`);
    at = end;
  }
  return scripts;
}

function undent(rows: readonly string[]): string {
  const filled = rows.filter((row) => row.trim() !== '');
  const indent = Math.min(...filled.map((row) => row.search(/\S/)));
  return rows
    .map((row) => row.slice(indent).trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}
