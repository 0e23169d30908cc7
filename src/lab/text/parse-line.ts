import { COMMANDS } from '../../engine/index.ts';
import type { Line, Word } from './lines.ts';
import { isSlip, meant, textFault } from './text-fault.ts';
import type { Condition, LeaseLength, LoopEnd, Operand, Sign, Statement, Value } from './tree.ts';

/** The names that a line may use. */
export interface Scope {
  readonly file: string;
  readonly scripts: ReadonlyMap<string, string>;
  /** All variables of the text, with the line that assigns each first. */
  readonly assigned: ReadonlyMap<string, number>;
  /** Those that a line above assigns. */
  readonly known: Set<string>;
  readonly variants: string[];
}

/** One line, parsed without its context: the lines below it, and whether it is allowed here, are checked later. */
export type ParsedLine =
  | { readonly kind: 'statement'; readonly statement: Statement }
  | { readonly kind: 'variants'; readonly names: readonly string[] }
  | { readonly kind: 'leave' | 'else' | 'multi' | 'exec' }
  | { readonly kind: 'extend'; readonly lease: LeaseLength }
  | {
      readonly kind: 'if';
      readonly condition: { readonly condition: Condition; readonly isNegated: boolean };
    }
  | { readonly kind: 'loop'; readonly ends: LoopEnd; readonly pauseMs: number }
  | { readonly kind: 'hold'; readonly key: string; readonly lease: LeaseLength };

/** Throws LabError. `isQueued`: between MULTI and EXEC, where an assignment takes effect at EXEC. */
export function parseLine(line: Line, scope: Scope, isQueued = false): ParsedLine {
  return new LineParser(line, scope, isQueued).line();
}

const SIGNS: ReadonlyMap<string, Sign> = new Map([
  ['gives', '='],
  ['=', '='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);

/** Operators of other languages, and what to write instead. */
const OTHER_SIGNS: ReadonlyMap<string, string> = new Map([
  ['==', 'write "="'],
  ['!=', 'write "unless x = 1" for "if x != 1"'],
  ['<>', 'write "unless x = 1" for "if x <> 1"'],
]);

const MAX_TIMES = 1000;
const MAX_SECONDS = 3600;
const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['ms', 1],
]);

/** Maximum number of variables that a word is compared with for a suggestion, so that long texts stay fast. */
const MAX_COMPARED = 50;

const NAME = /^[a-z][a-z0-9_-]*$/;
const COMMAND = /^[A-Z][A-Z]+$/;

type Read = (parser: LineParser) => ParsedLine;

/** Parsers by the first word of the line. */
const STATEMENTS: Readonly<Record<string, Read>> = {
  until: (parser) => parser.until(),
  if: (parser) => parser.if(false),
  unless: (parser) => parser.if(true),
  else: (parser) => parser.else(),
  repeat: (parser) => parser.words('repeat', LOOP),
  'repeat,': (parser) => parser.words('repeat, each second', { ...LOOP, pauseMs: 1000 }),
  leave: (parser) => parser.words('leave the loop', { kind: 'leave' }),
  sleep: (parser) => parser.sleep(),
  hold: (parser) => parser.hold(),
  extend: (parser) => parser.extend(),
  stop: (parser) => parser.stop('stop', 'done'),
  'stop:': (parser) => parser.stop('stop: the lock is lost', 'lost'),
  variants: (parser) => parser.variants(),
  MULTI: (parser) => parser.words('MULTI', { kind: 'multi' }),
  EXEC: (parser) => parser.words('EXEC', { kind: 'exec' }),
};
const LOOP = { kind: 'loop', ends: { kind: 'never' }, pauseMs: 0 } as const;

/** Reserved words, which are not allowed as names of variables. */
const RESERVED = [...Object.keys(STATEMENTS), 'work', 'write', 'unix', 'variant', 'gives', 'nil'];
const EXPECTED =
  'A line begins with a command in capitals (SET, GET), "name =", work, write, sleep, if, unless, else, until, repeat, "3 times", leave the loop, hold, extend or stop';

class LineParser {
  readonly #line: Line;
  readonly #scope: Scope;
  readonly #isQueued: boolean;
  #at = 0;

  constructor(line: Line, scope: Scope, isQueued: boolean) {
    this.#line = line;
    this.#scope = scope;
    this.#isQueued = isQueued;
  }

  line(): ParsedLine {
    const [first, second] = this.#line.words;
    if (first!.text.endsWith(',') && first!.text !== 'repeat,') return this.#assignment();
    if (second?.text === '=') return this.#assignment();
    if (first!.kind !== 'plain') throw this.#unexpected(EXPECTED);
    const read = Object.hasOwn(STATEMENTS, first!.text) ? STATEMENTS[first!.text] : undefined;
    if (read !== undefined) return read(this);
    if (second?.text === 'times') return this.#times();
    if (isCommand(first) || first!.text === 'work' || first!.text === 'write') {
      const value = this.#value();
      this.#end();
      return this.#done({ kind: 'do', value, place: this.#line.place });
    }
    throw this.#unknownStatement(first!);
  }

  words(expected: string, parsed: ParsedLine): ParsedLine {
    for (const word of expected.split(' ')) this.#expect(word);
    this.#end();
    return parsed;
  }

  until(): ParsedLine {
    this.#expect('until');
    return { kind: 'loop', ends: { kind: 'until', condition: this.#condition() }, pauseMs: 0 };
  }

  if(isNegated: boolean): ParsedLine {
    this.#at++;
    return { kind: 'if', condition: { condition: this.#condition(), isNegated } };
  }

  else(): ParsedLine {
    const [, second] = this.#line.words;
    if (second?.text === 'if' || second?.text === 'unless') {
      throw this.#fault(
        second,
        `"else ${second.text}": write "else" alone, and "${second.text}" on a line below it, indented by four spaces`,
      );
    }
    return this.words('else', { kind: 'else' });
  }

  sleep(): ParsedLine {
    this.#expect('sleep');
    const durationMs = this.#duration();
    this.#end();
    return this.#done({ kind: 'sleep', durationMs, place: this.#line.place });
  }

  hold(): ParsedLine {
    this.#expect('hold');
    const word = this.#next('the key that is the lock, as in "hold lock for 2 s"');
    if (word.kind === 'script') throw this.#fault(word, `<${word.text}> is a script, not a key`);
    if (word.kind === 'plain' && this.#scope.assigned.has(word.text)) {
      throw this.#fault(
        word,
        `"${word.text}" is a variable: "hold" takes the name of the key itself`,
      );
    }
    return { kind: 'hold', key: word.text, lease: this.#lease(true) };
  }

  extend(): ParsedLine {
    this.#expect('extend');
    return { kind: 'extend', lease: this.#lease(false) };
  }

  stop(expected: string, outcome: 'done' | 'lost'): ParsedLine {
    for (const word of expected.split(' ')) this.#expect(word);
    this.#end();
    return this.#done({ kind: 'stop', outcome, place: this.#line.place });
  }

  variants(): ParsedLine {
    this.#expect('variants');
    const names: string[] = [];
    for (let isLast = false; !isLast; ) {
      const word = this.#next('a name, as in "variants plain, careful"');
      isLast = !word.text.endsWith(',');
      const name = word.text.replace(/,$/, '');
      if (!NAME.test(name))
        throw this.#fault(word, `"${word.text}" is not a valid name: use a to z, 0 to 9 and -`);
      if (names.includes(name)) throw this.#fault(word, `the variant "${name}" is listed twice`);
      names.push(name);
    }
    this.#end();
    return { kind: 'variants', names };
  }

  #assignment(): ParsedLine {
    const names: string[] = [];
    for (let isLast = false; !isLast; ) {
      const word = this.#next('a name');
      isLast = !word.text.endsWith(',');
      names.push(this.#newName(word, word.text.replace(/,$/, '')));
    }
    this.#expect('=');
    const value = this.#assigned();
    if (names.length > 1 && value.kind !== 'command') {
      throw this.#fault(
        this.#line.words[0]!,
        'only the reply of a command is taken apart into several names',
      );
    }
    this.#end();
    if (!this.#isQueued) for (const name of names) this.#scope.known.add(name);
    return this.#done({ kind: 'assign', names, value, place: this.#line.place });
  }

  #newName(word: Word, name: string): string {
    if (RESERVED.includes(name)) {
      throw this.#fault(word, `"${name}" is a word of the language: choose another name`);
    }
    if (word.kind === 'plain' && NAME.test(name)) return name;
    throw this.#fault(
      word,
      `"${name}" is not a valid name: use small letters a to z, 0 to 9, - and _`,
    );
  }

  /** `another one each time` is the client's token: A1 for the first acquisition of A. */
  #assigned(): Value {
    const word = this.#peek();
    if (word?.text !== 'another') return this.#value();
    for (const text of ['another', 'one', 'each', 'time']) this.#expect(text);
    return { kind: 'sum', terms: [{ operand: { kind: 'token', place: word.place }, factor: 1 }] };
  }

  #times(): ParsedLine {
    const word = this.#next('a number');
    const count = Number(word.text);
    if (!/^\d+$/.test(word.text) || count < 1 || count > MAX_TIMES) {
      throw this.#fault(
        word,
        `"${word.text} times": expected a number from 1 to ${MAX_TIMES} in digits`,
      );
    }
    this.#expect('times');
    this.#end();
    return { kind: 'loop', ends: { kind: 'times', count }, pauseMs: 0 };
  }

  #lease(mayHaveNoEnd: boolean): LeaseLength {
    const word = this.#peek();
    if (word === undefined && mayHaveNoEnd) return { kind: 'no-end' };
    const how = this.#next('"for 2 s" or "until expiry"').text;
    if (how !== 'for' && how !== 'until') {
      throw this.#fault(
        word!,
        `"${how}": expected "for" or "until"${meant(how, ['for', 'until'])}`,
      );
    }
    const lease: LeaseLength =
      how === 'for'
        ? { kind: 'for', durationMs: this.#duration() }
        : { kind: 'until', end: this.#operand(false) };
    this.#end();
    return lease;
  }

  #duration(): number {
    const word = this.#next('a length of time, such as 1 s');
    const unit = this.#next('"s" or "ms"');
    const factor = UNITS.get(unit.text);
    if (factor === undefined) {
      throw this.#fault(unit, `"${unit.text}" is not a unit of time: write s or ms, as in "1 s"`);
    }
    const durationMs = /^\d+$/.test(word.text) ? Number(word.text) * factor : 0;
    if (durationMs > 0 && durationMs <= MAX_SECONDS * 1000) return durationMs;
    const ms = /^\d*\.\d+$/.test(word.text) ? Number(word.text) * factor : 0;
    const form = Number.isInteger(ms) && ms > 0 ? `; write ${ms} ms` : '';
    throw this.#fault(
      word,
      `"${word.text}": expected a whole number above 0, of at most ${MAX_SECONDS} s${form}`,
    );
  }

  #condition(): Condition {
    const first = this.#peek();
    if (first?.text === 'variant') return this.#variant();
    const left = this.#value();
    const word = this.#next('a comparison: gives, =, <, <=, > or >=');
    const sign = SIGNS.get(word.text);
    if (sign === undefined) {
      const other = OTHER_SIGNS.get(word.text);
      const form = other === undefined ? meant(word.text, [...SIGNS.keys()]) : `; ${other}`;
      throw this.#fault(word, `"${word.text}": expected gives, =, <, <=, > or >=${form}`);
    }
    const right = this.#sum(true);
    this.#end();
    return { kind: 'compare', left, sign, right, place: word.place };
  }

  #variant(): Condition {
    this.#expect('variant');
    const { variants } = this.#scope;
    const word = this.#next('the name of a variant');
    this.#end();
    if (variants.includes(word.text)) return { kind: 'variant', name: word.text };
    const known =
      variants.length === 0
        ? 'list it in the first line, as in "variants plain, careful"'
        : `the first line lists ${variants.join(', ')}`;
    throw this.#fault(
      word,
      `unknown variant "${word.text}"${meant(word.text, variants)}; ${known}`,
    );
  }

  #value(): Value {
    const word = this.#peek();
    if (isCommand(word)) return this.#command();
    if (word?.text === 'work' || word?.text === 'write') return this.#write();
    return this.#sum(false);
  }

  #write(): Value {
    const works = this.#next('work or write').text === 'work';
    if (this.#peek()?.text !== 'with') return { kind: 'write', works, fence: undefined };
    this.#expect('with');
    this.#expect('fence');
    return { kind: 'write', works, fence: this.#operand(false) };
  }

  #command(): Value {
    const name = this.#peek()!;
    if (!isCommandName(name.text)) {
      const names = [...COMMANDS.keys()].map((each) => each.toUpperCase());
      throw this.#fault(
        name,
        `there is no command ${name.text}${meant(name.text, names)}; a text of its own stands in quotes`,
      );
    }
    const words: Operand[] = [];
    for (let word = this.#peek(); word && word.text !== 'gives'; word = this.#peek()) {
      this.#at++;
      words.push(this.#sent(word));
    }
    return { kind: 'command', words };
  }

  /** A word of a command: a variable's value if a line assigns it, else the word itself. */
  #sent(word: Word): Operand {
    const { place, text, kind } = word;
    if (kind === 'script') return { kind: 'constant', value: this.#script(word), place };
    if (kind === 'quoted') return { kind: 'constant', value: text, place };
    if (SIGNS.has(text) || OTHER_SIGNS.has(text)) {
      throw this.#fault(
        word,
        `"${text}": the reply of a command is compared by "gives", as in "if GET lock gives token" or "unless GET lock gives token"`,
      );
    }
    if (this.#scope.assigned.has(text)) return this.#variable(word);
    const name = this.#slippedFrom(text);
    if (name !== undefined) {
      throw this.#fault(
        word,
        `"${text}" is not a variable; did you mean "${name}"? If the word itself is to be sent, write it in quotes`,
      );
    }
    return { kind: 'constant', value: text, place };
  }

  /** The variable that a word of a command is probably a misspelling of. */
  #slippedFrom(text: string): string | undefined {
    const { assigned } = this.#scope;
    if (text.length <= 3 || assigned.size > MAX_COMPARED) return undefined;
    return [...assigned.keys()].find((each) => isSlip(text, each));
  }

  #script(word: Word): string {
    const { scripts } = this.#scope;
    const script = scripts.get(word.text);
    if (script !== undefined) return script;
    throw this.#fault(
      word,
      `there is no script <${word.text}>${meant(word.text, [...scripts.keys()])}; write its Lua at the end of the text, below a line "script <${word.text}>"`,
    );
  }

  /** `hasTexts`: a word in capitals is a text, as in `gives OK`, since a command is not allowed there. */
  #sum(hasTexts: boolean): Value {
    const terms: { operand: Operand; factor: 1 | -1 }[] = [];
    let factor: 1 | -1 = 1;
    for (;;) {
      terms.push({ operand: this.#operand(hasTexts), factor });
      const sign = this.#peek()?.text;
      if (sign !== '+' && sign !== '-') return { kind: 'sum', terms };
      factor = sign === '+' ? 1 : -1;
      this.#at++;
    }
  }

  #operand(hasTexts: boolean): Operand {
    const word = this.#next('a number, a variable, a text in quotes, nil or "unix time"');
    const { text, place, kind } = word;
    if (kind === 'script')
      throw this.#fault(word, `<${text}>: a script is allowed only after EVAL`);
    if (kind === 'quoted') return { kind: 'constant', value: text, place };
    if (/^-?\d+$/.test(text)) return { kind: 'constant', value: Number(text), place };
    if (text === 'nil') return { kind: 'constant', value: null, place };
    if (hasTexts && /^[A-Z_]+$/.test(text)) return { kind: 'constant', value: text, place };
    if (text !== 'unix') return this.#variable(word);
    this.#expect('time');
    return { kind: 'time', place };
  }

  #variable(word: Word): Operand {
    const { text: name, place } = word;
    const { known, assigned } = this.#scope;
    if (known.has(name)) return { kind: 'variable', name, place };
    const line = assigned.get(name);
    if (line !== undefined) {
      throw this.#fault(
        word,
        `"${name}" has no value here: line ${line} assigns it. Assign it above; if the word itself is meant, write it in quotes`,
      );
    }
    if (isCommandName(name)) throw this.#smallCommand(word);
    const names = [...known, 'unix time', 'work', 'write', 'variant'];
    throw this.#fault(
      word,
      `unknown variable "${name}"${meant(name, names)}; assign it above, or write a text in quotes`,
    );
  }

  #done(statement: Statement): ParsedLine {
    return { kind: 'statement', statement };
  }

  #peek(): Word | undefined {
    return this.#line.words[this.#at];
  }

  #next(expected: string): Word {
    const word = this.#peek();
    if (word === undefined) throw this.#unexpected(`Expected ${expected}`);
    this.#at++;
    return word;
  }

  #expect(text: string): void {
    const word = this.#peek();
    if (word?.text === text && word.kind === 'plain') this.#at++;
    else throw this.#unexpected(`Expected "${text}"`);
  }

  #end(): void {
    if (this.#peek() !== undefined) throw this.#unexpected('Expected the end of the line');
  }

  #unexpected(expected: string): Error {
    const { words } = this.#line;
    const word = this.#peek();
    if (word !== undefined) {
      return this.#fault(word, `"${word.text}" cannot be understood here. ${expected}`);
    }
    const last = words.at(-1)!;
    const column = last.place.column + last.text.length + (last.kind === 'plain' ? 0 : 2);
    return textFault(
      this.#scope.file,
      { line: last.place.line, column },
      `the line ends too early. ${expected}`,
    );
  }

  #unknownStatement(word: Word): Error {
    const { text } = word;
    if (isCommandName(text)) return this.#smallCommand(word);
    const names = [...Object.keys(STATEMENTS), 'work', 'write', 'script'];
    return this.#fault(word, `"${text}" is not a statement${meant(text, names)}. ${EXPECTED}`);
  }

  #smallCommand(word: Word): Error {
    const { text } = word;
    return this.#fault(word, `"${text}": commands are written in capitals: ${text.toUpperCase()}`);
  }

  #fault(word: Word, message: string): Error {
    return textFault(this.#scope.file, word.place, message);
  }
}

function isCommandName(text: string): boolean {
  return COMMANDS.has(text.toLowerCase());
}

export function isCommand(word: Word | undefined): boolean {
  return word?.kind === 'plain' && COMMAND.test(word.text);
}
