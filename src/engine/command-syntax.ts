/**
 * An argument of a command, parsed from the `syntax` of its definition. COMMAND DOCS returns it, and clients show
 * hints and complete by it.
 *
 *   key value [NX|XX] [EX seconds|KEEPTTL]     lower case: an argument; upper case: a literal token
 *   <BEFORE|AFTER>, BEFORE|AFTER               one of the alternatives
 *   [EX seconds]                               optional
 *   key [key ...], field value [field value ...]   the arguments before the brackets may be repeated
 */
export interface Argument {
  readonly name: string;
  readonly type: ArgumentType;
  readonly token?: string;
  readonly optional?: true;
  readonly multiple?: true;
  /** The token is repeated with the argument. */
  readonly multipleToken?: true;
  /** The choices of a `oneof`, the parts of a `block`. */
  readonly arguments?: readonly Argument[];
}

type ArgumentType =
  | 'key'
  | 'string'
  | 'integer'
  | 'double'
  | 'pattern'
  | 'unix-time'
  | 'pure-token'
  | 'oneof'
  | 'block';

export function parseSyntax(syntax: string): Argument[] {
  const words = syntax.match(/\.\.\.|[[\]<>|]|[^\s[\]<>|]+/g) ?? [];
  return new SyntaxReader(words).whole();
}

const REPEAT = '...';
const ENDS: ReadonlySet<string | undefined> = new Set([']', '>', '|', undefined]);

class SyntaxReader {
  readonly #words: readonly string[];
  #at = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  /** Outside of brackets, a bar separates single words. */
  whole(): Argument[] {
    const found: Argument[] = [];
    while (this.#at < this.#words.length) {
      const alternatives = [this.#next(found)];
      while (this.#words[this.#at] === '|') {
        this.#at++;
        alternatives.push(this.#next(found));
      }
      const present = alternatives.filter((each) => each !== undefined);
      if (present.length > 0) found.push(oneOf(present));
    }
    return found;
  }

  /** Inside of brackets: arguments up to their end or to the next alternative. */
  #sequence(token?: string): Argument[] {
    const found: Argument[] = [];
    while (!ENDS.has(this.#words[this.#at])) {
      const isToken = isTyped(this.#words[this.#at]!);
      const argument = isToken ? this.#withToken() : this.#next(found, token);
      if (argument !== undefined) found.push(argument);
    }
    return found;
  }

  /** A token and the arguments that follow it: `LIMIT offset count`, `AGGREGATE SUM|MIN`. */
  #withToken(): Argument {
    const token = this.#words[this.#at++]!;
    const next = this.#words[this.#at];
    const isChoice = next !== undefined && !ENDS.has(next) && isTyped(next);
    return withToken(token, isChoice ? [this.#alternatives()] : this.#sequence(token));
  }

  /** One argument; undefined for a repetition, which marks the arguments `before` it instead. */
  #next(before: Argument[], token?: string): Argument | undefined {
    const word = this.#words[this.#at++]!;
    if (word === '<') return this.#bracketed();
    if (word === '[') return this.#optional(before, token);
    if (word === REPEAT) return undefined;
    return isTyped(word) ? withToken(word, []) : { name: word, type: typeOf(word) };
  }

  #optional(before: Argument[], token?: string): Argument | undefined {
    const begin = this.#at;
    const inner = this.#bracketed();
    if (this.#words[this.#at - 2] !== REPEAT) return { ...inner, optional: true };
    const words = this.#words.slice(begin, this.#at - 2).join(' ');
    return repeat(before, words, token) ? undefined : { ...inner, optional: true, multiple: true };
  }

  #bracketed(): Argument {
    const inner = this.#alternatives();
    this.#at++;
    return inner;
  }

  #alternatives(): Argument {
    const alternatives = [joined(this.#sequence())];
    while (this.#words[this.#at] === '|') {
      this.#at++;
      alternatives.push(joined(this.#sequence()));
    }
    return oneOf(alternatives);
  }
}

/** Marks the last arguments as repeated if `words` names them. Returns whether it does. */
function repeat(before: Argument[], words: string, token?: string): boolean {
  for (let count = 1; count <= before.length; count++) {
    const last = before.slice(-count);
    const text = last.map(wordsOf).join(' ');
    const withItsToken = count === before.length && words === `${token} ${text}`;
    if (words !== text && !withItsToken) continue;
    const repeated = { ...joined(last), multiple: true } as const;
    before.splice(-count, count, withItsToken ? { ...repeated, multipleToken: true } : repeated);
    return true;
  }
  return false;
}

function wordsOf({ name, type, token, arguments: parts }: Argument): string {
  const body = parts ? parts.map(wordsOf).join(type === 'oneof' ? ' | ' : ' ') : name;
  if (token === undefined) return body;
  return type === 'pure-token' ? token : `${token} ${body}`;
}

function oneOf(alternatives: readonly Argument[]): Argument {
  if (alternatives.length === 1) return alternatives[0]!;
  return { name: nameOf(alternatives), type: 'oneof', arguments: alternatives };
}

function joined(sequence: readonly Argument[]): Argument {
  if (sequence.length === 1) return sequence[0]!;
  return { name: nameOf(sequence), type: 'block', arguments: sequence };
}

function withToken(token: string, rest: readonly Argument[]): Argument {
  if (rest.length === 0) return { name: token.toLowerCase(), type: 'pure-token', token };
  return { ...joined(rest), token };
}

function nameOf(parts: readonly Argument[]): string {
  return parts.map(({ name }) => name).join('_');
}

const BRACKETS = '[]<>|';

/** Whether a word is a literal token: upper case, or punctuation. */
function isTyped(word: string): boolean {
  return word !== REPEAT && !BRACKETS.includes(word) && word === word.toUpperCase();
}

const TYPES: Partial<Record<string, ArgumentType>> = {
  key: 'key',
  newkey: 'key',
  source: 'key',
  destination: 'key',
  dst: 'key',
  src: 'key',
  pattern: 'pattern',
  score: 'double',
  weight: 'double',
  'unix-time-seconds': 'unix-time',
  'unix-time-milliseconds': 'unix-time',
};

const INTEGERS: ReadonlySet<string> = new Set([
  'client-id',
  'count',
  'cursor',
  'db',
  'decrement',
  'destination-db',
  'end',
  'index',
  'index1',
  'index2',
  'len',
  'limit',
  'milliseconds',
  'num-matches',
  'numkeys',
  'numreplicas',
  'offset',
  'protover',
  'rank',
  'seconds',
  'start',
  'stop',
  'timeout',
]);

function typeOf(word: string): ArgumentType {
  return TYPES[word] ?? (INTEGERS.has(word) ? 'integer' : 'string');
}
