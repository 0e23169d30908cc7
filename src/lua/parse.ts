import luaparse from 'luaparse';
import { explainSyntaxError, LuaSyntaxError } from './syntax-error.ts';

export type { Chunk, Expression, FunctionDeclaration, Identifier, Statement } from 'luaparse';

/**
 * Longer sources are refused before parsing. A source of short tokens takes about four microseconds and
 * 440 bytes for each char: half a second and 55 MiB at this limit.
 */
export const MAX_SOURCE = 128 * 1024;

const PARSER_OPTIONS = {
  luaVersion: '5.1',
  // The parser compares tokens by value alone, so that `return "end"` would end a block. In this
  // mode string tokens have no value; `decodeString` reads the literal's raw text instead.
  encodingMode: 'none',
  comments: false,
  locations: true,
  ranges: true,
} as const;

/** Parses a whole source; `chunk` is the short name that goes before each error. */
export function parse(source: string, chunk: string): luaparse.Chunk {
  if (source.length > MAX_SOURCE) {
    throw new LuaSyntaxError(`${chunk}:1: chunk too long, the limit is ${MAX_SOURCE} bytes`);
  }
  // A line that starts with # is a syntax error in Lua; the parser would skip it.
  if (source.startsWith('#')) throw new LuaSyntaxError(`${chunk}:1: unexpected symbol near '#'`);
  try {
    return luaparse.parse(source, PARSER_OPTIONS);
  } catch (thrown) {
    if (thrown instanceof RangeError) {
      throw new LuaSyntaxError(`${chunk}:1: chunk has too many syntax levels`);
    }
    throw explainSyntaxError(thrown, source, chunk);
  }
}

/** The range of a node in the source, which the parser's types leave out. */
export function rangeOf(node: object): readonly [number, number] {
  return (node as { range: [number, number] }).range;
}

/**
 * The steps that one run of these statements, or of an expression, costs beside those of its loops and calls: one for
 * every 128 chars of source. Otherwise thousands of statements in a loop would run between two reads of the clock.
 */
export function stepsOf(first: object, last = first): number {
  return (rangeOf(last)[1] - rangeOf(first)[0]) >>> STEP_SHIFT;
}

const STEP_SHIFT = 7;

export function startLine(node: luaparse.Node): number {
  return node.loc!.start.line;
}

export function endLine(node: luaparse.Node): number {
  return node.loc!.end.line;
}

/**
 * True if an expression is in parentheses of its own. They reduce its results to one, and the syntax tree
 * does not show them. `end` is the end of the list that it closes; of the closing parentheses between
 * the two, `owned` belong to that list.
 */
export function isParenthesised(
  source: string,
  node: luaparse.Node,
  end: number,
  owned: number,
): boolean {
  let count = 0;
  for (let at = skipBlank(source, rangeOf(node)[1]); at < end; at = skipBlank(source, at + 1)) {
    if (source[at] !== ')') break;
    count += 1;
  }
  return count > owned;
}

/**
 * Rejects a list that starts with a comma, as in `f(,1)`, which the parser accepts. The list starts after
 * the opening parenthesis or, for a return, at `from`.
 */
export function checkList(source: string, from: number, isCall: boolean, chunk: string): void {
  let at = skipBlank(source, from);
  if (isCall) {
    while (source[at] === ')') at = skipBlank(source, at + 1);
    at = skipBlank(source, at + 1);
  }
  if (source[at] !== ',') return;
  const line = source.slice(0, at).split('\n').length;
  throw new LuaSyntaxError(`${chunk}:${line}: unexpected symbol near ','`);
}

/** Skips white space and comments. */
function skipBlank(source: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < source.length && source.charCodeAt(at) <= 32) at += 1;
    if (!source.startsWith('--', at)) return at;
    const long = /^--\[(=*)\[/.exec(source.slice(at, at + 64));
    const close = long === null ? '\n' : `]${long[1]}]`;
    const end = source.indexOf(close, at + 2);
    if (end < 0) return source.length;
    at = end + close.length;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The value of a string literal from its text. */
export function decodeString(raw: string): string {
  if (raw[0] === '[') return decodeLongString(raw);
  const body = raw.slice(1, -1);
  if (!body.includes('\\')) return body;
  return body.replace(/\\(?:(\d{1,3})|(\r\n|\n\r|[\s\S]))/g, (_, digits, escaped) => {
    if (digits !== undefined) return String.fromCharCode(Number(digits));
    const text = escaped as string;
    return isLineEnd(text) ? '\n' : (ESCAPES[text] ?? text);
  });
}

function isLineEnd(text: string): boolean {
  return text[0] === '\n' || text[0] === '\r';
}

function decodeLongString(raw: string): string {
  const fence = raw.indexOf('[', 1) + 1;
  const body = raw.slice(fence, -fence).replace(/\r\n|\n\r|\r/g, '\n');
  return body[0] === '\n' ? body.slice(1) : body;
}

/** Rejects the numerals that the parser reads differently from Lua, such as `3x` and `3..2`. */
export function checkNumeral(source: string, node: luaparse.NumericLiteral, chunk: string): void {
  const [start, end] = rangeOf(node);
  const rest = /^[\w.]+/.exec(source.slice(end, end + 64));
  const isFractionalHexadecimal = /^0x[^p]*\./i.test(node.raw);
  if (rest === null && !isFractionalHexadecimal) return;
  const text = source.slice(start, end) + (rest?.[0] ?? '');
  throw new LuaSyntaxError(`${chunk}:${startLine(node)}: malformed number near '${text}'`);
}
