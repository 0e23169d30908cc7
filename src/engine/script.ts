import {
  type Budget,
  type CompiledScript,
  compileScript,
  type LuaHost,
  ScriptStopped,
} from '../lua/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { type Command, FLAGS } from './command.ts';
import { findCommand } from './commands/index.ts';
import type { Engine } from './engine.ts';
import { OUT_OF_MEMORY } from './errors.ts';
import { call } from './execute.ts';
import type { LockEventType } from './lock-event.ts';
import { Session } from './session.ts';
import { lower } from './text.ts';

/**
 * Keeps and runs scripts. A script is one unit of work: the engine's time does not change, and no other command
 * runs. A script that exceeds its budget is stopped and rolled back, which Redis cannot do: its writes are undone,
 * and its messages are dropped.
 */
export class Scripts {
  readonly #engine: Engine;
  /** In order of use, the most recent at the end. */
  readonly #bySha = new Map<string, CompiledScript>();
  /** Saves hashing the text that EVAL sends each time. */
  readonly #shaBySource = new Map<string, string>();
  readonly #host: LuaHost;
  readonly #session: Session;
  #lastUsed: CompiledScript | undefined;

  // The state of the running script.
  #readOnly = false;
  #allowsOom = false;
  #hasWritten = false;
  /** The bytes of all data when the script began. */
  #dataBytes = 0;
  #deadlineMs = 0;
  #logLines = 0;
  /** The session of the connection. */
  #caller: Session;
  /** The script is one of the library. */
  #isKnown = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#session = new Session(engine, 0, { push() {}, resume() {}, close() {} });
    this.#caller = this.#session;
    this.#session.isScript = true;
    this.#session.mayBlock = false;
    this.#host = {
      call: (argv) => this.#call(argv),
      log: (level, message) => this.#log(level, message),
      monotonicMs: () => engine.clock.monotonicMs(),
      setProtocol: (protocol) => {
        this.#session.protocol = protocol;
      },
      setReplication: () => {},
      mayCall: (argv) => this.#mayCall(argv),
      event: (type, key, token, fence) => this.#addEvent(type, key, token, fence),
    };
  }

  get count(): number {
    return this.#bySha.size;
  }

  has(sha: string): boolean {
    return this.#bySha.has(sha);
  }

  /** The text of a script. Throws NO_SCRIPT if it is not kept. */
  textOf(sha: string): string {
    return this.#find(sha).source;
  }

  /**
   * Compiles and keeps a script; throws ErrorReply if it does not compile. The least recently used scripts are
   * dropped when the cache is full; EVALSHA then replies NOSCRIPT, as after SCRIPT FLUSH.
   */
  load(source: string): string {
    const known = this.#shaBySource.get(source);
    if (known !== undefined) {
      this.#find(known);
      return known;
    }
    const compiled = compileScript(source);
    this.#bySha.set(compiled.sha, compiled);
    this.#shaBySource.set(source, compiled.sha);
    this.#engine.memory.scripts.grow(compiled.bytes);
    this.#lastUsed = compiled;
    this.#dropOldest();
    return compiled.sha;
  }

  flush(): void {
    this.#bySha.clear();
    this.#shaBySource.clear();
    const { scripts } = this.#engine.memory;
    scripts.grow(-scripts.bytes);
    this.#lastUsed = undefined;
  }

  /** Drops the least recently used scripts until the others fit. The newest always stays. */
  #dropOldest(): void {
    const { scripts, scriptCacheBytes } = this.#engine.memory;
    for (const script of this.#bySha.values()) {
      if (scripts.bytes <= scriptCacheBytes || script === this.#lastUsed) return;
      this.#bySha.delete(script.sha);
      this.#shaBySource.delete(script.source);
      scripts.grow(-script.bytes);
    }
  }

  /** Finds a script by its SHA1 and marks it as the most recently used. Throws NO_SCRIPT if it is not kept. */
  #find(sha: string): CompiledScript {
    // Comparing the digests is less work than hashing one.
    if (this.#lastUsed?.sha === sha) return this.#lastUsed;
    // Nearly all clients send lower case digits, which need no folding.
    const script = this.#bySha.get(sha) ?? this.#bySha.get(lower(sha));
    if (script === undefined) throw NO_SCRIPT;
    if (script !== this.#lastUsed) {
      this.#bySha.delete(script.sha);
      this.#bySha.set(script.sha, script);
      this.#lastUsed = script;
    }
    return script;
  }

  run(caller: Session, sha: string, keys: string[], args: string[], readOnly: boolean): Reply {
    const script = this.#find(sha);
    const { flags } = script;
    const writes = !flags?.includes('no-writes');
    const allowsOom = flags?.includes('allow-oom') === true;
    if (flags !== undefined && writes) {
      if (this.#engine.writeRefusal !== undefined) throw this.#engine.writeRefusal;
      if (!allowsOom && this.#engine.memory.isFull) throw OUT_OF_MEMORY;
      if (readOnly) throw NOT_READ_ONLY;
    }
    const session = this.#session;
    session.database = caller.database;
    session.protocol = 2;
    session.noTouch = caller.noTouch;
    session.user = caller.user;
    this.#caller = caller;
    this.#isKnown = this.#engine.acl.role.isKnownScript(script.sha);
    this.#readOnly = readOnly || !writes;
    this.#allowsOom = allowsOom;
    this.#hasWritten = false;
    this.#dataBytes = this.#engine.memory.data.bytes;
    this.#deadlineMs = this.#engine.nowMs + this.#engine.scriptBudgetMs;
    this.#logLines = 0;
    return this.#runOrUndo(script, keys, args);
  }

  #runOrUndo(script: CompiledScript, keys: string[], args: string[]): Reply {
    const { journal, pubSub, blocking, changes, lockHistory } = this.#engine;
    const nextEvent = lockHistory.nextId;
    const messages = pubSub.mark();
    const signals = blocking.mark();
    const recorded = changes.mark();
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
      // The session of a closed connection must not stay in memory.
      this.#caller = this.#session;
      if (this.#logLines > MAX_LOG_LINES) this.#logDropped();
      if (finished) journal.commit();
      else {
        journal.rollBack();
        changes.forgetSince(recorded);
        lockHistory.forgetFrom(nextEvent);
        pubSub.forgetSince(messages);
        // In a transaction, a signal of a rolled back script would change the order in which keys are served.
        blocking.forgetSince(signals);
      }
    }
  }

  #budget(): Budget {
    const { scriptBudgetSteps, memory } = this.#engine;
    return {
      steps: Math.min(scriptBudgetSteps, Number.MAX_SAFE_INTEGER),
      deadlineMs: this.#deadlineMs,
      bytes: memory.scriptBytes,
    };
  }

  #log(level: number, message: string): void {
    this.#logLines += 1;
    if (this.#logLines <= MAX_LOG_LINES) this.#engine.log(level, message);
  }

  #logDropped(): void {
    const dropped = this.#logLines - MAX_LOG_LINES;
    this.#engine.log(LOG_NOTICE, `${dropped} more lines of a script's redis.log were dropped`);
  }

  #stopped({ reason }: ScriptStopped): ErrorReply {
    if (reason === 'oom') return STOPPED_BY_OOM;
    const { settings, memory } = this.#engine;
    const spent = {
      steps: `script-budget-steps ${settings.text('script-budget-steps')}`,
      deadline: `script-budget-ms ${settings.text('script-budget-ms')}`,
      memory: `${memory.scriptBytes} bytes of memory`,
    }[reason];
    return new ErrorReply(
      `ERR Script stopped: it spent its budget (${spent}). Everything it wrote was undone.`,
    );
  }

  /** redis.call: checks the rules for scripts, then runs the command. */
  #call(argv: string[]): Reply {
    const command = findCommand(argv);
    if (command instanceof ErrorReply) return UNKNOWN;
    if (!command.takes(argv.length)) return WRONG_COUNT;
    if ((command.bits & FLAGS.noscript) !== 0) return NOT_ALLOWED;
    if (this.#session.user.mustCheck(command)) {
      const denied = this.#deny(command, argv);
      if (denied !== undefined) return denied;
    }
    if (this.#readOnly && (command.bits & WRITES) !== 0) return READ_ONLY;
    if ((command.bits & FLAGS.write) !== 0) {
      if (this.#engine.writeRefusal !== undefined) return this.#engine.writeRefusal;
      if ((command.bits & FLAGS.denyoom) !== 0 && this.#isRefusedForMemory()) return OUT_OF_MEMORY;
      this.#hasWritten = true;
      // Reading a char flattens a concatenated string. V8's tree of parts takes more memory than is counted.
      for (const argument of argv) argument.charCodeAt(0);
    }
    const outcome = call(this.#session, command, argv);
    if ((command.bits & FLAGS.denyoom) !== 0) this.#checkMemory();
    if (typeof outcome === 'symbol') throw new Error(`${command.name} blocked inside a script`);
    if (!command.isBrief || argv.length > MAX_BRIEF_ARGUMENTS) this.#checkTime();
    return outcome;
  }

  #deny(command: Command, argv: string[]): ErrorReply | undefined {
    const { acl } = this.#engine;
    const denial = acl.refusal(this.#session, command, argv, 'lua', this.#caller, this.#isKnown);
    return denial && DENIED[denial.reason];
  }

  /** redis.holdfast_event. Only of scripts of the library: others could report what did not happen. */
  #addEvent(type: string, key: string, token: string, fence: number): void {
    const { lockHistory, nowMs } = this.#engine;
    if (!lockHistory.isOn || !this.#isKnown) return;
    const { number } = this.#session.database;
    lockHistory.add(number, type as LockEventType, key, token, fence, nowMs);
  }

  /** redis.acl_check_cmd. Undefined: there is no such command. */
  #mayCall(argv: readonly string[]): boolean | undefined {
    const command = findCommand(argv);
    if (command instanceof ErrorReply) return undefined;
    const { user } = this.#session;
    return this.#engine.acl.denial(user, command, argv, this.#isKnown) === undefined;
  }

  /**
   * As in Redis, the first write of a script fails when memory is full, but a script that has written continues: a
   * release that hands a lock over must not stop halfway.
   */
  #isRefusedForMemory(): boolean {
    return this.#engine.memory.isFull && !this.#hasWritten && !this.#allowsOom;
  }

  /** Stops a script that would fill the heap, unless it has removed as much data as it has added. */
  #checkMemory(): void {
    const { memory } = this.#engine;
    if (memory.isExhausted && memory.data.bytes > this.#dataBytes) throw new ScriptStopped('oom');
  }

  /** Checks the deadline after a command that may take long. Between steps the interpreter checks it. */
  #checkTime(): void {
    if (this.#engine.clock.monotonicMs() >= this.#deadlineMs) throw new ScriptStopped('deadline');
  }
}

/** redis.LOG_NOTICE. */
const LOG_NOTICE = 2;
/** Lines of redis.log that one run of a script may write. */
const MAX_LOG_LINES = 100;
/** A brief command with more arguments may take long. */
const MAX_BRIEF_ARGUMENTS = 8;

/** Flags of commands that a read-only script may not call. */
const WRITES = FLAGS.write | FLAGS.may_replicate;

export const NO_SCRIPT = new ErrorReply('NOSCRIPT No matching script. Please use EVAL.');
const STOPPED_BY_OOM = new ErrorReply(
  "OOM Script stopped: used memory > 'maxmemory'. Everything it wrote was undone.",
);
const NOT_READ_ONLY = new ErrorReply(
  'ERR Can not execute a script with write flag using *_ro command.',
);
const UNKNOWN = new ErrorReply('ERR Unknown Redis command called from script');
const WRONG_COUNT = new ErrorReply('ERR Wrong number of args calling Redis command from script');
const NOT_ALLOWED = new ErrorReply('ERR This Redis command is not allowed from script');
const DENIED = {
  command: new ErrorReply("ERR The user executing the script can't run this command or subcommand"),
  key: new ErrorReply(
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
  ),
  channel: new ErrorReply(
    "ERR The user executing the script can't publish to the channel mentioned in the command",
  ),
} as const;
const READ_ONLY = new ErrorReply('ERR Write commands are not allowed from read-only scripts.');
