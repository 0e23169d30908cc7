import type { GrowingBytes } from '../resp/index.ts';
import { NEVER } from './deadline-heap.ts';
import { INT64_MAX } from './errors.ts';
import { formatFloat64 } from './number.ts';
import type { Collection } from './value.ts';

/** The commands that add elements to a collection of each type. */
const ADD = { hash: 'HSET', list: 'RPUSH', set: 'SADD', zset: 'ZADD' } as const;

/**
 * Appends a command that adds up to `count` elements of a collection to the key, from `cursor` on; 0 is the begin.
 * Returns the next cursor, 0 at the end. Elements that stay while the calls go on are all added, perhaps twice, but
 * those of a list only if nothing changes it.
 */
export function writeElements(
  bytes: GrowingBytes,
  key: string,
  value: Collection,
  cursor: number,
  count: number,
): number {
  const args: string[] = [];
  const next = collect(value, cursor, count, args);
  if (args.length > 0) writeCommand(bytes, ADD[value.type], key, args);
  return next;
}

/** Appends all elements of a collection, in commands of a moderate length. Returns the number of commands. */
export function writeAllElements(bytes: GrowingBytes, key: string, value: Collection): number {
  let cursor = 0;
  let commands = 0;
  do {
    cursor = writeElements(bytes, key, value, cursor, ELEMENTS_PER_COMMAND);
    commands++;
  } while (cursor !== 0);
  return commands;
}

export function writeCommand(
  bytes: GrowingBytes,
  name: string,
  key: string,
  args: readonly string[],
): void {
  bytes.text(`*${args.length + 2}\r\n`);
  bytes.bulk(name);
  bytes.bulk(key);
  for (let at = 0; at < args.length; at++) bytes.bulk(args[at]!);
}

/** Appends a command that sets a string, with its deadline as a wall time. */
export function writeString(
  bytes: GrowingBytes,
  key: string,
  value: string,
  deadlineMs: number,
  wallOffsetMs: number,
): void {
  bytes.text(deadlineMs === NEVER ? '*3\r\n$3\r\nSET\r\n' : '*5\r\n$3\r\nSET\r\n');
  bytes.bulk(key);
  bytes.bulk(value);
  if (deadlineMs === NEVER) return;
  bytes.text('$4\r\nPXAT\r\n');
  bytes.bulk(wallText(deadlineMs, wallOffsetMs));
}

/** The wall time of a deadline, rounded up: a lock must not expire early. */
export function wallText(deadlineMs: number, wallOffsetMs: number): string {
  const wallMs = Math.ceil(deadlineMs + wallOffsetMs);
  return wallMs < MAX_WALL_MS ? String(wallMs) : String(INT64_MAX);
}

function collect(value: Collection, cursor: number, count: number, args: string[]): number {
  switch (value.type) {
    case 'hash':
      return value.scan(cursor, count, (slot) =>
        args.push(value.fieldAt(slot), value.valueAt(slot)),
      );
    case 'set':
      return value.scan(cursor, count, (member) => args.push(member));
    case 'zset': {
      const [members, scores] = [value.members(), value.scores()];
      return value.scan(cursor, count, (slot) =>
        args.push(formatFloat64(scores[slot]!), members[slot]!),
      );
    }
    case 'list': {
      const end = Math.min(cursor + count, value.size);
      if (cursor >= end) return 0;
      for (const element of value.slice(cursor, end)) args.push(element);
      return end === value.size ? 0 : end;
    }
  }
}

const ELEMENTS_PER_COMMAND = 64;
/** JavaScript would print a number that is larger than Redis accepts. */
const MAX_WALL_MS = 2 ** 63;
