import { COMMANDS, type Command } from '../../engine/index.ts';
import type { Paint } from './paint.ts';

/** The text of `help`, `help SETNX`, `help client list` and `help @string`. */
export function commandHelp(words: readonly string[], paint: Paint): string {
  if (words.length === 0) return OVERVIEW;
  const commands = words[0]!.startsWith('@') ? inGroup(words[0]!.slice(1)) : named(words);
  if (commands.length > 0) return `${commands.map((each) => describe(each, paint)).join('\n')}\n`;
  return `\n  There is no help for '${words.join(' ')}'. Groups: ${groups().join(' ')}\n`;
}

/** The command or subcommand at the start of the arguments, and how many arguments name it. */
export function findByWords(
  words: readonly string[],
): { readonly command: Command; readonly wordCount: 1 | 2 } | undefined {
  const command = COMMANDS.get((words[0] ?? '').toLowerCase());
  if (command === undefined) return undefined;
  const subcommand = command.subcommands?.get((words[1] ?? '').toLowerCase());
  if (subcommand !== undefined) return { command: subcommand, wordCount: 2 };
  return { command, wordCount: 1 };
}

/** As it is typed: `CLIENT LIST`. */
export function titleOf({ name }: Command): string {
  return name.replace('|', ' ').toUpperCase();
}

const OVERVIEW = `
  help <command>    what a command takes, does and costs, and since when
  help @<group>     the commands of a group, such as @string or @transactions
  Tab               completes a command, then shows its arguments
  exit, quit        ends (so does Ctrl-D); Ctrl-C ends SUBSCRIBE, MONITOR or a command that waits
`;

function describe(command: Command, paint: Paint): string {
  const { syntax, summary, since, complexity, deprecated, history = [] } = command.facts;
  const line = (label: string, text: string) =>
    `  ${paint('faint', `${label}:`)} ${text}`.trimEnd();
  const lines = [
    '',
    `  ${paint('strong', titleOf(command))}${syntax && ` ${paint('faint', syntax)}`}`,
    line('summary', summary),
    line('since', since),
    line('group', command.group),
  ];
  if (complexity !== '') lines.push(line('complexity', complexity));
  if (deprecated !== undefined) {
    const replacedBy = deprecated.replacedBy.replaceAll('`', '');
    lines.push(line('deprecated', `since ${deprecated.since}, use ${replacedBy}`));
  }
  if (history.length > 0) {
    lines.push(
      line('history', ''),
      ...history.map(([version, change]) => `    ${version}: ${change}`),
    );
  }
  return lines.join('\n');
}

function named(words: readonly string[]): Command[] {
  const found = findByWords(words);
  return found === undefined || found.wordCount < words.length ? [] : [found.command];
}

function inGroup(group: string): Command[] {
  return [...COMMANDS.values()].filter((command) => command.group === group.toLowerCase());
}

function groups(): string[] {
  return [...new Set([...COMMANDS.values()].map(({ group }) => `@${group}`))];
}
