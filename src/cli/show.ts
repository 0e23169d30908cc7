import { systemClock } from '../clock/index.ts';
import {
  type ListedHolder,
  type ListedLock,
  type ListedWaiter,
  readLocks,
} from '../stores/index.ts';
import { choosePaint, type Paint } from './console/paint.ts';
import { forcedData, lockData, textData } from './ls/as-json.ts';
import { ESCAPED_OPTION, nameBytesOf, readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTION } from './ls/store-option.ts';
import { withStore } from './ls/store-visit.ts';
import { durationText, forcedText, holdingText, isInUse, kindText, partyText } from './ls/words.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { printable, safeJson } from './printable.ts';
import { print, type Verb } from './verb.ts';

const SHOW_OPTIONS = {
  ...STORE_OPTION,
  ...ESCAPED_OPTION,
  json: { help: 'prints all that is known as JSON' },
  'no-color': { help: 'no colours; so does the variable NO_COLOR' },
  help: HELP,
} as const satisfies OptionTable;

type Looks = Awaited<ReturnType<typeof readLocks>>;

/** `holdfast show`: everything that is known of the locks of one name. */
export const show: Verb = {
  options: SHOW_OPTIONS,
  words: 'locks',

  help: `holdfast show: tells who holds a lock and who waits for it

Usage: holdfast show <name> [options]

${describeOptions(SHOW_OPTIONS)}

A mutex, a semaphore and a read/write lock may have the same name: all are shown that are in use. Waiters
stand in the order in which they will be served, up to the first 1000. Releases by force are told for
30 days, the last ten.
${STORE_HELP}

Exit codes:
  0   somebody holds it or waits for it
  1   it is free
  2   the command line cannot be understood
  69  the store cannot be reached, or refuses

Examples:
  holdfast show deploy
  holdfast show order:42 --store redis://10.0.0.7:6379
  holdfast show deploy --json | jq '.locks[].holders'
  if holdfast show deploy > /dev/null; then echo 'a deployment is under way'; fi`,

  async run(args, io) {
    const { values, words } = readMixed(SHOW_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const name = nameBytesOf(words, values.escaped);
    return withStore(values.store, io, async (store) => {
      const looks = await store.ask(({ run }) => readLocks(run, name), [] as Looks);
      const told = looks.filter(({ lock, forced }) => isInUse(lock) || forced.length > 0);
      const isFree = !told.some(({ lock }) => isInUse(lock));
      const paint = choosePaint(io, values['no-color']);
      if (values.json) print(io, asJson(store.label, name, told, isFree));
      else print(io, describe(name, told, paint).join('\n'));
      return isFree ? FREE : 0;
    });
  },
};

const FREE = 1;

function asJson(store: string, nameBytes: string, told: Looks, isFree: boolean): string {
  const at = new Date(systemClock.wallMs()).toISOString();
  const locks = told.map(({ lock, forced }) => ({
    ...lockData(lock),
    forced: forced.map(forcedData),
  }));
  return safeJson({ store, at, ...textData('name', nameBytes), free: isFree, locks }, 2);
}

function describe(nameBytes: string, told: Looks, paint: Paint): string[] {
  const title = paint('strong', printable(nameBytes));
  if (told.length === 0) return [`${title} is free.`];
  return told.flatMap(({ lock, forced }) => [
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
  const held = holderCount === 0 ? 'held by nobody' : `held by ${holderCount}`;
  return waiterCount === 0 ? held : `${held}, ${waiterCount} waiting`;
}

function holderLines(holder: ListedHolder): string[] {
  return [`  holds   ${partyText(holder)}`, `          ${holdingText(holder)}`];
}

function waiterLine(waiter: ListedWaiter, index: number): string {
  return `  waits   ${index + 1}. ${partyText(waiter)}, wants ${durationText(waiter.leaseMs)}`;
}

function moreLine(count: number, verb: string): string[] {
  return count > 0 ? [`          and ${count} more ${verb}`] : [];
}
