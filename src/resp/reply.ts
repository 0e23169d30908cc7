/**
 * The reply of a command. Common kinds are plain JavaScript values, so that the hot path allocates nothing. The others
 * are small tagged objects. Strings are latin1: one char per byte.
 */
export type Reply =
  | string // bulk string
  | number // integer
  | bigint // integer that a double cannot hold
  | boolean // 1 or 0 in RESP2
  | null
  | readonly Reply[]
  | SimpleReply
  | ErrorReply
  | DoubleReply
  | BigNumberReply
  | MapReply
  | SetReply
  | VerbatimReply
  | PushReply
  | NullArrayReply
  | ManyReply;

/** A short status such as OK. The encoder replaces CR and LF by spaces. */
export class SimpleReply {
  readonly kind = 'simple';
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An error. Its first word is the code that clients compare. Commands throw it or return it. */
export class ErrorReply {
  readonly kind = 'error';
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
  get code(): string {
    const space = this.message.indexOf(' ');
    return space < 0 ? this.message : this.message.slice(0, space);
  }
}

/** A floating point number; a bulk string in RESP2. `text` is the number as Redis prints it. */
export class DoubleReply {
  readonly kind = 'double';
  readonly value: number;
  readonly text: string;
  constructor(value: number, text: string) {
    this.value = value;
    this.text = text;
  }
}

/** An integer of any size; a bulk string in RESP2. */
export class BigNumberReply {
  readonly kind = 'bignumber';
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Pairs in order; a flat array in RESP2. */
export class MapReply {
  readonly kind = 'map';
  readonly entries: readonly (readonly [Reply, Reply])[];
  constructor(entries: readonly (readonly [Reply, Reply])[]) {
    this.entries = entries;
  }
}

/** Members without order; an array in RESP2. */
export class SetReply {
  readonly kind = 'set';
  readonly members: readonly Reply[];
  constructor(members: readonly Reply[]) {
    this.members = members;
  }
}

/** Text with a three-letter format such as `txt`; a bulk string in RESP2. */
export class VerbatimReply {
  readonly kind = 'verbatim';
  readonly format: string;
  readonly text: string;
  constructor(format: string, text: string) {
    this.format = format;
    this.text = text;
  }
}

/** A message that is not a reply to a command; an array in RESP2. */
export class PushReply {
  readonly kind = 'push';
  readonly items: readonly Reply[];
  constructor(items: readonly Reply[]) {
    this.items = items;
  }
}

/** The null array (`*-1`) of RESP2; null in RESP3. */
export class NullArrayReply {
  readonly kind = 'nullarray';
}

/** Several replies to one command (SUBSCRIBE a b), or none. */
export class ManyReply {
  readonly kind = 'many';
  readonly replies: readonly Reply[];
  constructor(replies: readonly Reply[]) {
    this.replies = replies;
  }
}

export const OK = new SimpleReply('OK');
export const QUEUED = new SimpleReply('QUEUED');
export const NULL_ARRAY = new NullArrayReply();
export const NO_REPLY = new ManyReply([]);

export type Protocol = 2 | 3;

/** Estimates the bytes of a reply: the larger of memory and wire format. */
export function replyBytes(reply: Reply): number {
  if (typeof reply === 'string') return ITEM_BYTES + reply.length;
  if (typeof reply !== 'object' || reply === null) return ITEM_BYTES;
  if (Array.isArray(reply)) return listBytes(reply);
  const tagged = reply as Exclude<typeof reply, readonly Reply[]>;
  switch (tagged.kind) {
    case 'map':
      return entriesBytes(tagged.entries);
    case 'set':
      return listBytes(tagged.members);
    case 'push':
      return listBytes(tagged.items);
    case 'many':
      return listBytes(tagged.replies);
    case 'error':
      return ITEM_BYTES + tagged.message.length;
    case 'nullarray':
      return ITEM_BYTES;
    default:
      return ITEM_BYTES + tagged.text.length;
  }
}

function entriesBytes(entries: MapReply['entries']): number {
  let bytes = ITEM_BYTES;
  for (const [key, value] of entries) bytes += replyBytes(key) + replyBytes(value);
  return bytes;
}

function listBytes(items: readonly Reply[]): number {
  let bytes = ITEM_BYTES;
  for (const item of items) bytes += replyBytes(item);
  return bytes;
}

const ITEM_BYTES = 16;
