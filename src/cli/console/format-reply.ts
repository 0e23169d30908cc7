import type { Reply } from '../../resp/index.ts';
import { lineForTerminal, pageForTerminal } from '../printable.ts';
import { type Paint, PLAIN } from './paint.ts';

/**
 * A reply as redis-cli 7.0 shows it to a person: `(integer) 1`, `"text"` with its bytes escaped, and numbered lines for
 * what has items. Other than there, control characters in errors, statuses and pages are escaped too, since a server
 * could move the cursor with them. Ends without a line break; lines after the first are indented.
 */
export function formatReply(reply: Reply, paint: Paint = PLAIN, indent = ''): string {
  if (typeof reply === 'string') return quote(reply);
  if (reply === null) return paint('faint', '(nil)');
  if (typeof reply === 'boolean') return `(${reply})`;
  if (typeof reply !== 'object') return `${paint('faint', '(integer)')} ${reply}`;
  if (isArray(reply)) return formatItems(reply, ARRAY, paint, indent);
  switch (reply.kind) {
    case 'simple':
      return lineForTerminal(reply.text);
    case 'error':
      return paint('error', `(error) ${lineForTerminal(reply.message)}`);
    case 'double':
      return `${paint('faint', '(double)')} ${lineForTerminal(reply.text)}`;
    case 'bignumber':
      return `${paint('faint', '(big number)')} ${lineForTerminal(reply.text)}`;
    case 'verbatim':
      return pageForTerminal(reply.text);
    case 'nullarray':
      return paint('faint', '(nil)');
    case 'map':
      return formatEntries(reply.entries, paint, indent);
    case 'set':
      return formatItems(reply.members, SET, paint, indent);
    case 'push':
      return formatItems(reply.items, PUSH, paint, indent);
    case 'many':
      return reply.replies.map((each) => formatReply(each, paint, indent)).join('\n');
  }
}

/** A reply as redis-cli writes it into a pipe: the bytes, without anything around them. */
export function rawReply(reply: Reply): string {
  if (typeof reply === 'string') return reply;
  if (reply === null) return '';
  if (typeof reply === 'boolean') return `(${reply})`;
  if (typeof reply !== 'object') return String(reply);
  if (isArray(reply)) return rawLines(reply);
  switch (reply.kind) {
    case 'simple':
    case 'verbatim':
    case 'double':
    case 'bignumber':
      return reply.text;
    case 'error':
      return `${reply.message}\n`;
    case 'nullarray':
      return '';
    case 'map':
      return reply.entries.map((entry) => entry.map(rawReply).join(' ')).join('\n');
    case 'set':
      return rawLines(reply.members);
    case 'push':
      return rawLines(reply.items);
    case 'many':
      return rawLines(reply.replies);
  }
}

interface Aggregate {
  readonly mark: string;
  readonly empty: string;
}

const ARRAY: Aggregate = { mark: ')', empty: '(empty array)' };
const SET: Aggregate = { mark: '~', empty: '(empty set)' };
const PUSH: Aggregate = { mark: ')', empty: '(empty push)' };
const MAP: Aggregate = { mark: '#', empty: '(empty hash)' };

function formatItems(
  items: readonly Reply[],
  aggregate: Aggregate,
  paint: Paint,
  indent: string,
): string {
  return numbered(items.length, aggregate, paint, indent, (index, deeper) =>
    formatReply(items[index]!, paint, deeper),
  );
}

function formatEntries(
  entries: readonly (readonly [Reply, Reply])[],
  paint: Paint,
  indent: string,
): string {
  return numbered(entries.length, MAP, paint, indent, (index, deeper) => {
    const [key, value] = entries[index]!;
    const lineBreak = hasManyLines(value) ? `\n${deeper}` : '';
    return `${formatReply(key, paint, deeper)} => ${lineBreak}${formatReply(value, paint, deeper)}`;
  });
}

/** A value of several numbered lines begins on a line of its own, so that they stand in one column. */
function hasManyLines(reply: Reply): boolean {
  const values = valuesIn(reply);
  return values.length > 1 || (values.length === 1 && hasManyLines(values[0]!));
}

function valuesIn(reply: Reply): readonly Reply[] {
  if (typeof reply !== 'object' || reply === null) return [];
  if (isArray(reply)) return reply;
  if (reply.kind === 'set') return reply.members;
  if (reply.kind === 'push') return reply.items;
  return reply.kind === 'map' ? reply.entries.map(([, value]) => value) : [];
}

/** The first item stands on the line that is already begun; the numbers are as wide as the last. */
function numbered(
  count: number,
  { mark, empty }: Aggregate,
  paint: Paint,
  indent: string,
  format: (index: number, deeper: string) => string,
): string {
  if (count === 0) return paint('faint', empty);
  const width = String(count).length;
  const deeper = indent + ' '.repeat(width + 2);
  const lines = Array.from({ length: count }, (_, index) => {
    const number = paint('faint', `${String(index + 1).padStart(width)}${mark}`);
    return `${index === 0 ? '' : indent}${number} ${format(index, deeper)}`;
  });
  return lines.join('\n');
}

function rawLines(items: readonly Reply[]): string {
  return items.map(rawReply).join('\n');
}

/** Escapes bytes that do not print, so that two different values never print the same text. */
function quote(text: string): string {
  return `"${text.replace(/["\\]|[^ -~]/g, escapeByte)}"`;
}

function escapeByte(byte: string): string {
  return ESCAPES.get(byte) ?? `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
]);

function isArray(reply: object): reply is readonly Reply[] {
  return Array.isArray(reply);
}
