import { type CompiledScript, compileScript, type LuaHost, ScriptStopped } from '../lua/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { FLAGS } from './command.ts';
import { findCommand } from './commands/index.ts';
import type { Engine } from './engine.ts';
import { call } from './execute.ts';
import { Session } from './session.ts';
import { lower } from './text.ts';

/**
 * The scripts that were sent, and the running of them. A script is one unit of work: time stands still,
 * nobody else acts. One that spends its budget is stopped and leaves nothing, which Redis cannot do:
 * what it wrote is undone, what it published is not sent.
 */
export class Scripts {
  readonly #engine: Engine;
  readonly #bySha = new Map<string, CompiledScript>();
  /** EVAL sends the text each time: this saves hashing it. */
  readonly #shaBySource = new Map<string, string>();
  readonly #host: LuaHost;
  readonly #session: Session;
  #readOnly = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#session = new Session(engine, 0, { push() {}, resume() {}, close() {} });
    this.#session.isScript = true;
    this.#session.mayPark = false;
    this.#host = {
      call: (argv) => this.#call(argv),
      log: (level, message) => engine.log(level, message),
      monotonicMs: () => engine.clock.monotonicMs(),
      setProtocol: (protocol) => {
        this.#session.protocol = protocol;
      },
      setReplication: () => {},
      mayCall: (argv) => !(findCommand(argv) instanceof ErrorReply) || undefined,
    };
  }

  get count(): number {
    return this.#bySha.size;
  }

  has(sha: string): boolean {
    return this.#bySha.has(sha);
  }

  /** The text of a script that is kept; throws ErrorReply if it is not. */
  textOf(sha: string): string {
    const script = this.#bySha.get(lower(sha));
    if (script === undefined) throw NO_SCRIPT;
    return script.source;
  }

  /** Compiles a script and keeps it; throws ErrorReply if it does not compile. */
  load(source: string): string {
    const known = this.#shaBySource.get(source);
    if (known !== undefined) return known;
    const compiled = compileScript(source);
    this.#bySha.set(compiled.sha, compiled);
    this.#shaBySource.set(source, compiled.sha);
    return compiled.sha;
  }

  flush(): void {
    this.#bySha.clear();
    this.#shaBySource.clear();
  }

  run(caller: Session, sha: string, keys: string[], args: string[], readOnly: boolean): Reply {
    // Nearly all clients write the digits in lower case, which saves folding them.
    const script = this.#bySha.get(sha) ?? this.#bySha.get(lower(sha));
    if (script === undefined) throw NO_SCRIPT;
    const writes = !script.flags?.includes('no-writes');
    if (readOnly && writes && script.flags !== undefined) throw NOT_READ_ONLY;
    const session = this.#session;
    session.database = caller.database;
    session.protocol = 2;
    session.noTouch = caller.noTouch;
    this.#readOnly = readOnly || !writes;
    return this.#runOrUndo(script, keys, args);
  }

  #runOrUndo(script: CompiledScript, keys: string[], args: string[]): Reply {
    const { journal, pubSub, blocking } = this.#engine;
    const messages = pubSub.mark();
    const signals = blocking.mark();
    let finished = false;
    journal.begin();
    try {
      const reply = script.run(this.#host, keys, args, this.#budget());
      finished = true;
      return reply;
    } catch (error) {
      if (error instanceof ScriptStopped) return this.#stopped(error);
      throw error;
    } finally {
      if (finished) journal.commit();
      else {
        journal.rollBack();
        pubSub.forgetSince(messages);
        // In a transaction, a key that was signalled here would go before those that are filled later.
        blocking.forgetSince(signals);
      }
    }
  }

  #budget(): { steps: number; deadlineMs: number } {
    const { scriptBudgetSteps, scriptBudgetMs, nowMs } = this.#engine;
    return {
      steps: Math.min(scriptBudgetSteps, Number.MAX_SAFE_INTEGER),
      deadlineMs: nowMs + scriptBudgetMs,
    };
  }

  #stopped({ reason }: ScriptStopped): ErrorReply {
    const { settings } = this.#engine;
    const spent = {
      steps: `script-budget-steps ${settings.text('script-budget-steps')}`,
      deadline: `script-budget-ms ${settings.text('script-budget-ms')}`,
      memory: 'what a script may allocate',
    }[reason];
    return new ErrorReply(
      `ERR Script stopped: it spent its budget (${spent}). Everything it wrote was undone.`,
    );
  }

  /** redis.call: the rules for scripts, then the same step as for clients. */
  #call(argv: string[]): Reply {
    const command = findCommand(argv);
    if (command instanceof ErrorReply) return UNKNOWN;
    if (!command.takes(argv.length)) return WRONG_COUNT;
    if ((command.bits & FLAGS.noscript) !== 0) return NOT_ALLOWED;
    if (this.#readOnly && (command.bits & WRITES) !== 0) return READ_ONLY;
    const outcome = call(this.#session, command, argv);
    if (typeof outcome === 'symbol') throw new Error(`${command.name} parked inside a script`);
    return outcome;
  }
}

/** What a script that may only read may not call. */
const WRITES = FLAGS.write | FLAGS.may_replicate;

export const NO_SCRIPT = new ErrorReply('NOSCRIPT No matching script. Please use EVAL.');
const NOT_READ_ONLY = new ErrorReply(
  'ERR Can not execute a script with write flag using *_ro command.',
);
const UNKNOWN = new ErrorReply('ERR Unknown Redis command called from script');
const WRONG_COUNT = new ErrorReply('ERR Wrong number of args calling Redis command from script');
const NOT_ALLOWED = new ErrorReply('ERR This Redis command is not allowed from script');
const READ_ONLY = new ErrorReply('ERR Write commands are not allowed from read-only scripts.');
