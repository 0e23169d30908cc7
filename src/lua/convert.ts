import type { Reply } from '../resp/index.ts';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NullArrayReply,
  PushReply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from '../resp/index.ts';
import { spend } from './budget.ts';
import { formatGeneral } from './format-number.ts';
import { allocate, VALUE_BYTES } from './memory.ts';
import { untilNul } from './number.ts';
import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

/** Tables nested deeper than this end in an error reply, as circular ones must. */
const MAX_REPLY_DEPTH = 400;

/** Bytes that V8 uses for the reply that a table becomes, and for each item that it holds. */
const REPLY_BYTES = 64;
const ITEM_BYTES = 16;

/** Error and status replies are cut to this length: they are handled as one line in many places. */
export const MAX_LINE = 64 * 1024;

/** Converts a script's result to a reply. `protocol` is the one that redis.setresp selected. */
export function toReply(value: LuaValue, protocol: 2 | 3, depth = 0): Reply {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return toIntegerReply(value);
    case 'boolean':
      if (protocol === 3) return value;
      return value ? 1 : null;
  }
  if (!(value instanceof LuaTable)) return null;
  if (depth >= MAX_REPLY_DEPTH) return new ErrorReply('ERR reached lua stack limit');
  allocate(REPLY_BYTES);
  return toTaggedReply(value, protocol, depth) ?? toArrayReply(value, protocol, depth);
}

/** C's cast to a 64-bit integer. A value that does not fit becomes the smallest one, as on x86. */
function toIntegerReply(value: number): number | bigint {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole + 0;
  if (whole >= -(2 ** 63) && whole < 2 ** 63) return BigInt(whole);
  return -(2n ** 63n);
}

/** Charges for one item. A table that occurs several times in a result is converted and charged each time. */
function payForItem(): void {
  allocate(ITEM_BYTES);
  spend(1);
}

function toArrayReply(table: LuaTable, protocol: 2 | 3, depth: number): Reply[] {
  const items: Reply[] = [];
  for (let at = 1; ; at++) {
    const item = table.getNumber(at);
    if (item === undefined) return items;
    payForItem();
    items.push(toReply(item, protocol, depth + 1));
  }
}

/** Converts a table with a field that has a meaning for Redis. The order of the checks is that of Redis. */
function toTaggedReply(table: LuaTable, protocol: 2 | 3, depth: number): Reply | undefined {
  const { err, ok, double, big_number, verbatim_string, map, set } = tags(table);
  if (typeof err === 'string') return errorReply(err);
  if (typeof ok === 'string') return new SimpleReply(oneLine(untilNul(ok)));
  if (typeof double === 'number') return doubleReply(double);
  if (typeof big_number === 'string') return new BigNumberReply(oneLine(big_number));
  const verbatim = toVerbatim(verbatim_string);
  if (verbatim !== undefined) return verbatim;
  if (map instanceof LuaTable) return toMap(map, protocol, depth);
  if (set instanceof LuaTable) return toSet(set, protocol, depth);
  return undefined;
}

function tags(table: LuaTable) {
  return {
    err: table.getString('err'),
    ok: table.getString('ok'),
    double: table.getString('double'),
    big_number: table.getString('big_number'),
    verbatim_string: table.getString('verbatim_string'),
    map: table.getString('map'),
    set: table.getString('set'),
  };
}

/** An error line: cut at the first NUL, trimmed of line ends, which become spaces inside. */
export function errorReply(text: string): ErrorReply {
  return new ErrorReply(oneLine(trimLineEnds(untilNul(text.slice(0, MAX_LINE)))));
}

function doubleReply(value: number): DoubleReply {
  return new DoubleReply(value, formatGeneral(value, 17));
}

function toVerbatim(value: LuaValue): VerbatimReply | undefined {
  if (!(value instanceof LuaTable)) return undefined;
  const format = value.getString('format');
  const text = value.getString('string');
  if (typeof format !== 'string' || typeof text !== 'string') return undefined;
  return new VerbatimReply(untilNul(format).slice(0, 3).padEnd(3, ' '), text);
}

function toMap(table: LuaTable, protocol: 2 | 3, depth: number): MapReply {
  spend(table.capacity() >>> 3);
  const entries: [Reply, Reply][] = [];
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    payForItem();
    entries.push([
      toReply(table.keyAt(at), protocol, depth + 1),
      toReply(table.valueAt(at), protocol, depth + 1),
    ]);
  }
  return new MapReply(entries);
}

function toSet(table: LuaTable, protocol: 2 | 3, depth: number): SetReply {
  spend(table.capacity() >>> 3);
  const members: Reply[] = [];
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    payForItem();
    members.push(toReply(table.keyAt(at), protocol, depth + 1));
  }
  return new SetReply(members);
}

function oneLine(text: string): string {
  return text.slice(0, MAX_LINE).replace(/[\r\n]/g, ' ');
}

function trimLineEnds(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isLineEnd(text.charCodeAt(start))) start += 1;
  while (end > start && isLineEnd(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13;
}

/** Converts a command's reply to a Lua value. `protocol` is the protocol of the reply. */
export function fromReply(reply: Reply, protocol: 2 | 3): LuaValue {
  switch (typeof reply) {
    case 'string':
    case 'number':
      return reply;
    case 'bigint':
      return Number(reply);
    case 'boolean':
      if (protocol === 3) return reply;
      return reply ? 1 : 0;
  }
  if (reply === null) return protocol === 3 ? undefined : false;
  if (Array.isArray(reply)) return fromArray(reply, protocol);
  return fromTagged(reply as Exclude<Reply, Simple>, protocol);
}

type Simple = string | number | bigint | boolean | null | readonly Reply[];

function fromTagged(reply: Exclude<Reply, Simple>, protocol: 2 | 3): LuaValue {
  if (reply instanceof SimpleReply) return tagged('ok', reply.text);
  if (reply instanceof ErrorReply) return errorTable(reply.message);
  if (reply instanceof NullArrayReply) return protocol === 3 ? undefined : false;
  if (protocol === 2) return fromFlattened(reply);
  if (reply instanceof DoubleReply) return tagged('double', reply.value);
  if (reply instanceof BigNumberReply) return tagged('big_number', reply.text);
  if (reply instanceof MapReply) return tagged('map', fromMap(reply));
  if (reply instanceof SetReply) return tagged('set', fromSet(reply));
  if (reply instanceof VerbatimReply) return tagged('verbatim_string', fromVerbatim(reply));
  return fromArray(reply instanceof PushReply ? reply.items : reply.replies, protocol);
}

/** Converts reply types that exist only in RESP3 as RESP2 shows them. */
function fromFlattened(
  reply: Exclude<Reply, Simple | SimpleReply | ErrorReply | NullArrayReply>,
): LuaValue {
  if (reply instanceof DoubleReply || reply instanceof BigNumberReply) return reply.text;
  if (reply instanceof VerbatimReply) return reply.text;
  if (reply instanceof MapReply) return fromArray(reply.entries.flat(), 2);
  if (reply instanceof SetReply) return fromArray(reply.members, 2);
  return fromArray(reply instanceof PushReply ? reply.items : reply.replies, 2);
}

function fromArray(items: readonly Reply[], protocol: 2 | 3): LuaTable {
  allocate(items.length * VALUE_BYTES);
  spend(items.length >>> 2);
  const values: LuaValue[] = [];
  for (let at = 0; at < items.length; at++) values.push(fromReply(items[at]!, protocol));
  if (!values.includes(undefined)) return LuaTable.fromList(values);
  const table = new LuaTable();
  for (let at = 0; at < values.length; at++) table.setNumber(at + 1, values[at]);
  return table;
}

function fromMap(reply: MapReply): LuaTable {
  const table = new LuaTable();
  for (const [key, value] of reply.entries) {
    const at = fromReply(key, 3);
    if (at !== undefined) table.set(at, fromReply(value, 3));
  }
  return table;
}

function fromSet(reply: SetReply): LuaTable {
  const table = new LuaTable();
  for (const member of reply.members) {
    const at = fromReply(member, 3);
    if (at !== undefined) table.set(at, true);
  }
  return table;
}

function fromVerbatim(reply: VerbatimReply): LuaTable {
  const table = new LuaTable();
  table.setString('string', reply.text);
  table.setString('format', reply.format);
  return table;
}

function tagged(name: string, value: LuaValue): LuaTable {
  const table = new LuaTable(0, 1);
  table.setString(name, value);
  return table;
}

/** The table for a command's error. An error without a code gets ERR. */
function errorTable(message: string): LuaTable {
  const table = tagged('err', withCode(message));
  table.setString('ignore_error_stats_update', true);
  return table;
}

/** As in Redis, the first word is the code, and a single word is a message without a code. */
export function withCode(message: string): string {
  const line = trimLineEnds(message.slice(0, MAX_LINE));
  return line.includes(' ') ? line : `ERR ${line}`;
}
