import {
  type ForcedRelease,
  type ListedHolder,
  type ListedLock,
  type ListedWaiter,
  WRITER_PERMITS,
} from '../../stores/index.ts';
import { shortenWord } from '../lab/text-width.ts';
import { messageText, printable, printableText } from '../printable.ts';

export function isInUse({ holderCount, waiterCount }: ListedLock): boolean {
  return holderCount + waiterCount > 0;
}

/** The kind of a lock as it is printed; of a read/write lock the side that holds it. */
export function kindText({ kind, holders }: Pick<ListedLock, 'kind' | 'holders'>): string {
  if (kind !== 'rw') return kind;
  const [first] = holders;
  if (first === undefined) return 'read/write';
  return isWriter(first) ? 'write' : 'read';
}

/** The first holder, for a column: host, process and label. */
export function holderText({
  holders,
  holderCount,
}: Pick<ListedLock, 'holders' | 'holderCount'>): string {
  const [first] = holders;
  if (first === undefined) return '(none)';
  const { info } = first;
  const others = holderCount > 1 ? ` +${holderCount - 1}` : '';
  if (info === undefined) return `(another program) ${foreignText(first)}${others}`;
  const label = info.label === '' ? '' : ` ${printableText(info.label)}`;
  return `${printableText(info.host)}:${info.pid}${label}${others}`;
}

/** A holder or waiter in a sentence. */
export function partyText(party: ListedHolder | ListedWaiter): string {
  const { info, permits } = party;
  if (info === undefined) return `another program, value ${foreignText(party)}`;
  const label = info.label === '' ? '' : `, “${printableText(info.label)}”`;
  return `${printableText(info.host)}, pid ${info.pid}${label}${permitsText(permits)}`;
}

/** The value that another program has written; of a key that is no string, its type. */
function foreignText(party: ListedHolder | ListedWaiter): string {
  const type = 'foreignType' in party ? party.foreignType : undefined;
  return foreignValue(type ?? 'string', shortValue(party.owner, printable));
}

/** The same for a value that is printable already. For a key that is no string only the type is known. */
export function foreignValue(type: string, printed: string): string {
  return type === 'string' ? printed : `(${messageText(type)})`;
}

function permitsText(permits: number): string {
  if (permits === WRITER_PERMITS) return ' (writes)';
  return permits > 1 ? ` (${permits} permits)` : '';
}

/** Times and fence of a holder, with commas between them. */
export function holdingText({ ageMs, leftMs, fence, info, owner }: ListedHolder): string {
  return [
    ...(ageMs === undefined ? [] : [`for ${durationText(ageMs)}`]),
    leftText(leftMs ?? Number.POSITIVE_INFINITY),
    ...(fence === undefined ? [] : [`fence ${fence}`]),
    ...(info === undefined ? [] : [`owner ${printable(owner)}`]),
  ].join(', ');
}

/** The remaining lease or TTL; Infinity: there is none. */
export function leftText(leftMs: number): string {
  return leftMs === Number.POSITIVE_INFINITY ? 'no end' : `${durationText(leftMs)} left`;
}

/** A duration in a column of a table; `-` if it is unknown. */
export function timeCell(ms: number | undefined): string {
  return ms === undefined ? '-' : durationText(ms);
}

/**
 * A value or key of another program, of any length, made printable by `toPrintable`. Keeps both ends, which
 * distinguish it from others. Cuts the middle before escaping: escaping megabytes would take seconds.
 */
export function shortValue(value: string, toPrintable: (value: string) => string): string {
  if (value === '') return '(empty)';
  const ends = value.length > 2 * MAX_END ? value.slice(0, MAX_END) + value.slice(-MAX_END) : value;
  return shortenWord(toPrintable(ends), MAX_VALUE_WIDTH);
}

/** In columns of a terminal: a UUID fits. */
const MAX_VALUE_WIDTH = 40;
/** In chars: more than fit, and more than our scripts send. */
const MAX_END = 1024;

export function forcedText({ atMs, host, pid, user, reason, holders }: ForcedRelease): string {
  const who = `${printableText(user)}@${printableText(host)}, pid ${pid}`;
  const lost = holders === 1 ? '1 holder' : `${holders} holders`;
  return `${timeText(atMs)} by ${who}, from ${lost}: “${printableText(reason)}”`;
}

export function isWriter({ permits }: ListedHolder): boolean {
  return permits === WRITER_PERMITS;
}

/** A time in UTC, to the second. */
export function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Two units at most: `0.4s`, `24s`, `2m05s`, `3h12m`, `4d03h`. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return pair(seconds, [60, 'm'], [1, 's']);
  if (seconds < 86_400) return pair(seconds, [3600, 'h'], [60, 'm']);
  return pair(seconds, [86_400, 'd'], [3600, 'h']);
}

type Unit = readonly [seconds: number, sign: string];

function pair(seconds: number, [large, largeSign]: Unit, [small, smallSign]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${largeSign}${String(rest).padStart(2, '0')}${smallSign}`;
}

/** `1 lock`, `2 locks`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
