import {
  type BigNumberReply,
  type DoubleReply,
  type ErrorReply,
  type ManyReply,
  type MapReply,
  type NullArrayReply,
  OK,
  type Protocol,
  type PushReply,
  type Reply,
  type SetReply,
  type SimpleReply,
  type VerbatimReply,
} from './reply.ts';

/**
 * A reply as the bytes of the wire, one latin1 char a byte, to be written with `'latin1'`. The
 * server joins the replies to one chunk and writes them at once.
 */
export function encode(reply: Reply, protocol: Protocol): string {
  if (typeof reply === 'string') return encodeBulk(reply);
  if (typeof reply === 'number') return encodeInteger(reply);
  if (reply === null) return protocol === 3 ? '_\r\n' : '$-1\r\n';
  if (reply === OK) return '+OK\r\n';
  if (typeof reply === 'bigint') return `:${reply}\r\n`;
  if (typeof reply === 'boolean') return encodeBoolean(reply, protocol);
  if (isArray(reply)) return encodeItems('*', reply, protocol);
  return encodeTagged(reply, protocol);
}

/** A command as a client sends it. */
export function encodeRequest(argv: readonly string[]): string {
  let text = header('*', argv.length);
  for (const argument of argv) text += encodeBulk(argument);
  return text;
}

type TaggedReply =
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

function encodeTagged(reply: TaggedReply, protocol: Protocol): string {
  const isThree = protocol === 3;
  switch (reply.kind) {
    case 'simple':
      return `+${oneLine(reply.text)}\r\n`;
    case 'error':
      return `-${oneLine(reply.message)}\r\n`;
    case 'double':
      return isThree ? `,${doubleText(reply)}\r\n` : encodeBulk(doubleText(reply));
    case 'bignumber':
      return isThree ? `(${oneLine(reply.text)}\r\n` : encodeBulk(reply.text);
    case 'map':
      return encodeMap(reply, protocol);
    case 'set':
      return encodeItems(isThree ? '~' : '*', reply.members, protocol);
    case 'verbatim':
      return isThree ? encodeVerbatim(reply) : encodeBulk(reply.text);
    case 'push':
      return encodeItems(isThree ? '>' : '*', reply.items, protocol);
    case 'nullarray':
      return isThree ? '_\r\n' : '*-1\r\n';
    case 'many':
      return encodeAll(reply.replies, protocol);
  }
}

function encodeBulk(text: string): string {
  const { length } = text;
  if (length < BULK_HEADERS.length) return `${BULK_HEADERS[length]!}${text}\r\n`;
  return `$${length}\r\n${text}\r\n`;
}

function encodeInteger(value: number): string {
  return INTEGERS[value + 1] ?? `:${value}\r\n`;
}

function encodeBoolean(value: boolean, protocol: Protocol): string {
  if (protocol === 3) return value ? '#t\r\n' : '#f\r\n';
  return value ? ':1\r\n' : ':0\r\n';
}

function encodeMap({ entries }: MapReply, protocol: Protocol): string {
  let text = protocol === 3 ? header('%', entries.length) : header('*', entries.length * 2);
  for (const [key, value] of entries) text += encode(key, protocol) + encode(value, protocol);
  return text;
}

/** The format is three chars by definition; Redis cuts or fills it up. */
function encodeVerbatim({ format, text }: VerbatimReply): string {
  return `=${text.length + 4}\r\n${format.padEnd(3).slice(0, 3)}:${text}\r\n`;
}

function encodeItems(sigil: string, items: readonly Reply[], protocol: Protocol): string {
  return header(sigil, items.length) + encodeAll(items, protocol);
}

function encodeAll(replies: readonly Reply[], protocol: Protocol): string {
  let text = '';
  for (let index = 0; index < replies.length; index++) text += encode(replies[index]!, protocol);
  return text;
}

function header(sigil: string, count: number): string {
  return `${sigil}${count}\r\n`;
}

function doubleText({ value, text }: DoubleReply): string {
  if (Number.isNaN(value)) return 'nan';
  if (Number.isFinite(value)) return oneLine(text);
  return value > 0 ? 'inf' : '-inf';
}

/**
 * A CR or LF inside a line would let whoever chose its text write replies of their own. The low byte
 * is what counts: it is all that a latin1 write keeps of a char.
 */
function oneLine(text: string): string {
  for (let index = 0; index < text.length; index++) {
    if (isLineBreak(text.charCodeAt(index))) return withoutLineBreaks(text);
  }
  return text;
}

function withoutLineBreaks(text: string): string {
  let line = '';
  for (let index = 0; index < text.length; index++) {
    line += isLineBreak(text.charCodeAt(index)) ? ' ' : text.charAt(index);
  }
  return line;
}

function isLineBreak(code: number): boolean {
  const byte = code & 0xff;
  return byte === 0x0a || byte === 0x0d;
}

function isArray(reply: object): reply is readonly Reply[] {
  return Array.isArray(reply);
}

/** `$0` … `$1023`, and `:-1` … `:1023` at the index one higher. */
const BULK_HEADERS: readonly string[] = Array.from({ length: 1024 }, (_, size) => `$${size}\r\n`);
const INTEGERS: readonly string[] = Array.from({ length: 1025 }, (_, index) => `:${index - 1}\r\n`);
