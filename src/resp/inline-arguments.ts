/**
 * Splits an inline request into arguments by the rules of Redis. Blanks separate arguments. In double quotes, \n \r \t
 * \b \a \xHH and a backslash before any other byte are escapes; in single quotes, only \'. A closing quote must be
 * followed by a blank or the end. Returns null for unbalanced quotes.
 */
export function splitInlineArguments(line: Buffer, start: number, end: number): string[] | null {
  const argv: string[] = [];
  const scanner = new Scanner(line, start, end);
  while (scanner.skipBlanks()) {
    const argument = scanner.takeArgument();
    if (argument === null) return null;
    argv.push(argument);
  }
  return argv;
}

class Scanner {
  readonly #line: Buffer;
  readonly #end: number;
  #at: number;
  // Arguments are copied as bytes: a substring would keep the whole line alive.
  readonly #text: Buffer;
  #length = 0;

  constructor(line: Buffer, start: number, end: number) {
    this.#line = line;
    this.#at = start;
    this.#end = end;
    this.#text = Buffer.allocUnsafe(end - start);
  }

  skipBlanks(): boolean {
    while (isBlank(this.#peek(0))) this.#at++;
    return this.#at < this.#end;
  }

  takeArgument(): string | null {
    this.#length = 0;
    for (;;) {
      const byte = this.#peek(0);
      this.#at++;
      if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) {
        return this.#takeQuoted(byte) ? this.#taken() : null;
      }
      if (ENDS_ARGUMENT.has(byte)) return this.#taken();
      this.#append(byte);
    }
  }

  /** Reads to the closing quote. Returns false if there is none, or if text follows it. */
  #takeQuoted(quote: number): boolean {
    for (;;) {
      const byte = this.#peek(0);
      this.#at++;
      if (byte === END) return false;
      if (byte === quote) return this.#peek(0) === END || isBlank(this.#peek(0));
      this.#append(byte === BACKSLASH ? this.#takeEscape(quote) : byte);
    }
  }

  /** Reads an escape sequence and returns its byte. */
  #takeEscape(quote: number): number {
    const next = this.#peek(0);
    if (quote === SINGLE_QUOTE) {
      if (next !== SINGLE_QUOTE) return BACKSLASH;
      this.#at++;
      return next;
    }
    if (next === END) return BACKSLASH;
    const high = HEX_DIGITS.indexOf(this.#peek(1));
    const low = HEX_DIGITS.indexOf(this.#peek(2));
    if (next === LETTER_X && high >= 0 && low >= 0) {
      this.#at += 3;
      return (high % 16) * 16 + (low % 16);
    }
    this.#at++;
    return ESCAPES.get(next) ?? next;
  }

  #peek(offset: number): number {
    const at = this.#at + offset;
    return at < this.#end ? this.#line[at]! : END;
  }

  #taken(): string {
    return this.#text.toString('latin1', 0, this.#length);
  }

  #append(byte: number): void {
    this.#text[this.#length++] = byte;
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

const END = -1;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const BACKSLASH = 0x5c;
const LETTER_X = 0x78;
/** Both cases: the value of a digit is its index modulo 16. */
const HEX_DIGITS = Buffer.from('0123456789abcdef0123456789ABCDEF', 'latin1');
/** As in Redis, vertical tab and form feed separate arguments, but do not end one. */
const ENDS_ARGUMENT: ReadonlySet<number> = new Set([END, 0x20, 0x09, 0x0a, 0x0d]);
const ESCAPES: ReadonlyMap<number, number> = new Map([
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
  [0x62, 0x08],
  [0x61, 0x07],
]);
