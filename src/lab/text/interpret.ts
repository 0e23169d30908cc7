import type { Answer, Client, Doing, Lease, Tools } from '../recipe.ts';
import { textFault } from './text-fault.ts';
import type {
  Block,
  Condition,
  LeaseLength,
  LoopEnd,
  LoopStatement,
  Operand,
  Place,
  QueuedCommand,
  Sign,
  Statement,
  Value,
} from './tree.ts';

/** Runs one client of a recipe that was parsed from a text. Its actions have the line that they come from. */
export function* interpret(program: Block, tools: Tools, file: string): Client {
  const interpreter = new Interpreter(tools, file);
  const run = interpreter.run(program);
  let next = run.next();
  while (!next.done) {
    let result: unknown;
    try {
      result = yield { ...next.value, line: interpreter.line };
    } catch (error) {
      next = run.throw(error);
      continue;
    }
    next = run.next(result);
  }
  const flow = next.value;
  return flow === 'on' || flow === 'leave' ? 'done' : flow;
}

/** What comes next: the next line (`on`), the line after the loop (`leave`), or the end of the attempt. */
type Flow = 'on' | 'leave' | 'done' | 'busy' | 'lost';

/** More lines than an acquisition of 1000 steps runs. Stops a loop that takes no steps. */
const MAX_LINES = 20_000;
/** Lower than the limit of `Program`, so that the error can name the loop. */
const MAX_STEPS = 900;

class Interpreter {
  readonly #tools: Tools;
  readonly #file: string;
  readonly #variables = new Map<string, Answer>();
  #lines = 0;
  #steps = 0;
  /** The innermost loop without a fixed number of passes. */
  #loopPlace: Place | undefined;
  #place: Place = { line: 1, column: 1 };

  constructor(tools: Tools, file: string) {
    this.#tools = tools;
    this.#file = file;
  }

  /** The line that runs. */
  get line(): number {
    return this.#place.line;
  }

  *run(block: Block): Doing<Flow> {
    for (const statement of block) {
      this.#count(statement.place);
      const flow = yield* this.#statement(statement);
      if (flow !== 'on') return flow;
    }
    return 'on';
  }

  #count(place: Place): void {
    this.#place = place;
    if (++this.#lines > MAX_LINES) throw this.#endless(`ran ${MAX_LINES} lines`);
  }

  #countSteps(count: number): void {
    this.#steps += count;
    if (this.#steps > MAX_STEPS) throw this.#endless(`took ${MAX_STEPS} steps`);
  }

  #endless(what: string): Error {
    const where = this.#loopPlace ?? this.#place;
    return this.#fault(where, `this loop never ends: a client ${what}. Sleep in it, or leave it`);
  }

  *#statement(statement: Statement): Doing<Flow> {
    switch (statement.kind) {
      case 'do':
        yield* this.#value(statement.value);
        return 'on';
      case 'assign':
        this.#assign(statement.names, yield* this.#value(statement.value));
        return 'on';
      case 'transaction':
        yield* this.#transaction(statement.commands);
        return 'on';
      case 'if': {
        const isTrue = yield* this.#isTrue(statement.condition);
        return yield* this.run(isTrue ? statement.then : statement.otherwise);
      }
      case 'loop': {
        const outer = this.#loopPlace;
        if (statement.ends.kind !== 'times') this.#loopPlace = statement.place;
        const flow = yield* this.#loop(statement);
        this.#loopPlace = outer;
        return flow;
      }
      case 'leave':
        return 'leave';
      case 'sleep':
        this.#countSteps(1);
        yield* this.#tools.sleep(statement.durationMs);
        return 'on';
      case 'hold':
        return yield* this.#hold(statement.lease, statement.body);
      case 'extend':
        yield* this.#tools.extend((yield* this.#lease(statement.lease))!);
        return 'on';
      case 'stop':
        return statement.outcome;
    }
  }

  *#loop({ ends, body, beginsAnew, place }: LoopStatement): Doing<Flow> {
    for (let pass = 0; ; pass++) {
      this.#count(place);
      if (yield* this.#hasEnded(ends, pass)) return 'on';
      const flow = yield* this.run(body);
      if (flow === 'leave') return 'on';
      if (flow !== 'on') return flow;
      // After `busy` the world waits for a second and starts the client at the first line.
      if (beginsAnew) return 'busy';
    }
  }

  *#hasEnded(ends: LoopEnd, pass: number): Doing<boolean> {
    if (ends.kind === 'until') return yield* this.#isTrue(ends.condition);
    return ends.kind === 'times' && pass === ends.count;
  }

  /** A client that stops while it holds the lock ends without `leave`. */
  *#hold(length: LeaseLength, body: Block): Doing<Flow> {
    yield* this.#tools.enter(yield* this.#lease(length));
    const flow = yield* this.run(body);
    if (flow === 'on' || flow === 'leave') yield* this.#tools.leave();
    return flow;
  }

  *#lease(length: LeaseLength): Doing<Lease | undefined> {
    if (length.kind === 'no-end') return undefined;
    if (length.kind === 'for') return { leaseMs: length.durationMs };
    const end = yield* this.#operand(length.end);
    return { until: this.#number(end, length.end.place) };
  }

  *#isTrue(condition: Condition): Doing<boolean> {
    if (condition.kind === 'variant') return this.#tools.variant === condition.name;
    const left = yield* this.#value(condition.left);
    const right = yield* this.#value(condition.right);
    if (isList(left) || isList(right)) {
      throw this.#fault(
        condition.place,
        'a list cannot be compared: take it apart above, as in "first, second = …"',
      );
    }
    return COMPARE[condition.sign](left, right);
  }

  *#value(value: Value): Doing<Answer> {
    if (value.kind === 'command') {
      const words = yield* this.#words(value.words);
      this.#countSteps(1);
      return yield* this.#tools.command(blanks(words.length), ...words);
    }
    if (value.kind === 'write') {
      const fence =
        value.fence && this.#number(yield* this.#operand(value.fence), value.fence.place);
      const { work, write } = this.#tools;
      this.#countSteps(value.works ? 2 : 1);
      return (yield* value.works ? work(fence) : write(fence)) ? 1 : 0;
    }
    const [first, ...others] = value.terms;
    const start = yield* this.#operand(first!.operand);
    if (others.length === 0) return start;
    let sum = this.#number(start, first!.operand.place);
    for (const { operand, factor } of others) {
      sum += factor * this.#number(yield* this.#operand(operand), operand.place);
    }
    return sum;
  }

  *#transaction(commands: readonly QueuedCommand[]): Doing<void> {
    const lines: string[] = [];
    for (const { words } of commands) lines.push(this.#line(words, yield* this.#words(words)));
    this.#countSteps(1);
    const replies = yield* this.#tools.transaction(...lines);
    for (const [at, { names }] of commands.entries()) this.#assign(names, replies[at]!);
  }

  /** `Tools.transaction` splits commands at spaces, so no argument may contain one. */
  #line(operands: readonly Operand[], words: readonly (string | number)[]): string {
    const at = words.findIndex((word) => word === '' || /\s/.test(String(word)));
    if (at < 0) return words.join(' ');
    throw this.#fault(
      operands[at]!.place,
      'between MULTI and EXEC no word may be empty or have a space in it',
    );
  }

  *#words(operands: readonly Operand[]): Doing<(string | number)[]> {
    const words: (string | number)[] = [];
    for (const operand of operands) {
      const word = yield* this.#operand(operand);
      if (word === null || isList(word)) {
        const what = word === null ? 'nil' : 'a list';
        throw this.#fault(
          operand.place,
          `${nameOf(operand)} is ${what}, which no command can take`,
        );
      }
      words.push(word);
    }
    return words;
  }

  *#operand(operand: Operand): Doing<Answer> {
    switch (operand.kind) {
      case 'constant':
        return operand.value;
      case 'token':
        return this.#tools.token;
      case 'time':
        this.#countSteps(1);
        return yield* this.#tools.unixTime();
      case 'variable': {
        const value = this.#variables.get(operand.name);
        if (value !== undefined) return value;
        throw this.#fault(
          operand.place,
          `"${operand.name}" has no value yet: the line that assigns it was not run`,
        );
      }
    }
  }

  /** With several names, destructures a list, or a text at its spaces. */
  #assign(names: readonly string[], value: Answer): void {
    if (names.length === 1) this.#variables.set(names[0]!, value);
    else {
      const parts = typeof value === 'string' ? value.split(' ') : isList(value) ? value : [value];
      for (const [at, name] of names.entries()) this.#variables.set(name, parts[at] ?? null);
    }
  }

  #number(value: Answer, place: Place): number {
    const number = numberOf(value);
    if (!Number.isNaN(number)) return number;
    throw this.#fault(
      place,
      `expected a number, and this is ${value === null ? 'nil' : JSON.stringify(value)}`,
    );
  }

  #fault(place: Place, message: string): Error {
    return textFault(this.#file, place, message);
  }
}

type Comparable = string | number | null;

/** Nil equals only nil. A value that is not a number is neither less nor greater than any other. */
const COMPARE: Readonly<Record<Sign, (left: Comparable, right: Comparable) => boolean>> = {
  '=': (left, right) =>
    left === null || right === null ? left === right : String(left) === String(right),
  '<': (left, right) => numberOf(left) < numberOf(right),
  '<=': (left, right) => numberOf(left) <= numberOf(right),
  '>': (left, right) => numberOf(left) > numberOf(right),
  '>=': (left, right) => numberOf(left) >= numberOf(right),
};

function numberOf(value: Answer): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function isList(value: Answer): value is readonly Answer[] {
  return Array.isArray(value);
}

function nameOf(operand: Operand): string {
  return operand.kind === 'variable' ? `"${operand.name}"` : 'this word';
}

/** A template with empty literals: each argument is a value, which `Tools.command` does not split at spaces. */
function blanks(values: number): TemplateStringsArray {
  const literals = Array.from({ length: values + 1 }, () => '');
  return Object.assign(literals, { raw: literals });
}
