import { resolve } from 'node:path';
import type { Engine } from '../engine/index.ts';
import { bytesOf } from './bytes.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { HELP, type Option, type OptionTable, type OptionValues, readOptions } from './options.ts';
import { readPasswordFile } from './password-file.ts';
import { type Directive, readConfigFile } from './serve/config-file.ts';
import { type Environment, printError, UsageError } from './verb.ts';

interface ServeOption extends Option {
  /** The setting of CONFIG that gets its first value from this option. */
  readonly setting?: Parameters<Engine['settings']['put']>[0];
}

/** The options of `holdfast serve`. */
export const SERVE_OPTIONS = {
  config: {
    placeholder: 'path',
    environment: true,
    help: 'configuration file in the syntax of redis.conf; or the first argument without a flag',
  },
  port: {
    placeholder: 'number',
    environment: true,
    setting: 'port',
    help: 'TCP port, 6379 if not given; 0 chooses a free one, or none with --tls-port',
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
  'tls-port': {
    placeholder: 'number',
    environment: true,
    setting: 'tls-port',
    help: 'TCP port for TLS; needs --tls-cert-file and --tls-key-file',
  },
  'tls-cert-file': {
    placeholder: 'path',
    environment: true,
    setting: 'tls-cert-file',
    help: 'PEM file with the certificate of the server; SIGHUP reads it again',
  },
  'tls-key-file': {
    placeholder: 'path',
    environment: true,
    setting: 'tls-key-file',
    help: 'PEM file with its private key',
  },
  'tls-ca-cert-file': {
    placeholder: 'path',
    environment: true,
    setting: 'tls-ca-cert-file',
    help: 'PEM file with the CA that client certificates are checked against',
  },
  'tls-auth-clients': {
    placeholder: 'yes|optional|no',
    environment: true,
    setting: 'tls-auth-clients',
    help: 'whether TLS clients must have a certificate, yes if not given',
  },
  'tls-auth-clients-user': {
    placeholder: 'CN|off',
    environment: true,
    setting: 'tls-auth-clients-user',
    help: 'CN signs a TLS client in as the user that its certificate names',
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
  'page-port': {
    placeholder: 'number|auto|no',
    environment: true,
    help: 'port of the page that shows locks: auto, the default, is a free one; no starts no page',
  },
  'page-host': {
    placeholder: 'address',
    environment: true,
    help: 'address of the page, 127.0.0.1 if not given; another one needs --page-cleartext',
  },
  'page-cleartext': {
    environment: true,
    help: 'allows other machines to open the page: its token and its data travel without TLS',
  },
  'page-allow-release': {
    environment: true,
    help: 'allows the page to release locks by force, with a reason',
  },
  loglevel: {
    placeholder: 'debug|verbose|notice|warning',
    environment: true,
    setting: 'loglevel',
    help: 'lowest level of log lines, notice if not given',
  },
  'log-format': {
    placeholder: 'text|json',
    environment: true,
    setting: 'log-format',
    help: 'format of log lines, text if not given',
  },
  help: HELP,
} as const satisfies OptionTable & Record<string, ServeOption>;

export type ServeValues = OptionValues<typeof SERVE_OPTIONS>;

/** The values of a server and where they come from. */
export interface ServeInput {
  readonly values: ServeValues;
  /** Whether the password comes from the file of --password-file. */
  readonly hasPasswordFile: boolean;
  readonly config?: ConfigSource;
}

interface ConfigSource {
  readonly path: string;
  /** The lines of options whose value is that of the file. */
  readonly lines: Readonly<Record<string, number>>;
  /** The lines that set no option. */
  readonly rest: readonly Directive[];
}

/** Reads the command line, the environment, the configuration file and the password file. Throws UsageError. */
export function readServeOptions(
  args: readonly string[],
  environment: Environment,
  warn = (message: string): void => printError({ errors: process.stderr }, `warning: ${message}`),
): ServeInput {
  const { flags, words } = readMixed(SERVE_OPTIONS, args, {});
  if (words[0] !== undefined && flags.config !== undefined) {
    throw new UsageError(`Name one configuration file: '${words[0]}' or '${flags.config}'.`);
  }
  const { environment: variables } = readOptions(SERVE_OPTIONS, [], environment);
  const path = words[0] ?? flags.config ?? variables.config;
  const file = path === undefined ? undefined : readFile(path);
  // Flags override the environment as a pair: a variable does not override the file of a flag.
  const sources = [flags, variables, file?.values ?? {}];
  const source = sources.find((each) => (each.password ?? each['password-file']) !== undefined);
  const password = source && passwordIn(source, warn);
  const given = { ...variables, ...flags };
  const values = {
    ...file?.values,
    ...given,
    ...(password !== undefined && { password }),
  };
  const hasPasswordFile = source?.['password-file'] !== undefined;
  if (file === undefined) return { values, hasPasswordFile };
  const lines = Object.entries(file.lines).filter(([name]) => !(name in given));
  const config = { path: resolve(path!), rest: file.rest, lines: Object.fromEntries(lines) };
  return { values, hasPasswordFile, config };
}

/** Sets the first values of the settings. Throws UsageError. */
export function applySettings({ values, config }: ServeInput, settings: Engine['settings']): void {
  for (const [name, option] of Object.entries<ServeOption>(SERVE_OPTIONS)) {
    const value = values[name as keyof ServeValues];
    if (option.setting === undefined || typeof value !== 'string') continue;
    try {
      settings.put(option.setting, bytesOf(value));
    } catch (error) {
      const line = config?.lines[name];
      const where = line === undefined ? `--${name}` : `${config!.path}:${line}: ${option.setting}`;
      // Errors go to logs, which more people can read than the password.
      const shown = name === 'password' ? 'used' : `'${value}'`;
      throw new UsageError(`${where} cannot be ${shown} (${(error as Error).message}).`);
    }
  }
}

/** The names of settings that options set, as a file writes them. */
export const CONFIG_OPTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries<ServeOption>(SERVE_OPTIONS)
    .filter(([name]) => !['config', 'help', 'unprotected'].includes(name))
    .map(([name, { setting = name }]) => [setting, name]),
);

interface FileOptions {
  readonly values: ServeValues;
  readonly lines: Record<string, number>;
  readonly rest: readonly Directive[];
}

/** Reads a configuration file. Of repeated lines the last counts. */
function readFile(path: string): FileOptions {
  const values: Record<string, string | boolean> = {};
  const lines: Record<string, number> = {};
  const rest: Directive[] = [];
  for (const directive of readConfigFile(path)) {
    const { name, args, line } = directive;
    const option = name === PROTECTED_MODE ? 'unprotected' : CONFIG_OPTIONS.get(name);
    if (option === undefined) {
      rest.push(directive);
      continue;
    }
    if (args.length > 1) {
      throw new UsageError(
        `${path}:${line}: ${name} takes one value, put it into quotes if it has blanks.`,
      );
    }
    values[option] = name === PROTECTED_MODE ? isUnprotected(args[0]!, path, line) : args[0]!;
    lines[option] = line;
  }
  return { values, lines, rest };
}

const PROTECTED_MODE = 'protected-mode';

function isUnprotected(word: string, path: string, line: number): boolean {
  if (/^(?:yes|no)$/i.test(word)) return word.toLowerCase() === 'no';
  throw new UsageError(`${path}:${line}: protected-mode is yes or no.`);
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
