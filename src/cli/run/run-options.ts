import { basename } from 'node:path';
import { type Duration, durationMs } from '../../lock/index.ts';
import type { StoreUrl } from '../../stores/index.ts';
import { HELP, type OptionTable, type OptionValues, readOptions } from '../options.ts';
import { PREFIX_OPTION, readPrefix } from '../prefix-option.ts';
import { readStore, type StoreAddress, TLS_OPTIONS } from '../store-address.ts';
import { type Environment, UsageError } from '../verb.ts';
import { EXIT_CODES } from './exit-codes.ts';

export const RUN_OPTIONS = {
  wait: {
    short: 'w',
    placeholder: 'duration',
    help: 'maximum time to wait while the lock is busy; no limit if not given',
  },
  'no-wait': { short: 'n', help: 'fails at once when the lock is busy' },
  'busy-code': {
    placeholder: 'n',
    help: `exit code when the lock stays busy, 0 to 255; ${EXIT_CODES.busy.code} if not given`,
  },
  shared: { short: 's', help: 'holds a shared lock: other --shared runs may hold it too' },
  permits: { placeholder: 'n', help: 'holds one permit of a semaphore with n permits' },
  lease: {
    placeholder: 'duration',
    help: 'time until the store frees the lock if renewals stop; 30s if not given, at least 1s',
  },
  'max-hold': { placeholder: 'duration', help: 'ends the command after this time' },
  'keep-for': {
    placeholder: 'duration',
    help: 'the lock stays taken for this time from its grant, also after the command has ended',
  },
  command: { short: 'c', placeholder: 'command', help: 'runs this command by sh -c' },
  label: {
    placeholder: 'text',
    help: "text that ls and show print for the holder; the command's name if not given",
  },
  store: {
    placeholder: 'url',
    environment: true,
    help: 'the store that has the lock; if not given, a server of this user on this machine',
  },
  ...PREFIX_OPTION,
  ...TLS_OPTIONS,
  session: {
    help: 'on a holdfast serve: the lock is free at once when the run is killed; always so on this machine',
  },
  help: HELP,
} as const satisfies OptionTable;

/** A shorter lease leaves no time to end the command before the lease ends. */
const MIN_LEASE_MS = 1000;
const MIN_HOLD_MS = 10;

/** One `holdfast run`, as the command line describes it. */
export interface RunRequest {
  readonly lock: { readonly name: string; readonly kind: RunKind; readonly permits: number };
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  /** How long the lock stays taken, counted from its grant. 0: until the command has ended. */
  readonly keepForMs: number;
  /** The exit code when the lock stays busy. */
  readonly busyCode: number;
  readonly label: string;
  /** Undefined: the local server. */
  readonly store: StoreAddress | StoreUrl | undefined;
  /** Prefix of the keys of the locks. */
  readonly prefix: string;
  /** Whether the lock ends with the session of the run. On the local server it always does. */
  readonly hasSession: boolean;
  readonly command: string;
  readonly args: readonly string[];
}

export type RunKind = 'exclusive' | 'shared' | 'permits';

type RunValues = OptionValues<typeof RUN_OPTIONS>;

/**
 * Reads `<name> [options] -- command args…` or `<name> [options] -c command`, with options before or after the name.
 * Throws UsageError.
 */
export function readRunRequest(
  args: readonly string[],
  environment: Environment,
): RunRequest | 'help' {
  const separator = args.indexOf('--');
  const head = separator < 0 ? args : args.slice(0, separator);
  const before = readOptions(RUN_OPTIONS, head, environment);
  const after = readOptions(RUN_OPTIONS, before.rest.slice(1), environment);
  const flags: RunValues = { ...before.flags, ...after.flags };
  const values: RunValues = { ...before.environment, ...flags };
  if (values.help) return 'help';
  const name = readName(before.rest[0]);
  const given = separator < 0 ? undefined : args.slice(separator + 1);
  if (after.rest.length > 0) throw strayWord(name, after.rest, values.command, given);
  const [command, ...rest] = readCommand(name, values.command, given);
  const store = readStore(values, flags, environment);
  if (store !== undefined && 'scheme' in store) checkOther(store, values);
  return {
    lock: { name, ...readKind(values) },
    ...readTimes(values),
    busyCode: readBusyCode(values['busy-code']),
    label: values.label ?? basename(command),
    store,
    prefix: readPrefix(values),
    hasSession: values.session ?? false,
    command,
    args: rest,
  };
}

/** Throws for options that a store other than Redis cannot fulfil. */
function checkOther({ scheme, isMutexOnly }: StoreUrl, values: RunValues): void {
  if (values.session) throw new UsageError('--session needs a store at redis://… or unix:/path.');
  const unfit = (['shared', 'permits'] as const).find((name) => values[name] !== undefined);
  if (isMutexOnly && unfit !== undefined) {
    throw new UsageError(`--${unfit} does not work with ${scheme}://, which has mutexes only.`);
  }
}

function readName(name: string | undefined): string {
  if (name === undefined) {
    throw new UsageError('The name of the lock is missing: holdfast run name -- command.');
  }
  if (name === '') throw new UsageError('The name of a lock cannot be empty.');
  return name;
}

type Command = readonly [program: string, ...args: string[]];

/** `shellCommand` is the value of -c, `given` what follows `--`. */
function readCommand(
  name: string,
  shellCommand: string | undefined,
  given: readonly string[] | undefined,
): Command {
  if (shellCommand !== undefined && given !== undefined) {
    throw new UsageError('Choose -c or a command after --.');
  }
  if (shellCommand === '') throw new UsageError('The command of -c is empty.');
  if (shellCommand !== undefined) return ['sh', '-c', shellCommand];
  if (given === undefined) {
    throw new UsageError(`The command is missing: holdfast run ${name} -- command.`);
  }
  const [program = '', ...args] = given;
  if (program === '') {
    throw new UsageError(`The command after -- is missing: holdfast run ${name} -- command.`);
  }
  return [program, ...args];
}

function strayWord(
  name: string,
  words: readonly string[],
  shellCommand: string | undefined,
  given: readonly string[] | undefined,
): UsageError {
  const isOneTooMany = `'${words[0]}' is one word too many`;
  if (given !== undefined) return new UsageError(`${isOneTooMany} before the --.`);
  if (shellCommand !== undefined) {
    return new UsageError(`${isOneTooMany}: write the command of -c in quotes.`);
  }
  return new UsageError(`Write -- before the command: holdfast run ${name} -- ${words.join(' ')}.`);
}

function readKind({ shared, permits }: RunValues): { kind: RunKind; permits: number } {
  if (shared && permits !== undefined) throw new UsageError('Choose --shared or --permits.');
  if (permits === undefined) return { kind: shared ? 'shared' : 'exclusive', permits: 1 };
  if (!/^[1-9]\d{0,8}$/.test(permits)) {
    throw new UsageError(`--permits must be a whole number from 1 on; got '${permits}'.`);
  }
  return { kind: 'permits', permits: Number(permits) };
}

const MAX_CODE = 255;

function readBusyCode(text = String(EXIT_CODES.busy.code)): number {
  const code = /^\d{1,3}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  if (code <= MAX_CODE) return code;
  throw new UsageError(`--busy-code must be a whole number from 0 to ${MAX_CODE}; got '${text}'.`);
}

function readTimes(
  values: RunValues,
): Pick<RunRequest, 'waitMs' | 'leaseMs' | 'maxHoldMs' | 'keepForMs'> {
  const { wait, lease = '30s', 'max-hold': maxHold, 'keep-for': keepFor } = values;
  if (wait !== undefined && values['no-wait']) throw new UsageError('Choose --wait or --no-wait.');
  const unlimited = Number.POSITIVE_INFINITY;
  return {
    waitMs: values['no-wait'] ? 0 : wait === undefined ? unlimited : readTime('wait', wait, 0),
    leaseMs: readTime('lease', lease, MIN_LEASE_MS),
    maxHoldMs: maxHold === undefined ? unlimited : readTime('max-hold', maxHold, MIN_HOLD_MS),
    keepForMs: keepFor === undefined ? 0 : readTime('keep-for', keepFor, 0),
  };
}

function readTime(option: string, text: string, leastMs: number): number {
  try {
    return durationMs(text as Duration, option, '', { leastMs });
  } catch {
    const least = leastMs === MIN_LEASE_MS ? ' of at least 1s' : '';
    throw new UsageError(
      `--${option} must be a duration${least}, such as 500ms, 30s, 5m or 1h; got '${text}'.`,
    );
  }
}
