import luaparse from 'luaparse';

/** A source that does not parse, with C Lua's message. */
export class LuaSyntaxError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

interface ParserError {
  readonly message: string;
  readonly line: number;
  readonly index: number;
}

/** Converts the parser's exception to C Lua's message. Rethrows other exceptions. */
export function explainSyntaxError(thrown: unknown, source: string, chunk: string): LuaSyntaxError {
  const error = thrown as ParserError;
  if (!(thrown instanceof SyntaxError) || typeof error.line !== 'number') throw thrown;
  const numeral = malformedNumeral(error.index, source);
  if (numeral !== undefined) {
    return new LuaSyntaxError(`${chunk}:${numeral.line}: malformed number near '${numeral.text}'`);
  }
  const message = error.message.replace(/^\[\d+:\d+\] /, '');
  return new LuaSyntaxError(`${chunk}:${error.line}: ${reword(message, error, source)}`);
}

type Rewording = (match: RegExpExecArray, error: ParserError, source: string) => string;

/** The parser's messages, and what Lua 5.1 says instead. */
const REWORDINGS: readonly (readonly [RegExp, Rewording])[] = [
  [/^<expression> expected near '(.*)'$/s, ([, near]) => `unexpected symbol near '${near}'`],
  [/^<name> expected near '(.*)'$/s, ([, near]) => `'<name>' expected near '${near}'`],
  [/^unexpected symbol near '<eof>'$/, () => "unexpected symbol near '<eof>'"],
  [
    /^unexpected \w+ '(.*?)' near '.*'$/s,
    ([, found], error, source) => unexpected(found!, error, source),
  ],
  [/^'in' expected near '(.*)'$/s, ([, near], error, source) => missingIn(near!, error, source)],
  [
    /^'(end|until|\)|\})' expected near '(.*)'$/s,
    ([, close, near], error, source) => missingClose(close!, near!, error, source),
  ],
  [
    /^unfinished string near '(.*)'$/s,
    ([, text], error, source) =>
      `unfinished string near '${error.index > source.length ? '<eof>' : text}'`,
  ],
  [/^(unfinished long (?:string|comment)) .*$/s, ([, what]) => `${what} near '<eof>'`],
  [
    /^decimal escape too large.*$/s,
    (_, error, source) => `escape sequence too large near '${stringBefore(error.index, source)}'`,
  ],
  [
    /^malformed number near '(.*)'$/s,
    (_, error, source) => `malformed number near '${numeralAround(error.index, source)}'`,
  ],
];

function reword(message: string, error: ParserError, source: string): string {
  for (const [pattern, rewording] of REWORDINGS) {
    const match = pattern.exec(message);
    if (match !== null) return rewording(match, error, source);
  }
  return message;
}

/** The words that close a block. */
const BLOCK_ENDS: ReadonlySet<string> = new Set(['end', 'else', 'elseif', 'until']);

const WANTS_VALUE = /\breturn\s*$/;

/** A token where a statement should begin, or one after the last statement of the chunk. */
function unexpected(found: string, error: ParserError, source: string): string {
  const before = source.slice(0, error.index);
  if (!/^[\w"'+\-*/%^#<>=(){}[\];:,.]/.test(found)) return unknownChar(found, before);
  const chunk = parseQuietly(before);
  if (chunk === undefined) {
    return found === '=' ? "syntax error near '='" : `unexpected symbol near '${found}'`;
  }
  const wantsExpression = WANTS_VALUE.test(before) && !BLOCK_ENDS.has(found);
  const isComplete =
    !wantsExpression && (chunk.body.at(-1)?.type === 'ReturnStatement' || BLOCK_ENDS.has(found));
  return isComplete ? `'<eof>' expected near '${found}'` : `unexpected symbol near '${found}'`;
}

/** C Lua treats a zero byte as "no token": its message has no `near` part. */
function unknownChar(char: string, before: string): string {
  const message = unknownToken(char, before);
  return char === '\0' ? message.replace(/ near 'char\(0\)'$/, '') : message;
}

/**
 * A char that starts no token. The parser reads one token ahead, and fails before it has parsed the text before it. C
 * Lua makes the char a token. Its message is that for a source that ends here, with the char in place of `<eof>`.
 */
function unknownToken(char: string, before: string): string {
  const code = char.charCodeAt(0);
  const near = code < 32 || code === 127 ? `char(${code})` : char;
  try {
    const chunk = luaparse.parse(before, QUIET);
    const isReturn = chunk.body.at(-1)?.type === 'ReturnStatement';
    const isComplete = isReturn && !WANTS_VALUE.test(before);
    return isComplete ? `'<eof>' expected near '${near}'` : `unexpected symbol near '${near}'`;
  } catch (thrown) {
    const { message } = explainSyntaxError(thrown, before, '');
    return message.replace(/^:\d+: /, '').replace(/'<eof>'$/, () => `'${near}'`);
  }
}

const QUIET = { luaVersion: '5.1', encodingMode: 'none', comments: false } as const;

function parseQuietly(source: string): luaparse.Chunk | undefined {
  try {
    return luaparse.parse(source, QUIET);
  } catch {
    return undefined;
  }
}

function missingIn(near: string, error: ParserError, source: string): string {
  const words = source.slice(0, error.index).trimEnd().split(/\s+/);
  const isList = words.slice(words.lastIndexOf('for')).join(' ').includes(',');
  return isList ? `'in' expected near '${near}'` : `'=' or 'in' expected near '${near}'`;
}

/** By closing token: the tokens after which C Lua reports a missing expression, not a missing closing token. */
const WANTS_EXPRESSION: Readonly<Record<string, string>> = { ')': '(', '}': '{ , ;' };

function missingClose(close: string, near: string, error: ParserError, source: string): string {
  const last = tokensBefore(error.index, source).at(-1)?.value;
  const openers = WANTS_EXPRESSION[close] ?? 'return';
  if (last !== undefined && openers.split(' ').includes(last))
    return `unexpected symbol near '${near}'`;
  const opener = openerBefore(error.index, source, close);
  const place =
    opener === undefined || opener.line === error.line
      ? ''
      : ` (to close '${opener.text}' at line ${opener.line})`;
  return `'${close}' expected${place} near '${near}'`;
}

interface Opener {
  readonly text: string;
  readonly line: number;
}

const CLOSES: Readonly<Record<string, string>> = {
  '(': ')',
  '{': '}',
  if: 'end',
  do: 'end',
  while: 'end',
  for: 'end',
  function: 'end',
  repeat: 'until',
};

/** The innermost bracket or block that is still open at `index`. */
function openerBefore(index: number, source: string, close: string): Opener | undefined {
  const open: Opener[] = [];
  let awaitsDo = 0;
  for (const token of tokensBefore(index, source)) {
    const text = token.value;
    if (text === 'do' && awaitsDo > 0) awaitsDo -= 1;
    else if (Object.hasOwn(CLOSES, text)) open.push({ text, line: token.line });
    else if (open.length > 0 && text === CLOSES[open.at(-1)!.text]) open.pop();
    if (text === 'while' || text === 'for') awaitsDo += 1;
  }
  return open.findLast((opener) => CLOSES[opener.text] === close);
}

const END_TOKEN = 1;

function tokensBefore(index: number, source: string): luaparse.Token[] {
  const lexer = luaparse.parse({ wait: true, luaVersion: '5.1', encodingMode: 'none' });
  lexer.write(source);
  const tokens: luaparse.Token[] = [];
  try {
    for (let token = lexer.lex(); token.type !== END_TOKEN; token = lexer.lex()) {
      if (token.range[0] >= index) break;
      tokens.push(token);
    }
  } catch {
    // A broken token ends the list: only the tokens before it matter.
  }
  return tokens;
}

/** The part of an unfinished string literal that C Lua has read when an escape stops it. */
function stringBefore(index: number, source: string): string {
  const line = source.slice(source.lastIndexOf('\n', index - 1) + 1, index);
  const quoted = /(['"])(?:(?!\1).)*$/.exec(line);
  return quoted === null ? '' : quoted[0].replace(/\\\d+$/, '');
}

interface Numeral {
  readonly text: string;
  readonly line: number;
}

const NUMERIC_TOKEN = 16;

/** The first numeral that is followed by letters or dots, which the parser would split in two tokens. */
function malformedNumeral(index: number, source: string): Numeral | undefined {
  for (const { type, range, line } of tokensBefore(index, source)) {
    if (type !== NUMERIC_TOKEN) continue;
    const rest = /^[\w.]+/.exec(source.slice(range[1], range[1] + 64));
    if (rest !== null) return { text: source.slice(range[0], range[1]) + rest[0], line };
  }
  return undefined;
}

function numeralAround(index: number, source: string): string {
  let start = Math.min(index, source.length) - 1;
  while (start > 0 && /[\w.]/.test(source[start - 1]!)) start -= 1;
  return /^(?:[\d.]*[eE][+-])?[\w.]*/.exec(source.slice(start))![0];
}
