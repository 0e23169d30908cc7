import { ErrorReply, QUEUED } from '../resp/index.ts';
import { denialReply } from './acl/acl.ts';
import { BLOCKED } from './blocking.ts';
import { type Command, FLAGS, type Outcome } from './command.ts';
import { findCommand } from './commands/index.ts';
import { NEVER } from './deadline-heap.ts';
import type { Engine } from './engine.ts';
import { OUT_OF_MEMORY, wrongArity } from './errors.ts';
import { showToMonitors } from './monitor.ts';
import type { Session } from './session.ts';

/**
 * Runs a command and returns its reply. The engine's time is set to the clock's time first, and does not change
 * while the command runs. BLOCKED means that the session's listener receives the reply later. Do not execute
 * another command in the session before that.
 */
export function execute(session: Session, argv: readonly string[]): Outcome {
  session.engine.freeze();
  return executeNow(session, argv);
}

/** Like `execute`, but without reading the clock: for commands that arrived together. */
export function executeNow(session: Session, argv: readonly string[]): Outcome {
  const command = findCommand(argv);
  if (command instanceof ErrorReply) return reject(session, command);
  const refusal = refuse(session, command, argv);
  if (refusal !== undefined) return reject(session, refusal, command);
  const { pause } = session.engine;
  if (pause.holds(session, command)) return pause.hold(session, argv, execute);
  if (session.queue !== null && !command.facts.actsInMulti) {
    session.enqueue({ command, argv });
    return QUEUED;
  }
  return timed(session, command, argv);
}

/** Whether a request is a script or a transaction, which may run for long. */
export function runsManyCommands(argv: readonly string[]): boolean {
  const command = findCommand(argv);
  if (command instanceof ErrorReply) return false;
  return command.group === 'scripting' || command.name === 'exec';
}

/** Runs a command that has passed the checks. Clients, EXEC and scripts use it. */
export function call(session: Session, command: Command, argv: readonly string[]): Outcome {
  const { statistics, monitors, changes } = session.engine;
  if (changes.isFull && command.has('write')) return TOO_MANY_CHANGES;
  session.engine.countsReads = command.countsReads;
  statistics.countCall(command.number);
  const outcome = monitors.size === 0 ? run(session, command, argv) : shown(session, command, argv);
  if (outcome instanceof ErrorReply) {
    statistics.countError(outcome.code, command.number, 'failed');
  }
  return outcome;
}

function run(session: Session, command: Command, argv: readonly string[]): Outcome {
  try {
    return command.run(session, argv);
  } catch (error) {
    if (error instanceof ErrorReply) return error;
    throw error;
  }
}

/** As in Redis, MONITOR shows a script before its commands, and every other command after it has run. */
function shown(session: Session, command: Command, argv: readonly string[]): Outcome {
  const isScript = (command.bits & FLAGS.skip_monitor) !== 0;
  if (isScript) showToMonitors(session, command, argv);
  const outcome = run(session, command, argv);
  if (!isScript) showToMonitors(session, command, argv);
  return outcome;
}

function timed(session: Session, command: Command, argv: readonly string[]): Outcome {
  const { engine } = session;
  const weight = measuredWeight(engine, command, argv);
  if (weight > 0 && engine.unmeasured > 0) engine.freeze();
  engine.unmeasured = weight > 0 ? 0 : engine.unmeasured + 1;
  session.lastCommand = command.name;
  engine.lastCommand = command.name;
  session.lastUsedMs = engine.nowMs;
  engine.marksUse = !session.noTouch;
  const beganMs = engine.nowMs;
  const outcome = call(session, command, argv);
  if (outcome === BLOCKED && session.blockedCommand !== null) {
    session.blockedCommand.request = { command, argv };
  }
  engine.endUnit();
  if (weight > 0) measure(session, command, argv, beganMs, weight);
  return outcome;
}

/**
 * The number of commands that the measured duration counts for; 0: the command is not timed. Reading the clock
 * costs as much as a short command, so brief commands are timed one time in SAMPLE, unless SLOWLOG has a threshold
 * below a millisecond or LATENCY is on. The commands in between share one time.
 */
function measuredWeight(engine: Engine, command: Command, argv: readonly string[]): number {
  if (!command.isBrief || argv.length > MAX_BRIEF_ARGUMENTS) return 1;
  if (engine.slowLog.thresholdMs < 1 || engine.latency.thresholdMs !== NEVER) return 1;
  return engine.unmeasured < SAMPLE - 1 ? 0 : SAMPLE;
}

const SAMPLE = 16;
const MAX_BRIEF_ARGUMENTS = 8;

function measure(
  session: Session,
  command: Command,
  argv: readonly string[],
  beganMs: number,
  weight: number,
): void {
  const { engine } = session;
  engine.freeze();
  const durationMs = engine.nowMs - beganMs;
  engine.statistics.countTime(command.number, durationMs * weight);
  if (durationMs >= engine.slowLog.thresholdMs) {
    engine.slowLog.add(session, command, argv, durationMs);
  }
  if (durationMs >= engine.latency.thresholdMs) addLatency(engine, command, durationMs);
}

function addLatency(engine: Engine, command: Command, durationMs: number): void {
  const isFast = (command.bits & FLAGS.fast) !== 0;
  const unixSeconds = Math.floor(engine.wallMs() / 1000);
  engine.latency.add(isFast ? 'fast-command' : 'command', unixSeconds, durationMs);
}

/** The error if the session may not run the command now. */
function refuse(
  session: Session,
  command: Command,
  argv: readonly string[],
): ErrorReply | undefined {
  if (!command.takes(argv.length)) return wrongArity(command.name);
  if (!session.authenticated && (command.bits & FLAGS.no_auth) === 0) return NOT_SIGNED_IN;
  if (session.queue !== null && (command.bits & FLAGS.no_multi) !== 0) return NOT_IN_MULTI;
  if (session.user.mustCheck(command)) {
    const denied = deny(session, command, argv);
    if (denied !== undefined) return denied;
  }
  if (
    session.protocol === 2 &&
    session.subscriptionCount > 0 &&
    !command.facts.actsInSubscription
  ) {
    return new ErrorReply(
      `ERR Can't execute '${command.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
    );
  }
  if (session.monitoring && (command.bits & (FLAGS.write | FLAGS.readonly)) !== 0) {
    return MONITORS_ONLY;
  }
  if (session.engine.nowMs < session.engine.writesFromMs && mayWrite(command)) {
    return starting(session.engine);
  }
  const { writeRefusal } = session.engine;
  if (writeRefusal !== undefined && changesData(session, command)) return writeRefusal;
  if (session.engine.memory.isFull && needsMemory(session, command)) return OUT_OF_MEMORY;
  return undefined;
}

function deny(session: Session, command: Command, argv: readonly string[]): ErrorReply | undefined {
  const context = session.queue === null ? 'toplevel' : 'multi';
  const denial = session.engine.acl.refusal(session, command, argv, context);
  return denial && denialReply(command, denial);
}

function mayWrite({ bits, group }: Command): boolean {
  return (
    (bits & FLAGS.write) !== 0 || (group === 'scripting' && (bits & FLAGS.may_replicate) !== 0)
  );
}

/** Also an EXEC whose commands were queued before. A script runs until its first write, which is refused there. */
function changesData({ queue }: Session, command: Command): boolean {
  if (command.name === 'exec') return queue?.some((queued) => queued.command.has('write')) ?? false;
  return command.has('write');
}

/** Client libraries know LOADING, and retry. */
function starting({ nowMs, writesFromMs }: Engine): ErrorReply {
  const seconds = Math.ceil((writesFromMs - nowMs) / 1000);
  return new ErrorReply(
    `LOADING Holdfast has restarted without its data. It accepts writes in ${seconds} s, when every earlier lock has expired.`,
  );
}

/** As in Redis: commands that add data, EXEC with such a command, and every command that is queued. */
function needsMemory({ queue }: Session, command: Command): boolean {
  if ((command.bits & FLAGS.denyoom) !== 0) return true;
  if (queue === null) return false;
  if (!command.facts.actsInMulti) return true;
  return command.name === 'exec' && queue.some((queued) => queued.command.has('denyoom'));
}

function reject(session: Session, error: ErrorReply, command?: Command): ErrorReply {
  session.engine.statistics.countError(error.code, command?.number ?? -1, 'rejected');
  if (command?.name === 'exec') return abort(session, error);
  if (session.queue !== null) session.queueBroken = true;
  return error;
}

/** A rejected EXEC ends its transaction. */
function abort(session: Session, { message }: ErrorReply): ErrorReply {
  session.discardTransaction();
  const reason = message.replace(/^ERR /, '');
  return new ErrorReply(`EXECABORT Transaction discarded because of: ${reason}`);
}

const TOO_MANY_CHANGES = new ErrorReply(
  'ERR the transaction or script has changed more than fits into one write of the log. Use smaller ones.',
);
const NOT_SIGNED_IN = new ErrorReply('NOAUTH Authentication required.');
const MONITORS_ONLY = new ErrorReply("ERR Replica can't interact with the keyspace");
const NOT_IN_MULTI = new ErrorReply('ERR Command not allowed inside a transaction');
