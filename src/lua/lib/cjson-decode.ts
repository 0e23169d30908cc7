import { partOf } from '../../resp/index.ts';
import { PIECE_BYTES, spend, spendMaking, spendReading } from '../budget.ts';
import { libraryError } from '../error.ts';
import { allocate } from '../memory.ts';
import { MAX_NUMBER, parseNumber } from '../number.ts';
import { LuaTable } from '../table.ts';
import type { LuaValue } from '../value.ts';
import type { JsonSettings } from './cjson.ts';
import { JSON_NULL } from './cjson-encode.ts';

/** cjson.decode. */
export function decodeJson(text: string, settings: JsonSettings): LuaValue {
  if (text.length >= 2 && (text[0] === '\0' || text[1] === '\0')) {
    throw libraryError('JSON parser does not support UTF-16 or UTF-32');
  }
  return new Decoder(text, settings).decode();
}

type Token =
  | { readonly type: 'value'; readonly name: string; readonly value: LuaValue }
  | { readonly type: 'mark'; readonly name: string }
  | { readonly type: 'error'; readonly name: string };

const MARKS: Readonly<Record<string, Token>> = {
  '{': { type: 'mark', name: 'T_OBJ_BEGIN' },
  '}': { type: 'mark', name: 'T_OBJ_END' },
  '[': { type: 'mark', name: 'T_ARR_BEGIN' },
  ']': { type: 'mark', name: 'T_ARR_END' },
  ',': { type: 'mark', name: 'T_COMMA' },
  ':': { type: 'mark', name: 'T_COLON' },
};

const END: Token = { type: 'mark', name: 'T_END' };

const WORDS: readonly (readonly [string, Token])[] = [
  ['true', { type: 'value', name: 'T_BOOLEAN', value: true }],
  ['false', { type: 'value', name: 'T_BOOLEAN', value: false }],
  ['null', { type: 'value', name: 'T_NULL', value: JSON_NULL }],
];

/** What C's strtod accepts at a place. */
const NUMBER =
  /^[+-]?(?:0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[+-]?\d+)?|infinity|inf|nan|\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)/i;

/** Numbers that strtod reads but JSON does not know. */
const INVALID_NUMBER = /\+|-?(?:0[x\d]|inf|nan)/iy;

const STRING_END = /["\\\0]/g;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Decoder {
  private readonly text: string;
  private readonly settings: JsonSettings;
  private at = 0;
  /** Where the current token begins, or where it is broken. */
  private tokenAt = 0;
  private depth = 0;

  constructor(text: string, settings: JsonSettings) {
    this.text = text;
    this.settings = settings;
  }

  decode(): LuaValue {
    const value = this.value(this.next());
    const token = this.next();
    if (token !== END) throw this.unexpected('the end', token);
    return value;
  }

  private unexpected(expected: string, token: Token) {
    return libraryError(
      `Expected ${expected} but found ${token.name} at character ${this.tokenAt + 1}`,
    );
  }

  private next(): Token {
    const { text } = this;
    while (isBlank(text.charCodeAt(this.at))) {
      this.at += 1;
      if ((this.at & CHUNK_MASK) === 0) spendReading(CHUNK_MASK);
    }
    this.tokenAt = this.at;
    const char = text[this.at];
    if (char === undefined || char === '\0') return END;
    const mark = MARKS[char];
    if (mark !== undefined) {
      this.at += 1;
      return mark;
    }
    if (char === '"') return this.string();
    if (char === '-' || (char >= '0' && char <= '9')) return this.number();
    return this.word();
  }

  private error(name: string): Token {
    this.tokenAt = this.at;
    return { type: 'error', name };
  }

  private number(): Token {
    if (this.settings.decodeInvalid === 'off' && this.isInvalidNumber()) {
      return this.error('invalid number');
    }
    // The expression may read every digit that follows, so its input is limited to the maximum length of a number.
    const digits = this.text.slice(this.at, this.at + MAX_NUMBER + 1);
    const match = NUMBER.exec(digits);
    spendReading(match === null ? 0 : match[0].length * 4);
    const value = match === null ? undefined : parseNumber(match[0]);
    if (value === undefined) return this.error('invalid number');
    this.at += match![0].length;
    return { type: 'value', name: 'T_NUMBER', value };
  }

  private isInvalidNumber(): boolean {
    INVALID_NUMBER.lastIndex = this.at;
    return INVALID_NUMBER.test(this.text);
  }

  private word(): Token {
    for (const [word, token] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return token;
    }
    const mayBeNumber = /[iIN+n]/.test(this.text[this.at]!) && this.isInvalidNumber();
    if (this.settings.decodeInvalid !== 'off' && mayBeNumber) return this.number();
    return this.error('invalid token');
  }

  private string(): Token {
    let value = '';
    this.at += 1;
    for (;;) {
      STRING_END.lastIndex = this.at;
      const end = STRING_END.exec(this.text)?.index ?? this.text.length;
      // An escape copies the text before it; a string without escapes is a slice of the text.
      spendMaking(end - this.at + 3 * PIECE_BYTES);
      value += partOf(this.text, this.at, end);
      this.at = end;
      const char = this.text[end];
      if (char === '"') break;
      if (char !== '\\') return this.error('unexpected end of string');
      const escaped = this.escape();
      if (typeof escaped !== 'string') return escaped;
      value += escaped;
    }
    this.at += 1;
    return { type: 'value', name: 'T_STRING', value };
  }

  private escape(): string | Token {
    const letter = this.text[this.at + 1] ?? '\0';
    if (letter === 'u') return this.unicode() ?? this.error('invalid unicode escape code');
    const char = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (char === undefined) return this.error('invalid escape code');
    this.at += 2;
    return char;
  }

  /** `\uXXXX`, or two of them for a surrogate pair, as UTF-8 bytes. */
  private unicode(): string | undefined {
    const unit = this.hexadecimal(this.at + 2);
    if (unit === undefined) return undefined;
    if ((unit & 0xf800) !== 0xd800) {
      this.at += 6;
      return utf8(unit);
    }
    if ((unit & 0x400) !== 0 || !this.text.startsWith('\\u', this.at + 6)) return undefined;
    const low = this.hexadecimal(this.at + 8);
    if (low === undefined || (low & 0xfc00) !== 0xdc00) return undefined;
    this.at += 12;
    return utf8((((unit & 0x3ff) << 10) | (low & 0x3ff)) + 0x10000);
  }

  private hexadecimal(at: number): number | undefined {
    const digits = this.text.slice(at, at + 4);
    return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : undefined;
  }

  private value(token: Token): LuaValue {
    if (token.type === 'value') return token.value;
    if (token.name === 'T_OBJ_BEGIN') return this.object();
    if (token.name === 'T_ARR_BEGIN') return this.array();
    throw this.unexpected('value', token);
  }

  private descend(): void {
    spend(1);
    this.depth += 1;
    if (this.depth > this.settings.decodeDepth) {
      throw libraryError(
        `Found too many nested data structures (${this.depth}) at character ${this.at}`,
      );
    }
  }

  private object(): LuaTable {
    this.descend();
    const table = new LuaTable();
    let token = this.next();
    if (token.name !== 'T_OBJ_END') {
      for (;;) {
        this.member(table, token);
        token = this.next();
        if (token.name === 'T_OBJ_END') break;
        if (token.name !== 'T_COMMA') throw this.unexpected('comma or object end', token);
        token = this.next();
      }
    }
    this.depth -= 1;
    return table;
  }

  private member(table: LuaTable, key: Token): void {
    spend(1);
    if (key.type !== 'value' || key.name !== 'T_STRING') {
      throw this.unexpected('object key string', key);
    }
    const colon = this.next();
    if (colon.name !== 'T_COLON') throw this.unexpected('colon', colon);
    table.set(key.value, this.value(this.next()));
  }

  private array(): LuaTable {
    this.descend();
    const items: LuaValue[] = [];
    let token = this.next();
    if (token.name !== 'T_ARR_END') {
      for (;;) {
        spend(1);
        allocate(ITEM_BYTES);
        items.push(this.value(token));
        token = this.next();
        if (token.name === 'T_ARR_END') break;
        if (token.name !== 'T_COMMA') throw this.unexpected('comma or array end', token);
        token = this.next();
      }
    }
    this.depth -= 1;
    return LuaTable.fromList(items);
  }
}

/** The number of blanks minus one that are skipped between two reads of the clock. */
const CHUNK_MASK = 2 ** 20 - 1;

/** Bytes that V8 uses for an item of the list that an array is read into. */
const ITEM_BYTES = 16;

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

function utf8(codePoint: number): string {
  return Buffer.from(String.fromCodePoint(codePoint), 'utf8').toString('latin1');
}
