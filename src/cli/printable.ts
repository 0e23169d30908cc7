import { bytesOf, textOf } from './bytes.ts';

/**
 * The bytes of a name or label as text that is safe to print: characters that move the cursor, change colours or the
 * writing direction are escaped, and a backslash is doubled. Bytes that are not UTF-8 become `\xff`.
 * `bytesFromPrintable` is the inverse.
 */
export function printable(bytes: string): string {
  const text = textOf(bytes);
  return bytesOf(text) === bytes ? printableText(text) : asciiOf(bytes.replaceAll('\\', '\\\\'));
}

/** The same for text instead of bytes. */
export function printableText(text: string): string {
  return withoutControls(text.replaceAll('\\', '\\\\'));
}

/**
 * A message for the user, parts of which may come from a server or another process. Escapes control characters; does not
 * double backslashes, so that parts which are escaped already stay unchanged. Cuts a long message in the middle: its end
 * has the advice.
 */
export function messageText(message: string): string {
  if (message.length <= MAX_MESSAGE) return withoutControls(message);
  const head = message.slice(0, MAX_MESSAGE - MESSAGE_END);
  return withoutControls(`${head} … ${message.slice(-MESSAGE_END)}`);
}

/** One line of a reply, for a terminal: bytes in, bytes out. */
export function lineForTerminal(bytes: string): string {
  const text = textOf(bytes);
  return bytesOf(text) === bytes ? bytesOf(withoutControls(text)) : asciiOf(bytes);
}

/** The same for a page of text, with line ends and tabs unchanged. */
export function pageForTerminal(bytes: string): string {
  return bytes.replace(/[^\r\n\t]+|\r(?!\n)/g, lineForTerminal);
}

const MAX_MESSAGE = 1024;
/** Length of the end of a longer message that is kept. */
const MESSAGE_END = 256;

/** Escapes control characters without doubling backslashes: not reversible. */
export function withoutControls(text: string): string {
  return text.replace(HARMFUL, (char) => SHORT.get(char) ?? escaped(char));
}

/** The inverse of `printable`. A backslash that begins no escape is a backslash. */
export function bytesFromPrintable(text: string): string {
  const pieces = text.matchAll(
    /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|([nrt\\]))|[^\\]+|\\/gi,
  );
  return [...pieces]
    .map(([piece, byte, unit, point, short]) => {
      if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16));
      const code = unit ?? point;
      if (code !== undefined) return bytesOf(String.fromCodePoint(Number.parseInt(code, 16)));
      return bytesOf(short === undefined ? piece : LONG.get(short)!);
    })
    .join('');
}

/** JSON that is safe to print: control characters that JSON allows become `\u…`. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(HARMFUL_IN_JSON, (char) => {
    return Array.from({ length: char.length }, (_, at) => `\\u${hex(char[at]!, 4)}`).join('');
  });
}

/** Controls, marks of direction, separators of lines, unseen spaces and tags, and halves of pairs. */
const HARMFUL =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** The line ends between the fields stay. */
const HARMFUL_IN_JSON = new RegExp(`(?!\\n)${HARMFUL.source}`, 'gu');

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
const LONG: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['\\', '\\'],
]);

function escaped(char: string): string {
  const code = char.codePointAt(0)!;
  if (code < 0x80) return `\\x${hex(char, 2)}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${hex(char, 4)}`;
}

function hex(char: string, digits: number): string {
  return char.codePointAt(0)!.toString(16).padStart(digits, '0');
}

/** Bytes that are not UTF-8, each as `\xff`. */
function asciiOf(bytes: string): string {
  return bytes.replace(/[^ -~]/g, (char) => `\\x${hex(char, 2)}`);
}
