import { ErrorReply, QUEUED } from '../resp/index.ts';
import { type Command, FLAGS, type Outcome } from './command.ts';
import { findCommand } from './commands/index.ts';
import { NEVER } from './deadline-heap.ts';
import type { Engine } from './engine.ts';
import { OUT_OF_MEMORY, wrongArity } from './errors.ts';
import { showToMonitors } from './monitor.ts';
import type { Session } from './session.ts';

/**
 * The one way in: from words to a reply. Time passes here and then stands still until the command is
 * over. PARKED means that the reply comes later, by the session's listener; until then the session
 * takes no other command.
 */
export function execute(session: Session, argv: readonly string[]): Outcome {
  session.engine.freeze();
  return executeNow(session, argv);
}

/** The same at the time that the engine already stands at, for commands that arrived together. */
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

/** Whether a request is a script or a transaction, which may run for its whole budget. */
export function runsManyCommands(argv: readonly string[]): boolean {
  const command = findCommand(argv);
  if (command instanceof ErrorReply) return false;
  return command.group === 'scripting' || command.name === 'exec';
}

/** Runs a command that was found and allowed: the step that EXEC and scripts share with clients. */
export function call(session: Session, command: Command, argv: readonly string[]): Outcome {
  const { statistics, monitors } = session.engine;
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

/** A script is shown before what it calls, everything else after it ran: EXEC follows its commands. */
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
  engine.endUnit();
  if (weight > 0) measure(session, command, argv, beganMs, weight);
  return outcome;
}

/**
 * How many commands this one's duration stands for; 0: it is not measured. A look at the clock costs as
 * much as a short command, so those that are short by nature are measured one time in sixteen, unless
 * somebody asked for times below a millisecond or for LATENCY. Meanwhile a batch shares one time.
 */
function measuredWeight(engine: Engine, command: Command, argv: readonly string[]): number {
  if (!command.isBrief || argv.length > MOST_BRIEF_WORDS) return 1;
  if (engine.slowLog.thresholdMs < 1 || engine.latency.thresholdMs !== NEVER) return 1;
  return engine.unmeasured < SAMPLE - 1 ? 0 : SAMPLE;
}

const SAMPLE = 16;
const MOST_BRIEF_WORDS = 8;

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
  if (durationMs >= engine.latency.thresholdMs) noteLatency(engine, command, durationMs);
}

function noteLatency(engine: Engine, command: Command, durationMs: number): void {
  const isFast = (command.bits & FLAGS.fast) !== 0;
  const unixSeconds = Math.floor(engine.wallMs() / 1000);
  engine.latency.add(isFast ? 'fast-command' : 'command', unixSeconds, durationMs);
}

/** Why this session may not run the command now, if so. */
function refuse(
  session: Session,
  command: Command,
  argv: readonly string[],
): ErrorReply | undefined {
  if (!command.takes(argv.length)) return wrongArity(command.name);
  if (!session.authenticated && (command.bits & FLAGS.no_auth) === 0) return NOT_SIGNED_IN;
  if (session.queue !== null && (command.bits & FLAGS.no_multi) !== 0) return NOT_IN_MULTI;
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
  if (session.engine.memory.isFull && needsMemory(session, command)) return OUT_OF_MEMORY;
  return undefined;
}

function mayWrite({ bits, group }: Command): boolean {
  return (
    (bits & FLAGS.write) !== 0 || (group === 'scripting' && (bits & FLAGS.may_replicate) !== 0)
  );
}

/** Clients know the code: they wait and try again. */
function starting({ nowMs, writesFromMs }: Engine): ErrorReply {
  const seconds = Math.ceil((writesFromMs - nowMs) / 1000);
  return new ErrorReply(
    `LOADING Holdfast has restarted without its data. It takes writes in ${seconds} s, when no lock of before can be held.`,
  );
}

/** As in Redis: commands that add data, transactions with such a command, and the queueing of any. */
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

/** An EXEC that may not run ends its transaction all the same. */
function abort(session: Session, { message }: ErrorReply): ErrorReply {
  session.discardTransaction();
  const reason = message.replace(/^ERR /, '');
  return new ErrorReply(`EXECABORT Transaction discarded because of: ${reason}`);
}

const NOT_SIGNED_IN = new ErrorReply('NOAUTH Authentication required.');
const MONITORS_ONLY = new ErrorReply("ERR Replica can't interact with the keyspace");
const NOT_IN_MULTI = new ErrorReply('ERR Command not allowed inside a transaction');
