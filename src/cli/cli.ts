import { bytesOf } from './bytes.ts';
import { Console, type ConsoleOptions } from './console/console.ts';
import { choosePaint } from './console/paint.ts';
import {
  describeOptions,
  HELP,
  type OptionTable,
  type OptionValues,
  readOptions,
} from './options.ts';
import { readStoreAddress, TLS_OPTIONS } from './store-address.ts';
import { type Io, print, UsageError, type Verb } from './verb.ts';

const CLI_OPTIONS = {
  store: {
    placeholder: 'url',
    environment: true,
    help: 'the server; redis://127.0.0.1:6379 if not given',
  },
  ...TLS_OPTIONS,
  raw: { help: 'prints the bytes of replies; the default if the output is a pipe' },
  'no-raw': { help: 'formats replies for people, even if the output is a pipe' },
  resp2: { short: '2', help: 'speaks RESP2' },
  resp3: { short: '3', help: 'speaks RESP3, which knows maps, sets, doubles and booleans' },
  'exit-code': { short: 'e', help: 'an error goes to stderr and makes the exit code 1' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

type CliValues = OptionValues<typeof CLI_OPTIONS>;

/** `holdfast cli`: one command from the command line, or a prompt. */
export const cli: Verb = {
  options: CLI_OPTIONS,

  help: `holdfast cli: sends commands to a server and prints the replies as redis-cli does

Usage: holdfast cli [options] [command [argument …]]

${describeOptions(CLI_OPTIONS)}

A store is redis://[user:password@]host[:port][/database], rediss://… or unix:/path. HOLDFAST_STORE,
HOLDFAST_CA, HOLDFAST_CERT and HOLDFAST_KEY set the options too.
Without a command it shows a prompt, or reads commands from a pipe, one on each line.
HOLDFAST_PASSWORD is sent if the address has no password. Other users can read a password in the address
with ps.

Examples:
  holdfast cli SETNX job programmer
  holdfast cli --store redis://10.0.0.7:6379/2 GET job
  holdfast cli help SETNX                   what a command takes, does and costs
  holdfast cli                              a prompt: type help, or a command
  echo 'GET job' | holdfast cli --no-raw`,

  async run(args, io) {
    const { values, flags, rest } = readOptions(CLI_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const console = new Console(consoleOptions(values, flags, io), io);
    return rest.length > 0 ? console.runOnce(rest.map(bytesOf)) : console.runLines();
  },
};

function consoleOptions(values: CliValues, flags: CliValues, io: Io): ConsoleOptions {
  if (values.raw && values['no-raw']) throw new UsageError('Choose --raw or --no-raw.');
  if (values.resp2 && values.resp3) throw new UsageError('Choose -2 or -3.');
  return {
    store: readStoreAddress({ store: DEFAULT_STORE, ...values }, flags, io.environment)!,
    protocol: values.resp3 ? 3 : values.resp2 ? 2 : undefined,
    raw: values.raw ?? (!values['no-raw'] && !io.output.isTTY),
    failsOnError: values['exit-code'] ?? false,
    paint: choosePaint(io, values['no-color']),
  };
}

const DEFAULT_STORE = 'redis://127.0.0.1:6379';
