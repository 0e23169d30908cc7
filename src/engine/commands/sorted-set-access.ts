import { DoubleReply, type Reply } from '../../resp/index.ts';
import { WRONG_TYPE } from '../errors.ts';
import { formatFloat64 } from '../number.ts';
import type { Session } from '../session.ts';
import { type Entries, SortedSetValue } from '../sorted-set-value.ts';

/** The sorted set at a key, for a command that writes: counts neither as a hit nor as a miss. */
export function sortedSetToChange({ database }: Session, key: string): SortedSetValue | undefined {
  const value = database.peek(key);
  if (value === undefined || value instanceof SortedSetValue) return value;
  throw WRONG_TYPE;
}

/** Must be called after members were removed: publishes the event, and deletes an empty sorted set. */
export function membersLeft(
  { database }: Session,
  event: string,
  key: string,
  value: SortedSetValue,
): void {
  database.changed(key);
  database.notify('zset', event, key);
  database.deleteIfEmpty(key, value);
}

/** Adds the entries to `value` and stores it at `key`. An empty result deletes the key. Returns the size. */
export function storeResult(
  { database, engine }: Session,
  event: string,
  key: string,
  { members, scores }: Entries,
  value = new SortedSetValue(engine.journal),
): number {
  if (members.length === 0) {
    if (database.delete(key)) database.notify('generic', 'del', key);
    return 0;
  }
  for (let at = 0; at < members.length; at++) value.set(members[at]!, scores[at]!);
  database.set(key, value);
  database.notify('zset', event, key);
  return value.size;
}

/** Reverses the entries in place. */
export function reversed(entries: Entries): Entries {
  entries.members.reverse();
  entries.scores.reverse();
  return entries;
}

export function scoreReply(score: number): Reply {
  return new DoubleReply(score, formatFloat64(score));
}

export function pairReply(member: string, score: number): Reply {
  return [member, scoreReply(score)];
}

/** Members with scores: pairs in RESP3, a flat array in RESP2. */
export function scoredReply(session: Session, { members, scores }: Entries): Reply {
  if (session.protocol === 3) return members.map((member, at) => pairReply(member, scores[at]!));
  const flat: string[] = [];
  for (let at = 0; at < members.length; at++) {
    flat.push(members[at]!, formatFloat64(scores[at]!));
  }
  return flat;
}
