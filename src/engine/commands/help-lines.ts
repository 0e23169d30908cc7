import type { CommandTable } from '../command.ts';

/** What a container's HELP shows: a line of syntax and a line of summary for each subcommand. */
export function helpLines(container: string, subcommands: CommandTable): string[] {
  const lines = [`${container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`];
  for (const [word, { syntax, summary }] of Object.entries(subcommands)) {
    if (word !== 'HELP') lines.push(`${word} ${syntax}`.trimEnd(), `    ${summary}.`);
  }
  return lines;
}
