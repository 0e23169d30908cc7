import { SimpleReply } from '../../resp/index.ts';
import { type CommandFacts, type CommandTable, NO_KEYS } from '../command.ts';
import { wrongArity } from '../errors.ts';
import { lower } from '../text.ts';

/** The definition of a HELP subcommand that returns `lines`. */
export function help(since: string, lines: () => readonly string[]): CommandFacts {
  return {
    arity: 2,
    keys: NO_KEYS,
    flags: ['loading', 'stale'],
    run: () => [...lines(), ...LAST_LINES].map((line) => new SimpleReply(line)),
    syntax: '',
    summary: 'Shows the subcommands',
    since,
    complexity: 'O(1)',
  };
}

/** The definition of a container: a command that needs a subcommand. */
export function container(subcommands: CommandTable, summary: string, since: string): CommandFacts {
  return {
    arity: -2,
    keys: NO_KEYS,
    flags: [],
    run: (_session, argv) => wrongArity(lower(argv[0]!)),
    syntax: 'subcommand [argument ...]',
    summary,
    since,
    complexity: 'That of the subcommand',
    subcommands,
  };
}

const LAST_LINES = ['HELP', '    Prints this help.'];
