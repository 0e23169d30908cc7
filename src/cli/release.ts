import { hostname, userInfo } from 'node:os';
import {
  type ForcedRelease,
  forceLock,
  type ListedLock,
  LOCK_KINDS,
  readLocks,
} from '../stores/index.ts';
import { ESCAPED_OPTION, nameBytesOf, readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTION } from './ls/store-option.ts';
import { withStore } from './ls/store-visit.ts';
import { holdingText, kindText, partyText } from './ls/words.ts';
import { describeOptions, HELP, type OptionTable, type OptionValues } from './options.ts';
import { printable } from './printable.ts';
import { type Io, print, printError, UsageError, type Verb } from './verb.ts';

const RELEASE_OPTIONS = {
  ...STORE_OPTION,
  force: { short: 'f', help: 'does it; without it nothing is changed' },
  reason: { placeholder: 'text', help: 'why: kept for 30 days, where holdfast show tells it' },
  kind: { placeholder: LOCK_KINDS.join('|'), help: 'which one, if several locks have this name' },
  ...ESCAPED_OPTION,
  help: HELP,
} as const satisfies OptionTable;

type ReleaseValues = OptionValues<typeof RELEASE_OPTIONS>;

/** `holdfast release`: takes a lock from whoever holds it. */
export const release: Verb = {
  options: RELEASE_OPTIONS,
  words: 'locks',

  help: `holdfast release: takes a lock away from whoever holds it

Usage: holdfast release <name> --force --reason <text> [options]

${describeOptions(RELEASE_OPTIONS)}

All who hold the lock lose it. A program that still works under it is not stopped: it learns of it when it
next renews its lease, and its writes are refused where they are checked by the fence, which rises. The
first in line gets the lock at once. Who did this, when and why is kept beside the lock.
${STORE_HELP}

Exit codes:
  0   it was taken from somebody
  1   it is free: nobody held it
  2   --force or --reason is missing, or the command line cannot be understood; nothing was changed
  69  the store cannot be reached, or refuses

Examples:
  holdfast release deploy                       says who would lose it, and does nothing
  holdfast release deploy --force --reason 'host web-3 was switched off'
  holdfast release pool --kind semaphore --force --reason 'leaked permits' --store redis://10.0.0.7`,

  async run(args, io) {
    const { values, words } = readMixed(RELEASE_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const name = nameBytesOf(words, values.escaped);
    check(values);
    return withStore(values.store, io, async (store) => {
      const looks = await store.ask(({ run }) => readLocks(run, name), []);
      const held = heldOnes(looks, values.kind);
      if (held.length > 0 && !values.force) throw new UsageError(held.map(refusal).join(' '));
      const takings: Taking[] = [];
      for (const lock of held) {
        const taking = await store.ask(({ run }) => forceLock(run, lock, note(values)), undefined);
        if (taking !== undefined && taking.before.holderCount > 0) takings.push(taking);
      }
      if (takings.length === 0) return free(name, io);
      return print(io, takings.flatMap(describe).join('\n'));
    });
  },
};

type Looks = Awaited<ReturnType<typeof readLocks>>;
type Taking = Awaited<ReturnType<typeof forceLock>>;

const MOST_REASON = 1000;

function check({ force, reason, kind }: ReleaseValues): void {
  if (force && (reason === undefined || reason.trim() === '')) {
    throw new UsageError("--force needs a --reason '…', which is kept beside the lock.");
  }
  if (reason !== undefined && reason.length > MOST_REASON) {
    throw new UsageError(`--reason has ${reason.length} signs; ${MOST_REASON} are the most.`);
  }
  if (kind !== undefined && !LOCK_KINDS.some((each) => each === kind)) {
    throw new UsageError(`--kind is ${LOCK_KINDS.join(', ')}, not '${kind}'.`);
  }
}

/**
 * What is held, of the kind that was asked for. Of several kinds all, if the same programs hold them: one
 * that keeps out both users of a mutex and of a read/write lock holds two.
 */
function heldOnes(looks: Looks, kind: string | undefined): ListedLock[] {
  const locks = looks.map(({ lock }) => lock).filter(({ holderCount }) => holderCount > 0);
  const held = locks.filter((lock) => kind === undefined || lock.kind === kind);
  if (new Set(held.map(programsOf)).size < 2) return held;
  const kinds = held.map((lock) => `--kind ${lock.kind}`).join(' or ');
  throw new UsageError(`${nameOf(held[0]!)} is held in several kinds, by others: add ${kinds}.`);
}

function programsOf({ holders }: ListedLock): string {
  const programs = holders.map(({ info, owner }) => (info ? `${info.host} ${info.pid}` : owner));
  return [...new Set(programs)].sort().join('\n');
}

function free(nameBytes: string, io: Io): number {
  printError(io, `'${printable(nameBytes)}' is free: nobody holds it.`);
  return 1;
}

function refusal(lock: ListedLock): string {
  const who = lock.holders
    .slice(0, 3)
    .map((holder) => `${partyText(holder)}, ${holdingText(holder)}`);
  const more = lock.holderCount > 3 ? `, and ${lock.holderCount - 3} more` : '';
  const { waiterCount } = lock;
  const waiters = waiterCount > 1 ? `${waiterCount} wait` : `${waiterCount || 'Nobody'} waits`;
  return (
    `${nameOf(lock)} (${kindText(lock)}) is held by ${who.join('; ')}${more}. ${waiters} for it. ` +
    "They would lose it while they may still be at work. To do so add --force --reason '…'."
  );
}

function describe({ before, after }: Taking): string[] {
  const next = after.holders.map((holder) => `  ${partyText(holder)}, fence ${holder.fence}`);
  return [
    `${nameOf(before)} (${kindText(before)}) was taken from`,
    ...before.holders.map((holder) => `  ${partyText(holder)}: ${holdingText(holder)}`),
    ...(before.holderCount > before.holders.length ? ['  and others'] : []),
    ...(next.length === 0 ? ['It is free now.'] : ['It was handed to', ...next]),
  ];
}

function nameOf({ nameBytes }: ListedLock): string {
  return printable(nameBytes);
}

function note({ reason = '' }: ReleaseValues): Omit<ForcedRelease, 'atMs' | 'holders'> {
  return { host: hostname(), pid: process.pid, user: userName(), reason };
}

/** In a container a process may have a number for its user, and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
