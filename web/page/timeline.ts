import type { PageEvent, PageEventType, PageHolder, PageLock } from '../../src/page/protocol.ts';
import { clientText } from './parties.ts';

/** The time from a grant to its end, in the lane of its client. */
export interface Span {
  readonly lane: number;
  readonly owner: string;
  readonly fromMs: number;
  /** Null: it is still held. */
  readonly toMs: number | null;
  readonly waitedMs: number;
  readonly fence: number | null;
  readonly isHandOver: boolean;
  /** The event that ended it. */
  readonly end: PageEventType | null;
}

export interface Timeline {
  readonly lanes: readonly string[];
  readonly spans: readonly Span[];
  readonly fromMs: number;
}

const MAX_SPANS = 40;
const STARTS: ReadonlySet<PageEventType> = new Set(['granted', 'handed-over', 'stole', 'adopted']);
const ENDS: ReadonlySet<PageEventType> = new Set([
  'released',
  'expired',
  'stolen',
  'forced',
  'transferred',
  'session-ended',
]);
/** Ends that the holder did not choose. */
export const LOSSES: ReadonlySet<PageEventType> = new Set([
  'expired',
  'stolen',
  'forced',
  'session-ended',
]);

type OpenSpan = { -readonly [Key in keyof Omit<Span, 'lane'>]: Span[Key] } & { client: string };

/** The newest grants of a lock, from its events (oldest first) and its present holders. */
export function timelineOf(
  events: readonly PageEvent[],
  lock: PageLock | null,
  nowMs: number,
): Timeline {
  const spans = new Map<string, OpenSpan>();
  for (const event of events) addEvent(spans, event);
  for (const holder of lock?.holders ?? []) addHolder(spans, holder, nowMs);
  const held = new Set(lock?.holders.map(({ owner }) => owner));
  const newest = [...spans.values()]
    // An open span that is not held has ended by an event that the history does not have.
    .filter(({ toMs, owner }) => toMs !== null || held.has(owner))
    .sort((a, b) => a.fromMs - b.fromMs)
    .slice(-MAX_SPANS);
  const lanes = [...new Set(newest.map(({ client }) => client))];
  return {
    lanes,
    spans: newest.map(({ client, ...span }) => ({ ...span, lane: lanes.indexOf(client) })),
    fromMs: Math.min(nowMs, ...newest.map(({ fromMs, waitedMs }) => fromMs - waitedMs)),
  };
}

function addEvent(spans: Map<string, OpenSpan>, event: PageEvent): void {
  const { owner, atMs, fence, type } = event;
  if (STARTS.has(type)) {
    spans.set(owner, {
      client: clientText(event.client),
      owner,
      fence,
      fromMs: atMs,
      toMs: null,
      waitedMs: event.waitedMs ?? 0,
      isHandOver: type === 'handed-over',
      end: null,
    });
  } else if (ENDS.has(type)) {
    const span = spans.get(owner) ?? earlierSpan(event);
    span.toMs = atMs;
    span.end = type;
    spans.set(owner, span);
  }
}

/** A lease that began before the first event that is known. */
function earlierSpan({ client, owner, fence, atMs, heldMs }: PageEvent): OpenSpan {
  const fromMs = atMs - (heldMs ?? 0);
  return {
    client: clientText(client),
    owner,
    fence,
    fromMs,
    toMs: null,
    waitedMs: 0,
    isHandOver: false,
    end: null,
  };
}

function addHolder(spans: Map<string, OpenSpan>, holder: PageHolder, nowMs: number): void {
  if (spans.get(holder.owner)?.toMs === null) return;
  spans.set(holder.owner, {
    client: clientText(holder.client),
    owner: holder.owner,
    fence: holder.fence,
    fromMs: holder.sinceMs ?? nowMs,
    toMs: null,
    waitedMs: 0,
    isHandOver: false,
    end: null,
  });
}
