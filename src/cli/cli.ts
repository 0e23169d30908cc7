import { bytesOf } from './bytes.ts';
import { Console, type ConsoleOptions } from './console/console.ts';
import { choosePaint } from './console/paint.ts';
import { parseStoreAddress, type StoreAddress } from './console/store-address.ts';
import {
  describeOptions,
  HELP,
  type OptionTable,
  type OptionValues,
  readOptions,
} from './options.ts';
import { type Io, print, UsageError, type Verb } from './verb.ts';

const CLI_OPTIONS = {
  store: {
    placeholder: 'url',
    environment: true,
    help: 'where the server is; redis://127.0.0.1:6379 if not given',
  },
  raw: { help: 'prints replies as they are, as into a pipe' },
  'no-raw': { help: 'prints replies for people, also into a pipe' },
  resp2: { short: '2', help: 'speaks RESP2' },
  resp3: { short: '3', help: 'speaks RESP3, which knows maps, sets, doubles and booleans' },
  'exit-code': { short: 'e', help: 'an error goes to stderr and makes the exit code 1' },
  'no-color': { help: 'no colours; so does the variable NO_COLOR' },
  help: HELP,
} as const satisfies OptionTable;

type CliValues = OptionValues<typeof CLI_OPTIONS>;

/** `holdfast cli`: one command from the command line, or a prompt. */
export const cli: Verb = {
  options: CLI_OPTIONS,

  help: `holdfast cli: sends commands to a server and prints the replies as redis-cli does

Usage: holdfast cli [options] [command [argument …]]

${describeOptions(CLI_OPTIONS)}

A store is redis://[user:password@]host[:port][/database], rediss://… or unix:/path; HOLDFAST_STORE
names it too.
Without a command it asks for one after the other; a pipe can give them too, one on a line.
HOLDFAST_PASSWORD is sent where the store's address has no password: better than an address with one,
which others on the machine can read with ps.

Examples:
  holdfast cli SETNX job programmer
  holdfast cli --store redis://10.0.0.7:6379/2 GET job
  holdfast cli help SETNX                   what a command takes, does and costs
  holdfast cli                              a prompt: type help, or a command
  echo 'GET job' | holdfast cli --no-raw`,

  async run(args, io) {
    const { values, rest } = readOptions(CLI_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const console = new Console(consoleOptions(values, io), io);
    return rest.length > 0 ? console.runOnce(rest.map(bytesOf)) : console.runLines();
  },
};

function consoleOptions(values: CliValues, io: Io): ConsoleOptions {
  if (values.raw && values['no-raw']) throw new UsageError('Choose --raw or --no-raw.');
  if (values.resp2 && values.resp3) throw new UsageError('Choose -2 or -3.');
  return {
    store: findStore(values, io),
    protocol: values.resp3 ? 3 : values.resp2 ? 2 : undefined,
    raw: values.raw ?? (!values['no-raw'] && !io.output.isTTY),
    errorsCount: values['exit-code'] ?? false,
    paint: choosePaint(io, values['no-color']),
  };
}

function findStore({ store: url = 'redis://127.0.0.1:6379' }: CliValues, io: Io): StoreAddress {
  const store = parseStoreAddress(url);
  if (store.password !== '') return store;
  return { ...store, password: bytesOf(io.environment.HOLDFAST_PASSWORD ?? '') };
}
