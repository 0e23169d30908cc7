import { systemClock } from '../clock/index.ts';
import { type LockList, NO_LOCKS, StoreError } from '../stores/index.ts';
import { bytesOf } from './bytes.ts';
import { choosePaint, type Paint } from './console/paint.ts';
import { keysData, listData } from './ls/as-json.ts';
import { FOREIGN_PATTERN, type KeyList, listForeign, NO_KEYS } from './ls/key-list.ts';
import { keyTable } from './ls/key-table.ts';
import { lockRows } from './ls/lock-rows.ts';
import { lockTable } from './ls/lock-table.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { withLocks, withServers } from './ls/store-reader.ts';
import { unreadableText } from './ls/unreadable.ts';
import { pause, Watch } from './ls/watch.ts';
import { describeOptions, HELP, type OptionTable, type OptionValues } from './options.ts';
import { printable, safeJson } from './printable.ts';
import { type Io, print, printError, UsageError, type Verb } from './verb.ts';

const LS_OPTIONS = {
  ...STORE_OPTIONS,
  watch: { short: 'w', help: 'refreshes the list every second; on a terminal q or Ctrl-C ends it' },
  foreign: {
    help: 'lists keys that other programs use as locks; the pattern is for keys, lock* if not given',
  },
  json: { help: 'prints all fields as JSON; with --watch one document on each line' },
  quiet: { short: 'q', help: 'prints the names only' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

type LsValues = OptionValues<typeof LS_OPTIONS>;

/** `holdfast ls`: the locks that have a holder or a waiter. */
export const ls: Verb = {
  options: LS_OPTIONS,

  help: `holdfast ls: lists the locks that have a holder or a waiter

Usage: holdfast ls [pattern] [options]

${describeOptions(LS_OPTIONS)}

The pattern selects names, as in Redis: * matches any text, ? one character, [ab] one of these.
${STORE_HELP}
Each line is a lock with its oldest holder; +2 means two more, which holdfast show lists. mutex+write is the
pair of locks that a holdfast run holds. A holder that uses SET NX without Holdfast is (another program).
Control characters are printed as \\n, \\x1b, \\u202e and so on, a backslash as two; --json has the names
unchanged.

With --foreign each line is a key that is no lock of Holdfast: its kind by type and value (token; timestamp,
a Unix time and no TTL, with its end; redisson, a hash; else the type), the start of the value, the TTL or
no end, and the time since a client last used it, or - if the server does not know. Listing a value counts
as use: the next list counts from this one. The maximum is 100,000 keys. Keys that the user may not read are
counted on stderr.

Exit codes:
  0   the list was printed, even if it is empty
  2   the command line is wrong
  69  the store is unreachable or refuses

Examples:
  holdfast ls
  holdfast ls --watch
  holdfast ls 'order:*' --store redis://10.0.0.7:6379
  holdfast ls --prefix shop: --store redis://10.0.0.7:6379
  holdfast ls --foreign 'lock.*' --store redis://10.0.0.7:6379
  holdfast ls --json | jq '.locks[] | select(.waiterCount > 10) | .name'`,

  async run(args, io) {
    const given = readMixed(LS_OPTIONS, args, io.environment);
    const { values, words } = given;
    if (values.help) return print(io, this.help);
    if (values.json && values.quiet) throw new UsageError('Choose --json or --quiet.');
    const pattern = words[0] === undefined ? undefined : bytesOf(words[0]);
    if (values.foreign) return listForeignKeys(pattern, given, io);
    return withLocks(given, io, async (store) => {
      const read = (): Promise<LockList> => store.query((locks) => locks.list(pattern), NO_LOCKS);
      const paint = choosePaint(io, values['no-color']);
      const show = (list: LockList): void => {
        printList(list, store.label, values, io, paint);
        printGap(unreadableText(list, 'lock', pattern ?? '*'), io);
      };
      if (!values.watch) show(await read());
      else if (io.output.isTTY && !values.json && !values.quiet) {
        await new Watch(read, store, io, paint).run();
      } else await printRepeatedly(read, show, values, io);
      return 0;
    });
  },
};

/** Without --watch: each list counts as use of the keys, so that later lists would show the time since the last one. */
async function listForeignKeys(
  pattern = FOREIGN_PATTERN,
  given: { readonly values: LsValues; readonly flags: LsValues },
  io: Io,
): Promise<number> {
  const { values, flags } = given;
  if (values.watch) throw new UsageError('Choose --watch or --foreign.');
  if (flags.prefix !== undefined) {
    throw new UsageError('With --foreign the pattern is for whole keys: write the prefix there.');
  }
  return withServers(given, io, async (store) => {
    const list = await store.query((servers) => listForeign(servers, pattern), NO_KEYS);
    const nowMs = systemClock.wallMs();
    if (values.json) print(io, safeJson(keysData(store.label, nowMs, list), 2));
    else if (values.quiet)
      printNames(
        list.keys.map(({ keyBytes }) => keyBytes),
        io,
      );
    else printKeys(list, pattern, nowMs, io, choosePaint(io, values['no-color']));
    printGap(unreadableText(list, 'key', pattern), io);
    return 0;
  });
}

function printGap(gap: string, io: Io): void {
  if (gap !== '') printError(io, `The list is not complete: ${gap}`);
}

function printKeys(
  { keys, isCut, unreadableCount }: KeyList,
  pattern: string,
  nowMs: number,
  io: Io,
  paint: Paint,
): void {
  if (keys.length === 0 && unreadableCount > 0) return;
  if (keys.length === 0) {
    return void print(io, `No key of another program matches ${printable(pattern)}.`);
  }
  const { head, lines } = keyTable(keys, nowMs, paint, terminalWidth(io));
  print(io, [head, ...lines].join('\n'));
  if (isCut) {
    printError(io, `${keys.length} keys are shown, and there are more. Use a narrower pattern.`);
  }
}

/** Into a pipe: one block or document for each refresh. A later failure of the store does not end it. */
async function printRepeatedly(
  read: () => Promise<LockList>,
  show: (list: LockList) => void,
  { json }: LsValues,
  io: Io,
): Promise<never> {
  show(await read());
  for (;;) {
    await pause();
    try {
      const list = await read();
      if (!json) print(io, '');
      show(list);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      printError(io, error.message);
    }
  }
}

function printList(
  list: LockList,
  store: string,
  { json, quiet, watch }: LsValues,
  io: Io,
  paint: Paint,
): void {
  if (json) {
    print(io, safeJson(listData(store, systemClock.wallMs(), list), watch ? undefined : 2));
  } else if (quiet) {
    printNames(
      list.locks.map(({ nameBytes }) => nameBytes),
      io,
    );
  } else printTable(list, io, paint);
}

/** Each name once: locks of several kinds may share it. */
function printNames(names: readonly string[], io: Io): void {
  const lines = new Set(names.map((bytes) => `${printable(bytes)}\n`));
  io.output.write([...lines].join(''));
}

function terminalWidth({ output }: Io): number | undefined {
  return output.isTTY ? output.columns || 80 : undefined;
}

function printTable({ locks, isCut, unreadableCount }: LockList, io: Io, paint: Paint): void {
  if (locks.length === 0 && unreadableCount > 0) return;
  if (locks.length === 0) return void print(io, 'No lock has a holder or a waiter.');
  const { head, lines } = lockTable(lockRows(locks), paint, terminalWidth(io));
  print(io, [head, ...lines].join('\n'));
  if (isCut) {
    printError(io, `${locks.length} locks are shown, and there are more. Use a pattern.`);
  }
}
