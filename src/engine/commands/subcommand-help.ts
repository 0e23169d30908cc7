import { ErrorReply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { printed, upper } from '../text.ts';

/** The lines of a container's HELP: syntax and summary of each subcommand. */
export function helpLines(container: string, subcommands: CommandTable): string[] {
  const lines = [`${container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`];
  for (const [word, { syntax, summary }] of Object.entries(subcommands)) {
    if (word !== 'HELP') lines.push(`${word} ${syntax}`.trimEnd(), `    ${summary}.`);
  }
  return lines;
}

/** The error for a subcommand with one optional argument that got two. */
export function wrongSubcommand(argv: readonly string[]): ErrorReply {
  return new ErrorReply(
    `ERR unknown subcommand or wrong number of arguments for '${printed(argv[1]!)}'. Try ${upper(argv[0]!)} HELP.`,
  );
}
