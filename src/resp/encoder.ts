import { ByteWriter } from './byte-writer.ts';
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

/** Appends a reply in wire format to the writer. */
export function writeReply(writer: ByteWriter, reply: Reply, protocol: Protocol): void {
  if (typeof reply === 'string') writeBulk(writer, reply);
  else if (typeof reply === 'number') writeInteger(writer, reply);
  else if (reply === null) writer.text(protocol === 3 ? '_\r\n' : '$-1\r\n');
  else if (reply === OK) writer.text('+OK\r\n');
  else if (typeof reply === 'bigint') writer.text(`:${reply}\r\n`);
  else if (typeof reply === 'boolean') writer.text(booleanText(reply, protocol));
  else if (isArray(reply)) writeItems(writer, '*', reply, protocol);
  else writeTagged(writer, reply, protocol);
}

/** Encodes a reply as text, one latin1 char per byte. */
export function encode(reply: Reply, protocol: Protocol): string {
  scratch.clear();
  writeReply(scratch, reply, protocol);
  return scratch.takeText();
}

/** Encodes a command as a client sends it. Concatenation is faster here than a ByteWriter. */
export function encodeRequest(argv: readonly string[]): string {
  let text = `*${argv.length}\r\n`;
  for (const argument of argv) text += `$${argument.length}\r\n${argument}\r\n`;
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

function writeTagged(writer: ByteWriter, reply: TaggedReply, protocol: Protocol): void {
  const isThree = protocol === 3;
  switch (reply.kind) {
    case 'simple':
      writeLine(writer, '+', reply.text);
      break;
    case 'error':
      writeLine(writer, '-', reply.message);
      break;
    case 'double':
      writeLineOrBulk(writer, isThree && ',', doubleText(reply));
      break;
    case 'bignumber':
      writeLineOrBulk(writer, isThree && '(', reply.text);
      break;
    case 'map':
      writeMap(writer, reply, protocol);
      break;
    case 'set':
      writeItems(writer, isThree ? '~' : '*', reply.members, protocol);
      break;
    case 'verbatim':
      if (isThree) writeVerbatim(writer, reply);
      else writeBulk(writer, reply.text);
      break;
    case 'push':
      writeItems(writer, isThree ? '>' : '*', reply.items, protocol);
      break;
    case 'nullarray':
      writer.text(isThree ? '_\r\n' : '*-1\r\n');
      break;
    case 'many':
      writeAll(writer, reply.replies, protocol);
      break;
  }
}

function writeBulk(writer: ByteWriter, text: string): void {
  writer.text(BULK_HEADERS[text.length] ?? `$${text.length}\r\n`);
  writer.text(text);
  writer.text('\r\n');
}

/** In three parts: V8 would copy a joined text once more, in slow code, when its chars are read. */
function writeInteger(writer: ByteWriter, value: number): void {
  const known = value <= MAX_KNOWN_INTEGER ? INTEGERS[value + 1] : undefined;
  if (known !== undefined) {
    writer.text(known);
    return;
  }
  writer.text(':');
  writer.text(String(value));
  writer.text('\r\n');
}

function writeLine(writer: ByteWriter, sigil: string, text: string): void {
  writer.text(`${sigil}${oneLine(text)}\r\n`);
}

function writeLineOrBulk(writer: ByteWriter, sigil: string | false, text: string): void {
  if (sigil === false) writeBulk(writer, text);
  else writeLine(writer, sigil, text);
}

function booleanText(value: boolean, protocol: Protocol): string {
  if (protocol === 3) return value ? '#t\r\n' : '#f\r\n';
  return value ? ':1\r\n' : ':0\r\n';
}

function writeMap(writer: ByteWriter, { entries }: MapReply, protocol: Protocol): void {
  writer.text(protocol === 3 ? `%${entries.length}\r\n` : `*${entries.length * 2}\r\n`);
  for (const [key, value] of entries) {
    writeReply(writer, key, protocol);
    writeReply(writer, value, protocol);
  }
}

/** The format has three chars; as in Redis, other lengths are cut or padded. */
function writeVerbatim(writer: ByteWriter, { format, text }: VerbatimReply): void {
  writer.text(`=${text.length + 4}\r\n${format.padEnd(3).slice(0, 3)}:`);
  writer.text(text);
  writer.text('\r\n');
}

function writeItems(
  writer: ByteWriter,
  sigil: string,
  items: readonly Reply[],
  protocol: Protocol,
): void {
  writer.text(`${sigil}${items.length}\r\n`);
  writeAll(writer, items, protocol);
}

function writeAll(writer: ByteWriter, replies: readonly Reply[], protocol: Protocol): void {
  for (let index = 0; index < replies.length; index++) {
    writeReply(writer, replies[index]!, protocol);
  }
}

function doubleText({ value, text }: DoubleReply): string {
  if (Number.isNaN(value)) return 'nan';
  if (Number.isFinite(value)) return oneLine(text);
  return value > 0 ? 'inf' : '-inf';
}

/**
 * Replaces CR and LF by spaces: a client that chooses the text of a line could forge replies with them. Only the low
 * byte of a char counts, because a latin1 write keeps nothing else.
 */
function oneLine(text: string): string {
  for (let index = 0; index < text.length; index++) {
    if (isLineBreak(text.charCodeAt(index))) return withoutLineBreaks(text);
  }
  return text;
}

function withoutLineBreaks(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at++) if (isLineBreak(bytes[at]!)) bytes[at] = SPACE;
  return bytes.latin1Slice();
}

function isLineBreak(code: number): boolean {
  const byte = code & 0xff;
  return byte === 0x0a || byte === 0x0d;
}

function isArray(reply: object): reply is readonly Reply[] {
  return Array.isArray(reply);
}

const SPACE = 0x20;
/** `$0` … `$1023`. */
export const BULK_HEADERS: readonly string[] = Array.from(
  { length: 1024 },
  (_, size) => `$${size}\r\n`,
);
const MAX_KNOWN_INTEGER = 1023;
/** `:-1` … `:1023`, at the index one higher. */
const INTEGERS: readonly string[] = Array.from(
  { length: MAX_KNOWN_INTEGER + 2 },
  (_, index) => `:${index - 1}\r\n`,
);

const scratch = new ByteWriter();
