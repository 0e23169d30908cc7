import { carriesOver } from './carries-over.ts';
import type { Line, Word } from './lines.ts';
import { isCommand, type ParsedLine, parseLine, type Scope } from './parse-line.ts';
import { meant, textFault } from './text-fault.ts';
import type {
  Block,
  Condition,
  LoopEnd,
  LoopStatement,
  Place,
  QueuedCommand,
  Statement,
} from './tree.ts';

export interface ParsedProgram {
  readonly statements: Block;
  /** The first is the default. */
  readonly variants: readonly string[];
  readonly lock: LockKey;
}

/** The key that `hold` names. */
interface LockKey {
  readonly key: string;
  /** The key's value, and not its TTL, is the end of the lease. */
  readonly hasEndInValue: boolean;
}

/** Parses the statements of a program by their lines and indentation. Throws LabError. */
export function parseProgram(
  lines: readonly Line[],
  scripts: ReadonlyMap<string, string>,
  file: string,
): ParsedProgram {
  const parser = new Parser(lines, scripts, file);
  const statements = parser.program();
  return { statements, variants: parser.variants, lock: parser.lock() };
}

const SECOND_MS = 1000;

class Parser {
  readonly #lines: readonly Line[];
  readonly #file: string;
  readonly #scope: Scope;
  #at = 0;
  #lock: (LockKey & { readonly place: Place }) | undefined;
  #loops = 0;
  #holds = 0;

  constructor(lines: readonly Line[], scripts: ReadonlyMap<string, string>, file: string) {
    this.#lines = lines;
    this.#file = file;
    this.#scope = { file, scripts, assigned: assignedIn(lines), known: new Set(), variants: [] };
  }

  get variants(): readonly string[] {
    return this.#scope.variants;
  }

  lock(): LockKey {
    if (this.#lock !== undefined) {
      this.#refuseUnnamed(this.#lock);
      return this.#lock;
    }
    const { line } = this.#lines.at(-1)!.place;
    throw textFault(
      this.#file,
      { line, column: 1 },
      'no line says which key is the lock, and for how long the client has it. Write "hold lock for 2 s" where it has taken the lock, and indent below it what it does meanwhile, such as "work"',
    );
  }

  /** Throws if no command uses the lock's key. The checks read only this key and would find no failure. */
  #refuseUnnamed({ key, place }: LockKey & { readonly place: Place }): void {
    const lines = this.#lines.filter(({ words }) => words[0]!.text !== 'hold');
    const words = lines.flatMap((line) => line.words);
    const isNamed =
      words.some(({ text }) => text === key) ||
      [...this.#scope.scripts.values()].some((script) => script.includes(key));
    if (isNamed || !words.some(isCommand)) return;
    const others = words.filter((word) => !isCommand(word)).map(({ text }) => text);
    throw this.#fault(
      place,
      `no command names the key "${key}": "hold" takes the key that the commands set${meant(key, [...new Set(others)])}`,
    );
  }

  program(): Block {
    const [first] = this.#lines;
    if (first!.indent > 0) throw this.#fault(first!.place, 'the first line must not be indented');
    const statements = this.#block(0);
    return statements.map((statement, index) => {
      if (statement.kind !== 'loop' || !statements.slice(0, index).every(isConstant)) {
        return statement;
      }
      return beginningAnew(statement, statements.slice(index + 1));
    });
  }

  /** Parses all following lines with this indentation, and the lines indented below each of them. */
  #block(indent: number): Statement[] {
    const statements: Statement[] = [];
    for (let line = this.#lines[this.#at]; line !== undefined; line = this.#lines[this.#at]) {
      if (line.indent < indent) break;
      if (line.indent > indent) {
        throw this.#fault(
          line.place,
          `indented by ${line.indent} spaces, where ${indent} are expected; only lines below if, unless, else, until, repeat, times and hold are indented further`,
        );
      }
      this.#at++;
      statements.push(...this.#statement(line, parseLine(line, this.#scope)));
    }
    return statements;
  }

  #statement(line: Line, parsed: ParsedLine): Statement[] {
    const { place } = line;
    switch (parsed.kind) {
      case 'statement':
        return [parsed.statement];
      case 'variants':
        return this.#variants(line, parsed.names);
      case 'leave':
        if (this.#loops === 0) throw this.#fault(place, 'there is no loop around this line');
        return [{ kind: 'leave', place }];
      case 'extend':
        if (this.#holds > 0) return [{ kind: 'extend', lease: parsed.lease, place }];
        throw this.#fault(place, 'only a lock that is held is extended: indent this below "hold"');
      case 'if':
        return [this.#if(line, parsed.condition)];
      case 'else':
        throw this.#fault(place, '"else" has no "if" or "unless" directly above it');
      case 'loop':
        return [this.#loop(line, parsed.ends, parsed.pauseMs)];
      case 'hold':
        return [this.#hold(line, parsed)];
      case 'multi':
        return [this.#transaction(line)];
      case 'exec':
        throw this.#fault(place, 'EXEC has no MULTI above it, with the same indentation');
    }
  }

  #variants({ place }: Line, names: readonly string[]): Statement[] {
    if (this.#at > 1) throw this.#fault(place, '"variants" must be the first line of the program');
    this.#scope.variants.push(...names);
    return [];
  }

  #if(
    line: Line,
    { condition, isNegated }: { condition: Condition; isNegated: boolean },
  ): Statement {
    const body = this.#below(line);
    const next = this.#lines[this.#at];
    const isElse = next?.indent === line.indent && next.words[0]!.text === 'else';
    let other: Block = [];
    if (isElse) {
      this.#at++;
      parseLine(next, this.#scope);
      other = this.#below(next);
    }
    const [then, otherwise] = isNegated ? [other, body] : [body, other];
    return { kind: 'if', condition, then, otherwise, place: line.place };
  }

  #loop(line: Line, ends: LoopEnd, pauseMs: number): Statement {
    this.#loops++;
    const body = this.#below(line);
    this.#loops--;
    const { place } = line;
    const pause: Block = pauseMs > 0 ? [{ kind: 'sleep', durationMs: pauseMs, place }] : [];
    return { kind: 'loop', ends, body: [...body, ...pause], beginsAnew: false, place };
  }

  #hold(line: Line, { key, lease }: ParsedLine & { readonly kind: 'hold' }): Statement {
    const hasEndInValue = lease.kind === 'until';
    const { place } = line;
    const known = this.#lock;
    if (known && (known.key !== key || known.hasEndInValue !== hasEndInValue)) {
      throw this.#fault(
        place,
        `line ${known.place.line} holds "${known.key}"${known.hasEndInValue ? ' until a time' : ''}: all lines with "hold" must name the same key in the same way`,
      );
    }
    this.#lock = { key, hasEndInValue, place };
    this.#holds++;
    const body = this.#below(line);
    this.#holds--;
    return { kind: 'hold', lease, body, place };
  }

  /** Parses the lines from MULTI to EXEC. Only commands are allowed, since none runs before EXEC. */
  #transaction({ indent, place }: Line): Statement {
    const commands: QueuedCommand[] = [];
    const names: string[] = [];
    for (let line = this.#lines[this.#at]; ; line = this.#lines[this.#at]) {
      if (line === undefined || line.indent !== indent) {
        throw this.#fault(
          line?.place ?? place,
          'EXEC is missing below MULTI, with the same indentation',
        );
      }
      this.#at++;
      const parsed = parseLine(line, this.#scope, true);
      if (parsed.kind === 'exec') break;
      commands.push(this.#queued(line, parsed, names));
    }
    for (const name of names) this.#scope.known.add(name);
    return { kind: 'transaction', commands, place };
  }

  #queued({ place }: Line, parsed: ParsedLine, declared: string[]): QueuedCommand {
    if (parsed.kind === 'statement') {
      const { statement } = parsed;
      if (statement.kind === 'do' && statement.value.kind === 'command') {
        return { names: [], words: statement.value.words };
      }
      if (statement.kind === 'assign' && statement.value.kind === 'command') {
        declared.push(...statement.names);
        return { names: statement.names, words: statement.value.words };
      }
    }
    throw this.#fault(
      place,
      'between MULTI and EXEC only commands and "name = COMMAND …" are allowed',
    );
  }

  /** Parses the lines that are indented further than this one. Throws if there are none. */
  #below({ indent, place, words }: Line): Block {
    const next = this.#lines[this.#at];
    if (next !== undefined && next.indent > indent) return this.#block(next.indent);
    throw this.#fault(
      next?.place ?? place,
      `nothing is indented below "${words[0]!.text}" of line ${place.line}; indent by four spaces what belongs to it`,
    );
  }

  #fault(place: Place, message: string): Error {
    return textFault(this.#file, place, message);
  }
}

/** All assigned names, each with its first line. */
function assignedIn(lines: readonly Line[]): Map<string, number> {
  const assigned = new Map<string, number>();
  for (const { words, place } of lines) {
    const at = words.findIndex(({ text }) => text === '=');
    const names = words.slice(0, Math.max(at, 0));
    if (!names.every(isTarget)) continue;
    for (const { text } of names) {
      const name = text.replace(',', '');
      if (!assigned.has(name)) assigned.set(name, place.line);
    }
  }
  return assigned;
}

function isTarget({ kind, text }: Word, at: number, names: readonly Word[]): boolean {
  return kind === 'plain' && text.endsWith(',') === at < names.length - 1;
}

/** The statement has no side effects and always gives the same value. */
function isConstant(statement: Statement): boolean {
  if (statement.kind !== 'assign' || statement.value.kind !== 'sum') return false;
  return statement.value.terms.every(({ operand }) => operand.kind !== 'time');
}

function beginningAnew(loop: LoopStatement, behind: Block): Statement {
  const last = loop.body.at(-1);
  const pauses = last?.kind === 'sleep' && last.durationMs === SECOND_MS;
  if (!pauses || loop.ends.kind === 'times' || carriesOver(loop, behind)) return loop;
  return { ...loop, body: loop.body.slice(0, -1), beginsAnew: true };
}
