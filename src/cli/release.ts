import { hostname, userInfo } from 'node:os';
import {
  type DoneRelease,
  type FoundLock,
  type ListedLock,
  LOCK_KINDS,
  type LockSource,
  type OperatorNote,
} from '../stores/index.ts';
import { type LockRow, lockRows } from './ls/lock-rows.ts';
import { ESCAPED_OPTION, nameBytesOf, readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { withLocks } from './ls/store-reader.ts';
import { durationText, holdingText, kindText, partyText } from './ls/words.ts';
import { describeOptions, HELP, type OptionTable, type OptionValues } from './options.ts';
import { printable } from './printable.ts';
import { type Io, print, printError, UsageError, type Verb } from './verb.ts';

const RELEASE_OPTIONS = {
  ...STORE_OPTIONS,
  force: { short: 'f', help: 'releases the lock; without it nothing is changed' },
  reason: { placeholder: 'text', help: 'the reason, which holdfast show prints for 30 days' },
  kind: {
    placeholder: LOCK_KINDS.join('|'),
    help: 'the kind, if locks of several kinds have this name',
  },
  ...ESCAPED_OPTION,
  help: HELP,
} as const satisfies OptionTable;

type ReleaseValues = OptionValues<typeof RELEASE_OPTIONS>;

/** `holdfast release`: releases a lock by force. */
export const release: Verb = {
  options: RELEASE_OPTIONS,
  words: 'locks',

  help: `holdfast release: takes a lock away from its holders

Usage: holdfast release <name> --force --reason <text> [options]

${describeOptions(RELEASE_OPTIONS)}

All holders lose the lock. The release does not stop a holder that still works: it is notified at its next
renewal, and writes that check the fence refuse it, since the fence rises. The first waiter gets the lock
at once. User, host, time and reason of the release are kept beside the lock.
${STORE_HELP}

Exit codes:
  0   the lock was taken from its holders
  1   the lock is free: it had no holder
  2   --force or --reason is missing, or the command line is wrong; nothing was changed
  69  the store is unreachable or refuses

Examples:
  holdfast release deploy                       prints the holders, and changes nothing
  holdfast release deploy --force --reason 'host web-3 was switched off'
  holdfast release pool --kind semaphore --force --reason 'leaked permits' --store redis://10.0.0.7`,

  async run(args, io) {
    const given = readMixed(RELEASE_OPTIONS, args, io.environment);
    const { values, words } = given;
    if (values.help) return print(io, this.help);
    const name = nameBytesOf(words, values.escaped);
    check(values);
    return withLocks(given, io, async (store) => {
      const found = await store.query((locks) => locks.read(name), []);
      const held = heldOnes(found, values.kind);
      if (held.length > 0 && !values.force) return refuse(held, io);
      const releases: DoneRelease[] = [];
      let keepsReasons = true;
      for (const lock of held) {
        const force = (locks: LockSource): Promise<DoneRelease | undefined> => {
          keepsReasons = locks.keepsReasons;
          return locks.force(lock, note(values));
        };
        const done = await store.query(force, undefined);
        if (done !== undefined && done.before.holderCount > 0) releases.push(done);
      }
      if (releases.length === 0) return free(name, io);
      if (!keepsReasons) printError(io, `${store.label} does not keep the reason.`);
      return print(io, releases.flatMap(describe).join('\n'));
    });
  },
};

const MAX_REASON = 1000;

function check({ force, reason, kind }: ReleaseValues): void {
  if (force && (reason === undefined || reason.trim() === '')) {
    throw new UsageError("--force needs a --reason '…', which is kept beside the lock.");
  }
  if (reason !== undefined && reason.length > MAX_REASON) {
    throw new UsageError(`--reason has ${reason.length} characters; the maximum is ${MAX_REASON}.`);
  }
  if (kind !== undefined && !LOCK_KINDS.some((each) => each === kind)) {
    throw new UsageError(`--kind is ${LOCK_KINDS.join(', ')}, not '${kind}'.`);
  }
}

/**
 * The held locks of the given kind. Without one, of all kinds, if the same processes hold them: an exclusive
 * `holdfast run` holds a mutex and a read/write lock of one name. Throws UsageError if different processes do.
 */
function heldOnes(found: readonly FoundLock[], kind: string | undefined): ListedLock[] {
  const locks = found.map(({ lock }) => lock).filter(({ holderCount }) => holderCount > 0);
  const held = locks.filter((lock) => kind === undefined || lock.kind === kind);
  if (new Set(held.map(programsOf)).size < 2) return held;
  const kinds = held.map((lock) => `--kind ${lock.kind}`).join(' or ');
  throw new UsageError(
    `${nameOf(held[0]!)} is held in several kinds by different processes: add ${kinds}.`,
  );
}

function programsOf({ holders }: ListedLock): string {
  const programs = holders.map(({ info, owner }) => (info ? `${info.host} ${info.pid}` : owner));
  return [...new Set(programs)].sort().join('\n');
}

function free(nameBytes: string, io: Io): number {
  printError(io, `'${printable(nameBytes)}' is free: it has no holder.`);
  return 1;
}

const MAX_NAMED = 3;

/** Three short lines, or one more for each further kind that the same programs hold. Nothing was changed. */
function refuse(locks: readonly ListedLock[], io: Io): number {
  const rows = lockRows(locks);
  for (const row of rows)
    printError(io, `${nameOf(row)} (${row.kind}) is held by ${holdersText(row)}.`);
  const waiters = rows.reduce((sum, { waiterCount }) => sum + waiterCount, 0);
  printError(
    io,
    `Waiting: ${waiters}. A forced release does not stop the holder: it may still be at work.`,
  );
  printError(io, "To take the lock away all the same, add --force --reason '…'.");
  return USAGE;
}

const USAGE = 2;

function holdersText({ holders, holderCount }: LockRow): string {
  const named = holders.slice(0, MAX_NAMED).map((holder) => {
    const age = holder.ageMs === undefined ? '' : ` for ${durationText(holder.ageMs)}`;
    return `${partyText(holder)}${age}`;
  });
  const more = holderCount > MAX_NAMED ? `, and ${holderCount - MAX_NAMED} more` : '';
  return `${named.join('; ')}${more}`;
}

function describe({ before, after }: DoneRelease): string[] {
  const next = after.holders.map((holder) => {
    const fence = holder.fence === undefined ? '' : `, fence ${holder.fence}`;
    return `  ${partyText(holder)}${fence}`;
  });
  return [
    `${nameOf(before)} (${kindText(before)}) was taken from`,
    ...before.holders.map((holder) => `  ${partyText(holder)}: ${holdingText(holder)}`),
    ...(before.holderCount > before.holders.length ? ['  and others'] : []),
    ...(next.length === 0 ? ['It is free now.'] : ['It was handed to', ...next]),
  ];
}

function nameOf({ nameBytes }: Pick<ListedLock, 'nameBytes'>): string {
  return printable(nameBytes);
}

function note({ reason = '' }: ReleaseValues): OperatorNote {
  return { host: hostname(), pid: process.pid, user: userName(), reason };
}

/** In a container the user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
