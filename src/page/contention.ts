import { bucketOf, histogramOf, newBuckets } from './duration-histogram.ts';
import { groupOf } from './lock-group.ts';
import type { ContentionFacts, ContentionGroup, PageEvent } from './protocol.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** The groups that are shown, beside OTHERS. */
const MAX_GROUPS = 100;
/** The groups that are counted in a minute, so that those with the most waiting can be found. */
const MAX_COUNTED = 1000;
const OTHERS = '(others)';
/** The newest losses that are kept, of each reason. */
const MAX_RECENT = 8;

type Field = 'waits' | 'grants' | 'waitedMs';
type Counts = Record<Field, number>;

/** What happened in one minute. */
interface Minute {
  readonly number: number;
  readonly groups: Map<string, Counts>;
  readonly wait: number[];
  readonly hold: number[];
  readonly losses: Map<string, number>;
}

const GRANTS: ReadonlySet<string> = new Set(['granted', 'handed-over', 'stole', 'adopted']);
const LOSSES: ReadonlySet<string> = new Set(['expired', 'stolen', 'forced', 'session-ended']);

/** Counts the events of the last hour by minutes and groups of locks. An event takes constant time. */
export class Contention {
  /** A ring: the minute with the number n is at n % MINUTES. */
  readonly #minutes: (Minute | undefined)[] = new Array<undefined>(MINUTES).fill(undefined);

  readonly #recentLosses = new Map<string, PageEvent[]>();

  add(event: PageEvent): void {
    const { atMs, type, name, heldMs, waitedMs } = event;
    const minute = this.#minuteAt(atMs);
    if (minute === undefined) return;
    const counts = countsOf(minute.groups, groupOf(name));
    if (type === 'waiting') counts.waits++;
    if (GRANTS.has(type)) counts.grants++;
    if (LOSSES.has(type)) {
      minute.losses.set(type, (minute.losses.get(type) ?? 0) + 1);
      const recent = [...(this.#recentLosses.get(type) ?? []), event];
      this.#recentLosses.set(type, recent.slice(-MAX_RECENT));
    }
    if (waitedMs !== null) {
      counts.waitedMs += waitedMs;
      minute.wait[bucketOf(waitedMs)]!++;
    }
    if (heldMs !== null) minute.hold[bucketOf(heldMs)]!++;
  }

  /** Forgets all: the ids of events begin again. */
  clear(): void {
    this.#minutes.fill(undefined);
    this.#recentLosses.clear();
  }

  facts(nowMs: number): ContentionFacts {
    const first = Math.floor(nowMs / MINUTE_MS) - MINUTES + 1;
    const minutes = Array.from({ length: MINUTES }, (_, index) => this.#at(first + index));
    const total = (field: 'wait' | 'hold'): number[] =>
      newBuckets().map((_, bucket) =>
        minutes.reduce((sum, minute) => sum + (minute?.[field][bucket] ?? 0), 0),
      );
    return {
      fromMs: first * MINUTE_MS,
      groups: groupsOf(minutes),
      wait: histogramOf(total('wait')),
      hold: histogramOf(total('hold')),
      losses: lossesIn(minutes),
      recentLosses: [...this.#recentLosses.values()]
        .flat()
        .filter(({ atMs }) => atMs >= first * MINUTE_MS),
    };
  }

  #at(number: number): Minute | undefined {
    const minute = this.#minutes[number % MINUTES];
    return minute?.number === number ? minute : undefined;
  }

  /** Undefined: the time is more than an hour before the newest event. */
  #minuteAt(atMs: number): Minute | undefined {
    const number = Math.max(0, Math.floor(atMs / MINUTE_MS));
    const known = this.#minutes[number % MINUTES];
    if (known !== undefined && known.number >= number) {
      return known.number === number ? known : undefined;
    }
    const minute = {
      number,
      groups: new Map(),
      wait: newBuckets(),
      hold: newBuckets(),
      losses: new Map(),
    };
    this.#minutes[number % MINUTES] = minute;
    return minute;
  }
}

function countsOf(groups: Map<string, Counts>, group: string): Counts {
  const name = groups.has(group) || groups.size < MAX_COUNTED ? group : OTHERS;
  const known = groups.get(name);
  if (known !== undefined) return known;
  const counts = { waits: 0, grants: 0, waitedMs: 0 };
  groups.set(name, counts);
  return counts;
}

type Lists = Record<Field, number[]>;

/** The groups with the most waiting first; the rest together. */
function groupsOf(minutes: readonly (Minute | undefined)[]): ContentionGroup[] {
  const lists = new Map<string, Lists>();
  for (const [index, minute] of minutes.entries()) {
    for (const [group, counts] of minute?.groups ?? []) addCounts(lists, group, index, counts);
  }
  const others = lists.get(OTHERS);
  lists.delete(OTHERS);
  const sorted = [...lists].sort(([, one], [, other]) => weight(other) - weight(one));
  const rest = [...sorted.slice(MAX_GROUPS).map(([, list]) => list), ...(others ? [others] : [])];
  const groups = sorted.slice(0, MAX_GROUPS).map(([group, list]) => ({ group, ...list }));
  return rest.length === 0 ? groups : [...groups, { group: OTHERS, ...sumOf(rest) }];
}

function addCounts(lists: Map<string, Lists>, group: string, index: number, counts: Counts): void {
  const list = lists.get(group) ?? newLists();
  lists.set(group, list);
  for (const field of FIELDS) list[field][index]! += counts[field];
}

function sumOf(all: readonly Lists[]): Lists {
  const sum = newLists();
  for (const lists of all) {
    for (const field of FIELDS) {
      for (const [index, count] of lists[field].entries()) sum[field][index]! += count;
    }
  }
  return sum;
}

function newLists(): Lists {
  const zeros = (): number[] => new Array<number>(MINUTES).fill(0);
  return { waits: zeros(), grants: zeros(), waitedMs: zeros() };
}

const FIELDS = ['waits', 'grants', 'waitedMs'] as const;

/** By the time that requests have waited, then by their number. */
function weight({ waits, grants, waitedMs }: Lists): number {
  const total = (list: readonly number[]): number => list.reduce((sum, count) => sum + count, 0);
  return total(waitedMs) * 1e6 + total(waits) * 1e3 + total(grants);
}

function lossesIn(minutes: readonly (Minute | undefined)[]): Record<string, number> {
  const losses: Record<string, number> = {};
  for (const minute of minutes) {
    for (const [type, count] of minute?.losses ?? []) losses[type] = (losses[type] ?? 0) + count;
  }
  return losses;
}
