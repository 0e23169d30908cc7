import type { Engine } from '../engine/index.ts';
import { bytesOf } from './bytes.ts';
import { HELP, type Option, type OptionTable, type OptionValues, readOptions } from './options.ts';
import { readPasswordFile } from './password-file.ts';
import { type Environment, printError, UsageError } from './verb.ts';

interface ServeOption extends Option {
  /** The setting of CONFIG that gets its first value from this option. */
  readonly setting?: Parameters<Engine['settings']['put']>[0];
}

/** The options of `holdfast serve`. */
export const SERVE_OPTIONS = {
  port: {
    placeholder: 'number',
    environment: true,
    setting: 'port',
    help: 'TCP port, 6379 if not given; 0 chooses a free one',
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
    help: 'path of a Unix socket; without --port there is no TCP port then',
  },
  password: {
    placeholder: 'text',
    environment: true,
    setting: 'requirepass',
    help: 'password that clients must send with AUTH (*)',
  },
  'password-file': {
    placeholder: 'path',
    environment: true,
    help: 'file whose first line is the password',
  },
  aclfile: {
    placeholder: 'path',
    environment: true,
    setting: 'aclfile',
    help: 'file with users and their rights, for ACL LOAD and ACL SAVE',
  },
  unprotected: {
    environment: true,
    help: 'allows other machines to connect without a password',
  },
  maxclients: {
    placeholder: 'number',
    environment: true,
    setting: 'maxclients',
    help: 'maximum number of connected clients',
  },
  timeout: {
    placeholder: 'seconds',
    environment: true,
    setting: 'timeout',
    help: 'closes clients after this idle time; 0 never',
  },
  databases: {
    placeholder: 'number',
    environment: true,
    setting: 'databases',
    help: 'number of databases for SELECT',
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
    help: 'duration from which SLOWLOG records a command; -1 turns it off',
  },
  'slowlog-max-len': {
    placeholder: 'number',
    environment: true,
    setting: 'slowlog-max-len',
    help: 'maximum number of entries in SLOWLOG',
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
    help: 'closes a client with more unread output',
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
    help: 'memory limit for keys, clients and scripts, such as 2gb; by the memory of the machine if not given',
  },
  'maxmemory-clients': {
    placeholder: 'bytes',
    environment: true,
    setting: 'maxmemory-clients',
    help: 'memory limit for client buffers, 25% of maxmemory if not given; above it the largest client is closed',
  },
  dir: {
    placeholder: 'path',
    environment: true,
    setting: 'dir',
    help: 'folder for the data, ./holdfast-data if not given',
  },
  appendonly: {
    placeholder: 'yes|no',
    environment: true,
    setting: 'appendonly',
    help: 'no keeps the data in memory only: a restart forgets every lock',
  },
  appendfsync: {
    placeholder: 'mode',
    environment: true,
    setting: 'appendfsync',
    help: 'when the disk gets the data: always (before each reply), everysec (the default), no',
  },
  'restart-grace': {
    placeholder: 'seconds',
    environment: true,
    help: 'refuses writes for this time after a crash that may have lost locks, 30 if not given; 0 not at all',
  },
  help: HELP,
} as const satisfies OptionTable & Record<string, ServeOption>;

export type ServeValues = OptionValues<typeof SERVE_OPTIONS>;

/** Reads the command line, the environment and the password file. Throws UsageError. */
export function readServeOptions(
  args: readonly string[],
  environment: Environment,
  warn = (message: string): void => printError({ errors: process.stderr }, `warning: ${message}`),
): ServeValues {
  const parsed = readOptions(SERVE_OPTIONS, args, environment);
  if (parsed.rest.length > 0) throw new UsageError(`'${parsed.rest[0]}' is not an option.`);
  // Flags override the environment as a pair: a variable does not override the file of a flag.
  const password = passwordIn(parsed.flags, warn) ?? passwordIn(parsed.environment, warn);
  return password === undefined ? parsed.values : { ...parsed.values, password };
}

/** Sets the first values of the settings. Throws UsageError. */
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
