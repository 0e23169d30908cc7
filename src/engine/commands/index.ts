import { ErrorReply } from '../../resp/index.ts';
import { Command, type CommandFacts, type CommandTable, type Group } from '../command.ts';
import { lower, printed } from '../text.ts';
import { acl } from './acl.ts';
import { client } from './client.ts';
import { command } from './command.ts';
import { config } from './config.ts';
import { connection } from './connection.ts';
import { expiry } from './expiry.ts';
import { hashes } from './hashes.ts';
import { history } from './history.ts';
import { allKeys, keys } from './keys.ts';
import { latency } from './latency.ts';
import { listPops } from './list-pops.ts';
import { lists } from './lists.ts';
import { memory } from './memory.ts';
import { object } from './object.ts';
import { pubSub } from './pub-sub.ts';
import { replicas, role } from './replication.ts';
import { scripting } from './scripting.ts';
import { server } from './server.ts';
import { session } from './session.ts';
import { sets } from './sets.ts';
import { slowLog } from './slow-log.ts';
import { sort } from './sort.ts';
import { sortedSets } from './sorted-sets.ts';
import { strings } from './strings.ts';
import { transactions } from './transactions.ts';

const GROUPS: readonly (readonly [Group, CommandTable])[] = [
  ['string', strings],
  ['generic', keys],
  ['generic', expiry],
  ['generic', object],
  ['generic', sort],
  ['hash', hashes],
  ['set', sets],
  ['list', lists],
  ['list', listPops],
  ['sorted-set', sortedSets],
  ['transactions', transactions],
  ['scripting', scripting],
  ['pubsub', pubSub],
  ['connection', connection],
  ['connection', client],
  ['connection', session],
  ['server', history],
  ['server', acl],
  ['server', server],
  ['server', allKeys],
  ['server', command],
  ['server', memory],
  ['server', config],
  ['server', slowLog],
  ['server', latency],
  ['server', role],
  ['generic', replicas],
];

/** Every command by its lower-case name. */
export const COMMANDS: ReadonlyMap<string, Command> = registered();

const EVERY_COMMAND: readonly Command[] = [...COMMANDS.values()].flatMap((command) => [
  command,
  ...(command.subcommands?.values() ?? []),
]);

/** All commands and subcommands. */
export function everyCommand(): readonly Command[] {
  return EVERY_COMMAND;
}

/** By the spellings that clients use, so that most names need no case folding. */
const BY_SPELLING = new Map<string, Command>();
for (const [name, command] of COMMANDS) {
  BY_SPELLING.set(name, command);
  BY_SPELLING.set(name.toUpperCase(), command);
}

/** Finds the command or subcommand of `argv`. Returns the error reply if there is none. */
export function findCommand(argv: readonly string[]): Command | ErrorReply {
  const command = commandNamed(argv[0]!);
  if (command === undefined) return unknownCommand(argv);
  if (command.subcommands === undefined || argv.length === 1) return command;
  return command.subcommands.get(lower(argv[1]!)) ?? unknownSubcommand(command, argv[1]!);
}

/** Clients often send the same command again: comparing two names takes less time than hashing one. */
function commandNamed(name: string): Command | undefined {
  if (name === lastName) return lastCommand;
  const command = BY_SPELLING.get(name) ?? COMMANDS.get(lower(name));
  // An unknown name can be very long, and must not stay in memory.
  if (command !== undefined) {
    lastName = name;
    lastCommand = command;
  }
  return command;
}

let lastName: string | undefined;
let lastCommand: Command | undefined;

function registered(): Map<string, Command> {
  const commands = new Map<string, Command>();
  let number = 0;
  const create = (name: string, group: Group, facts: CommandFacts): Command => {
    const subcommands = Object.entries(facts.subcommands ?? {}).map(([word, each]) =>
      create(`${name}|${word.toLowerCase()}`, group, each),
    );
    return new Command(name, group, facts, number++, facts.subcommands && subcommands);
  };
  for (const [group, table] of GROUPS) {
    for (const [word, facts] of Object.entries(table)) {
      commands.set(word.toLowerCase(), create(word.toLowerCase(), group, facts));
    }
  }
  return commands;
}

/** As in Redis, the error shows at most 128 bytes of the name, and as many of the arguments. */
function unknownCommand(argv: readonly string[]): ErrorReply {
  let shown = '';
  for (let at = 1; at < argv.length && shown.length < 128; at++) {
    shown += `'${printed(argv[at]!).slice(0, 128 - shown.length)}' `;
  }
  return new ErrorReply(
    `ERR unknown command '${printed(argv[0]!)}', with args beginning with: ${shown}`,
  );
}

function unknownSubcommand(command: Command, word: string): ErrorReply {
  const container = command.name.toUpperCase();
  return new ErrorReply(`ERR unknown subcommand '${printed(word)}'. Try ${container} HELP.`);
}
