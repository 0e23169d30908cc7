import { COMMANDS } from '../../engine/index.ts';
import { findByWords, titleOf } from './command-help.ts';

/** The completions of the Tab key for a line. */
interface Completion {
  /** Completed lines. */
  readonly lines: readonly string[];
  /** The arguments of the command that is already named; empty when there is none to show. */
  readonly hint: string;
}

/** Completes the names of commands and subcommands; after the name there is a hint of the arguments. */
export function complete(line: string): Completion {
  const words = line.trimStart().split(/\s+/);
  const last = words.pop()!;
  if (words.length === 0) return offer([], [...COMMANDS.keys()], last);
  const found = findByWords(words);
  if (found === undefined) return NOTHING;
  const { command, wordCount } = found;
  if (wordCount === words.length && command.subcommands !== undefined) {
    return offer(words, [...command.subcommands.keys()], last);
  }
  return { lines: [], hint: `${titleOf(command)} ${command.facts.syntax}`.trimEnd() };
}

const NOTHING: Completion = { lines: [], hint: '' };

/** Completes in upper case, unless the typed part is in lower case. */
function offer(before: readonly string[], names: readonly string[], typed: string): Completion {
  const isLower = typed !== '' && typed === typed.toLowerCase();
  const matches = names.filter((name) => name.startsWith(typed.toLowerCase())).sort();
  const lines = matches.map((name) =>
    [...before, isLower ? name : name.toUpperCase(), ''].join(' '),
  );
  return { lines, hint: '' };
}
