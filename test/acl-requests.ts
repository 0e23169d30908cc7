import type { Command } from '../src/engine/command.ts';
import { everyCommand } from '../src/engine/commands/index.ts';

/** Every command that can be dispatched: containers only if they are commands themselves, as COMMAND is. */
export const DISPATCHED: readonly Command[] = everyCommand().filter(
  ({ subcommands, name }) => subcommands === undefined || name === 'command',
);

/** A request that the arity of the command allows, whose keys are `prefix` `key` and whose channels `prefix` `channel`. */
export function requestOf(command: Command, prefix: string): string[] {
  const argv = command.name.split('|');
  while (argv.length < Math.abs(command.arity)) argv.push('x');
  for (const { search } of command.facts.keys) {
    if (search.type !== 'counted') continue;
    argv[search.countAt] = '1';
    argv[search.countAt + 1] ??= 'x';
  }
  for (const { at } of command.keyReferences(argv) ?? []) argv[at] = `${prefix}key`;
  if (command.facts.channels !== undefined) argv[1] = `${prefix}channel`;
  return argv;
}
