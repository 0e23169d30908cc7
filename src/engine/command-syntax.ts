/**
 * The arguments of a command, read from the line of syntax in its facts, for COMMAND DOCS: clients
 * show hints and complete by them.
 *
 *   key value [NX|XX] [EX seconds|KEEPTTL]     small words are arguments, capitals are to be typed
 *   <BEFORE|AFTER>                             one of several
 *   [EX seconds]                               may be left out
 *   key [key ...], field value [field value ...]   the arguments before the brackets may be repeated
 */
export interface Argument {
  readonly name: string;
  readonly type: ArgumentType;
  readonly token?: string;
  readonly optional?: true;
  readonly multiple?: true;
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
  return new SyntaxReader(words).sequence();
}

const REPEAT = '...';

class SyntaxReader {
  readonly #words: readonly string[];
  #at = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  /** Arguments up to the end of the brackets or of the alternative. */
  sequence(): Argument[] {
    const found: Argument[] = [];
    for (let word = this.#words[this.#at]; word !== undefined; word = this.#words[this.#at]) {
      if (word === ']' || word === '>' || word === '|') break;
      this.#at++;
      if (word === '[') this.#optional(found);
      else if (word === '<') found.push(this.#choice('>'));
      else if (isToken(word)) found.push(withToken(word, this.sequence()));
      else if (word !== REPEAT) found.push({ name: word, type: typeOf(word) });
    }
    return found;
  }

  /** Either `[key ...]`, which repeats what came before, or something that may be left out. */
  #optional(before: Argument[]): void {
    const begin = this.#at;
    const inner = this.#choice(']');
    const isRepetition = this.#words[this.#at - 2] === REPEAT;
    const count = this.#at - 2 - begin;
    if (!isRepetition || count > before.length || this.#words[begin] === '[') {
      before.push({ ...inner, optional: true });
      return;
    }
    const repeated = joined(before.splice(before.length - count));
    before.push({ ...repeated, multiple: true });
  }

  #choice(end: string): Argument {
    const alternatives = [joined(this.sequence())];
    while (this.#words[this.#at] === '|') {
      this.#at++;
      alternatives.push(joined(this.sequence()));
    }
    if (this.#words[this.#at] !== end) throw new Error(`'${end}' is missing`);
    this.#at++;
    if (alternatives.length === 1) return alternatives[0]!;
    return { name: nameOf(alternatives), type: 'oneof', arguments: alternatives };
  }
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

function isToken(word: string): boolean {
  return word !== REPEAT && word === word.toUpperCase();
}

const TYPES: Partial<Record<string, ArgumentType>> = {
  key: 'key',
  newkey: 'key',
  source: 'key',
  destination: 'key',
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
]);

function typeOf(word: string): ArgumentType {
  return TYPES[word] ?? (INTEGERS.has(word) ? 'integer' : 'string');
}
