import type { Engine } from '../engine/index.ts';
import { bytesOf } from './bytes.ts';
import { HELP, type Option, type OptionTable, type OptionValues, readOptions } from './options.ts';
import { readPasswordFile } from './password-file.ts';
import { type Environment, printError, UsageError } from './verb.ts';

interface ServeOption extends Option {
  /** The setting of CONFIG that it gives the first value of. */
  readonly setting?: Parameters<Engine['settings']['put']>[0];
}

/** Everything that can be said when the server starts. */
export const SERVE_OPTIONS = {
  port: {
    placeholder: 'number',
    environment: true,
    setting: 'port',
    help: 'TCP port, 6379 if not given; 0 takes a free one',
  },
  host: {
    placeholder: 'address',
    environment: true,
    setting: 'bind',
    help: 'address to listen on, 127.0.0.1 if not given',
  },
  unix: {
    placeholder: 'path',
    environment: true,
    setting: 'unixsocket',
    help: 'Unix socket; without --port there is no TCP then',
  },
  password: {
    placeholder: 'text',
    environment: true,
    setting: 'requirepass',
    help: 'what clients must send with AUTH (*)',
  },
  'password-file': {
    placeholder: 'path',
    environment: true,
    help: 'file whose first line is the password',
  },
  unprotected: {
    environment: true,
    help: 'listens beyond this machine without a password',
  },
  maxclients: {
    placeholder: 'number',
    environment: true,
    setting: 'maxclients',
    help: 'how many clients may be connected',
  },
  timeout: {
    placeholder: 'seconds',
    environment: true,
    setting: 'timeout',
    help: 'closes clients that were idle so long; 0 never',
  },
  databases: {
    placeholder: 'number',
    environment: true,
    setting: 'databases',
    help: 'how many databases SELECT can choose from',
  },
  'notify-keyspace-events': {
    placeholder: 'classes',
    environment: true,
    setting: 'notify-keyspace-events',
    help: 'events to publish, such as Ex for keys that expired',
  },
  'slowlog-log-slower-than': {
    placeholder: 'microseconds',
    environment: true,
    setting: 'slowlog-log-slower-than',
    help: 'what SLOWLOG calls slow; -1 turns it off',
  },
  'slowlog-max-len': {
    placeholder: 'number',
    environment: true,
    setting: 'slowlog-max-len',
    help: 'how many slow commands are remembered',
  },
  'script-budget-steps': {
    placeholder: 'number',
    environment: true,
    setting: 'script-budget-steps',
    help: 'steps after which a script is stopped and undone',
  },
  'script-budget-ms': {
    placeholder: 'milliseconds',
    environment: true,
    setting: 'script-budget-ms',
    help: 'time after which a script is stopped and undone',
  },
  'output-limit-normal': {
    placeholder: 'bytes',
    environment: true,
    setting: 'output-limit-normal',
    help: 'closes a client that leaves more unread',
  },
  'output-limit-pubsub': {
    placeholder: 'bytes',
    environment: true,
    setting: 'output-limit-pubsub',
    help: 'the same for subscribers',
  },
  maxmemory: {
    placeholder: 'bytes',
    environment: true,
    setting: 'maxmemory',
    help: 'what keys, clients and scripts may take, such as 2gb; from the machine if not given',
  },
  'maxmemory-clients': {
    placeholder: 'bytes',
    environment: true,
    setting: 'maxmemory-clients',
    help: 'what buffers of clients may take, 25% of it if not given; then the largest is closed',
  },
  'restart-grace': {
    placeholder: 'seconds',
    environment: true,
    help: 'takes no writes for so long after a crash, 30 if not given; 0 at once',
  },
  help: HELP,
} as const satisfies OptionTable & Record<string, ServeOption>;

export type ServeValues = OptionValues<typeof SERVE_OPTIONS>;

/** What the command line and the environment say, with the password looked up. Throws UsageError. */
export function readServeOptions(
  args: readonly string[],
  environment: Environment,
  warn = (message: string): void => printError({ errors: process.stderr }, `warning: ${message}`),
): ServeValues {
  const parsed = readOptions(SERVE_OPTIONS, args, environment);
  if (parsed.rest.length > 0) throw new UsageError(`'${parsed.rest[0]}' is not an option.`);
  // Flags beat the environment as a pair: a file that a flag names is not overruled by a variable.
  const password = passwordIn(parsed.flags, warn) ?? passwordIn(parsed.environment, warn);
  return password === undefined ? parsed.values : { ...parsed.values, password };
}

/** Gives the engine's settings their first values. Throws UsageError. */
export function applySettings(values: ServeValues, settings: Engine['settings']): void {
  for (const [name, option] of Object.entries<ServeOption>(SERVE_OPTIONS)) {
    const value = values[name as keyof ServeValues];
    if (option.setting === undefined || typeof value !== 'string') continue;
    try {
      settings.put(option.setting, bytesOf(value));
    } catch (error) {
      throw new UsageError(`--${name} cannot be '${value}' (${(error as Error).message}).`);
    }
  }
}

function passwordIn(
  { password, 'password-file': file }: ServeValues,
  warn: (message: string) => void,
): string | undefined {
  if (password !== undefined && file !== undefined) {
    throw new UsageError('Give the password or the file that holds it, not both.');
  }
  return file === undefined ? password : readPasswordFile(file, warn);
}
