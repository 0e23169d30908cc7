import { systemClock } from '../clock/index.ts';
import { type Duration, durationMs, LockArgumentError } from '../lock/index.ts';
import { type LockHistoryEvent, readHistory } from '../stores/index.ts';
import { bytesOf } from './bytes.ts';
import { choosePaint, type Paint } from './console/paint.ts';
import { textData } from './ls/as-json.ts';
import { ESCAPED_OPTION, nameBytesOf, readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { withServers } from './ls/store-reader.ts';
import { durationText } from './ls/words.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { readPrefix } from './prefix-option.ts';
import { printable, printableText, safeJson } from './printable.ts';
import { print, UsageError, type Verb } from './verb.ts';

const HISTORY_OPTIONS = {
  ...STORE_OPTIONS,
  since: { placeholder: 'time', help: 'only what happened in this time, such as 10m or 2h' },
  count: {
    placeholder: 'n',
    help: 'the newest n events, 10000 at most; if not given 100, or 10000 with --since',
  },
  ...ESCAPED_OPTION,
  json: { help: 'prints each event as a line of JSON' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

/** `holdfast history`: what happened to locks. */
export const history: Verb = {
  options: HISTORY_OPTIONS,
  words: 'locks',

  help: `holdfast history: prints what happened to locks, oldest first

Usage: holdfast history [name] [options]

${describeOptions(HISTORY_OPTIONS)}

Prints who waited, was granted a lock, released it, lost it or left the queue, with the time since the
grant or since the wait began. holdfast serve keeps the newest events in memory, up to 64 MB (the setting
lock-history-size); a restart forgets them. A Redis keeps none. Without a name the user of the store needs
the right to HOLDFAST.HISTORY ALL.
${STORE_HELP}

Exit codes:
  0   the events were printed, even if there are none
  2   the command line is wrong
  69  the store is unreachable, refuses, or keeps no history

Examples:
  holdfast history --store redis://10.0.0.7:6379
  holdfast history order:42 --since 10m --store redis://10.0.0.7:6379
  holdfast history --json --count 10000 | jq 'select(.type == "expired")'`,

  async run(args, io) {
    const given = readMixed(HISTORY_OPTIONS, args, io.environment);
    const { values, words } = given;
    if (values.help) return print(io, this.help);
    const nameBytes = words.length === 0 ? undefined : nameBytesOf(words, values.escaped);
    const prefix = bytesOf(readPrefix(values));
    const count = readCount(values.count ?? (values.since === undefined ? '100' : `${MAX_COUNT}`));
    const sinceMs = values.since === undefined ? 0 : readSince(values.since);
    return withServers(given, io, async (store) => {
      const read = await store.query(
        ({ send }) => readHistory(send, { nameBytes, prefix, count }),
        [],
      );
      const events = read.filter(({ atMs }) => atMs >= sinceMs);
      const paint = choosePaint(io, values['no-color']);
      if (values.json) for (const event of events) print(io, safeJson(eventData(event)));
      else if (events.length === 0) print(io, 'There are no events.');
      else print(io, events.map((event) => eventLine(event, paint)).join('\n'));
      return 0;
    });
  },
};

const MAX_COUNT = 10_000;

function readCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_COUNT) return count;
  throw new UsageError(`--count is a whole number from 1 to ${MAX_COUNT}; got '${text}'.`);
}

/** The wall time from which on events are shown. */
function readSince(text: string): number {
  try {
    return systemClock.wallMs() - durationMs(text as Duration, 'since', '', { leastMs: 1 });
  } catch (error) {
    if (!(error instanceof LockArgumentError)) throw error;
    throw new UsageError(`--since is a duration such as 30s, 10m or 2h; got '${text}'.`);
  }
}

function eventLine(event: LockHistoryEvent, paint: Paint): string {
  const { atMs, type, kind, nameBytes, fence, heldMs, waitedMs } = event;
  const name = `${printable(nameBytes)}${kind === 'mutex' ? '' : ` (${KINDS[kind]})`}`;
  const details = [
    ...(fence === undefined ? [] : [`fence ${fence}`]),
    ...(heldMs === undefined ? [] : [`held for ${durationText(heldMs)}`]),
    ...(waitedMs === undefined ? [] : [`waited for ${durationText(waitedMs)}`]),
  ];
  const time = new Date(atMs).toISOString();
  const line = `${paint('faint', time)}  ${paint('strong', name)}  ${type}  ${partyText(event)}`;
  return details.length === 0 ? line : `${line}  ${paint('faint', details.join(', '))}`;
}

const KINDS = { semaphore: 'semaphore', rw: 'read/write' } as const;

function partyText({ info, owner }: LockHistoryEvent): string {
  if (info === undefined) return `(another program) ${printable(owner)}`;
  const label = info.label === '' ? '' : ` “${printableText(info.label)}”`;
  return `${printableText(info.host)}:${info.pid}${label}`;
}

function eventData(event: LockHistoryEvent): object {
  const { id, atMs, type, kind, nameBytes, owner, info, fence, heldMs, waitedMs } = event;
  const { host = null, pid = null, label = null } = info ?? {};
  return {
    id,
    at: new Date(atMs).toISOString(),
    type,
    kind,
    ...textData('name', nameBytes),
    ...textData('owner', owner),
    host,
    pid,
    label,
    fence: fence ?? null,
    heldMs: heldMs ?? null,
    waitedMs: waitedMs ?? null,
  };
}
