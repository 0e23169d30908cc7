import { systemClock } from '../clock/index.ts';
import type { FoundLock, ListedHolder, ListedLock, ListedWaiter } from '../stores/index.ts';
import { choosePaint, type Paint } from './console/paint.ts';
import { forcedData, lockData, textData } from './ls/as-json.ts';
import { ESCAPED_OPTION, nameBytesOf, readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { withLocks } from './ls/store-reader.ts';
import { durationText, forcedText, holdingText, isInUse, kindText, partyText } from './ls/words.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { printable, safeJson } from './printable.ts';
import { print, type Verb } from './verb.ts';

const SHOW_OPTIONS = {
  ...STORE_OPTIONS,
  ...ESCAPED_OPTION,
  json: { help: 'prints all fields as JSON' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

/** `holdfast show`: the holders and waiters of the locks of one name. */
export const show: Verb = {
  options: SHOW_OPTIONS,
  words: 'locks',

  help: `holdfast show: shows the holders and waiters of a lock

Usage: holdfast show <name> [options]

${describeOptions(SHOW_OPTIONS)}

A mutex, a semaphore and a read/write lock may have the same name: all that are in use are shown. Waiters
are in the order of the queue, up to the first 1000. The last ten forced releases are shown for 30 days.
${STORE_HELP}

Exit codes:
  0   the lock has a holder or a waiter
  1   the lock is free
  2   the command line is wrong
  69  the store is unreachable or refuses

Examples:
  holdfast show deploy
  holdfast show order:42 --store redis://10.0.0.7:6379
  holdfast show deploy --json | jq '.locks[].holders'
  if holdfast show deploy > /dev/null; then echo 'a deployment is under way'; fi`,

  async run(args, io) {
    const given = readMixed(SHOW_OPTIONS, args, io.environment);
    const { values, words } = given;
    if (values.help) return print(io, this.help);
    const name = nameBytesOf(words, values.escaped);
    return withLocks(given, io, async (store) => {
      const found = await store.query((locks) => locks.read(name), []);
      const shown = found.filter(({ lock, forced }) => isInUse(lock) || forced.length > 0);
      const isFree = !shown.some(({ lock }) => isInUse(lock));
      const paint = choosePaint(io, values['no-color']);
      if (values.json) print(io, asJson(store.label, name, shown, isFree));
      else print(io, describe(name, shown, paint).join('\n'));
      return isFree ? FREE : 0;
    });
  },
};

const FREE = 1;

function asJson(
  store: string,
  nameBytes: string,
  shown: readonly FoundLock[],
  isFree: boolean,
): string {
  const at = new Date(systemClock.wallMs()).toISOString();
  const locks = shown.map(({ lock, forced }) => ({
    ...lockData(lock),
    forced: forced.map(forcedData),
  }));
  return safeJson({ store, at, ...textData('name', nameBytes), free: isFree, locks }, 2);
}

function describe(nameBytes: string, shown: readonly FoundLock[], paint: Paint): string[] {
  const title = paint('strong', printable(nameBytes));
  if (shown.length === 0) return [`${title} is free.`];
  return shown.flatMap(({ lock, forced }) => [
    `${title} (${kindText(lock)}): ${stateText(lock)}`,
    ...lock.holders.flatMap(holderLines),
    ...moreLine(lock.holderCount - lock.holders.length, 'hold it'),
    ...lock.waiters.map(waiterLine),
    ...moreLine(lock.waiterCount - lock.waiters.length, 'wait'),
    ...forced.map((each) => `  forced  ${forcedText(each)}`),
  ]);
}

function stateText({ holderCount, waiterCount }: ListedLock): string {
  if (holderCount + waiterCount === 0) return 'free';
  const held = holderCount === 0 ? 'no holder' : `held by ${holderCount}`;
  return waiterCount === 0 ? held : `${held}, ${waiterCount} waiting`;
}

function holderLines(holder: ListedHolder): string[] {
  return [`  holds   ${partyText(holder)}`, `          ${holdingText(holder)}`];
}

function waiterLine(waiter: ListedWaiter, index: number): string {
  const { leaseMs, heldNames = [] } = waiter;
  const wish = leaseMs === undefined ? '' : `, wants ${durationText(leaseMs)}`;
  const held = heldNames.length === 0 ? '' : `, holds ${heldNames.map(printable).join(', ')}`;
  return `  waits   ${index + 1}. ${partyText(waiter)}${wish}${held}`;
}

function moreLine(count: number, verb: string): string[] {
  return count > 0 ? [`          and ${count} more ${verb}`] : [];
}
