import { basename } from 'node:path';
import { type Duration, durationMs } from '../../lock/index.ts';
import { HELP, type OptionTable, type OptionValues, readOptions } from '../options.ts';
import { type Environment, UsageError } from '../verb.ts';
import type { StorePlace } from './open-store.ts';

export const RUN_OPTIONS = {
  wait: {
    short: 'w',
    placeholder: 'duration',
    help: 'how long to wait while the lock is busy; without it, for as long as it takes',
  },
  'no-wait': { short: 'n', help: 'does not wait' },
  shared: { short: 's', help: 'holds the lock beside others that do so too' },
  permits: { placeholder: 'n', help: 'a semaphore: so many may hold it at a time' },
  lease: {
    placeholder: 'duration',
    help: 'how long the store keeps the lock if it hears nothing more; 30s if not given, at least 1s',
  },
  'max-hold': { placeholder: 'duration', help: 'ends the command after this time' },
  label: {
    placeholder: 'text',
    help: "what others see of the holder; the command's name if not given",
  },
  store: {
    placeholder: 'url',
    environment: true,
    help: 'where the lock lives; if not given, on this machine, for this user',
  },
  session: {
    help: 'on a holdfast serve: the lock is free at once when the run is killed; always so on this machine',
  },
  help: HELP,
} as const satisfies OptionTable;

/** Below this there is no time to end a command before its lease does. */
const MIN_LEASE_MS = 1000;
const MIN_HOLD_MS = 10;

/** What one `holdfast run` is to do. */
export interface RunRequest {
  readonly lock: { readonly name: string; readonly kind: RunKind; readonly permits: number };
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  readonly label: string;
  readonly place: StorePlace;
  readonly command: string;
  readonly args: readonly string[];
}

export type RunKind = 'exclusive' | 'shared' | 'permits';

type RunValues = OptionValues<typeof RUN_OPTIONS>;

/** Reads `<name> [options] -- command args…`, with options before or after the name. Throws UsageError. */
export function readRunRequest(
  args: readonly string[],
  environment: Environment,
): RunRequest | 'help' {
  const separator = args.indexOf('--');
  const head = separator < 0 ? args : args.slice(0, separator);
  const before = readOptions(RUN_OPTIONS, head, environment);
  const after = readOptions(RUN_OPTIONS, before.rest.slice(1), environment);
  const values: RunValues = { ...before.values, ...after.flags };
  if (values.help) return 'help';
  const name = readName(before.rest[0]);
  if (after.rest.length > 0) throw strayWord(name, after.rest, separator >= 0);
  if (separator < 0) throw new UsageError(`Say what to run: holdfast run ${name} -- command.`);
  const [command, ...rest] = args.slice(separator + 1);
  if (command === undefined || command === '') {
    throw new UsageError(`After -- stands the command to run: holdfast run ${name} -- command.`);
  }
  return {
    lock: { name, ...readKind(values) },
    ...readTimes(values),
    label: values.label ?? basename(command),
    place: { url: values.store, hasSession: values.session ?? false },
    command,
    args: rest,
  };
}

function readName(name: string | undefined): string {
  if (name === undefined) {
    throw new UsageError('The name of the lock is missing: holdfast run name -- command.');
  }
  if (name === '') throw new UsageError('The name of a lock cannot be empty.');
  return name;
}

function strayWord(name: string, words: readonly string[], hasSeparator: boolean): UsageError {
  if (hasSeparator) return new UsageError(`'${words[0]}' is one word too many before the --.`);
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

function readTimes(values: RunValues): { waitMs: number; leaseMs: number; maxHoldMs: number } {
  const { wait, lease = '30s', 'max-hold': maxHold } = values;
  if (wait !== undefined && values['no-wait']) throw new UsageError('Choose --wait or --no-wait.');
  const endless = Number.POSITIVE_INFINITY;
  return {
    waitMs: values['no-wait'] ? 0 : wait === undefined ? endless : readTime('wait', wait, 0),
    leaseMs: readTime('lease', lease, MIN_LEASE_MS),
    maxHoldMs: maxHold === undefined ? endless : readTime('max-hold', maxHold, MIN_HOLD_MS),
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
