// The thread of `holdfast serve` that has the engine and the sockets. It is a separate thread because a thread can have a
// heap of the right size, because the process receives signals while a command runs, and because a full heap ends the
// thread only, so that the process can report it.
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine } from '../../engine/index.ts';
import { LogError, type OpenedFolder, openLogFolder } from '../../log/index.ts';
import { type Server, ServerError, startServer } from '../../server/index.ts';
import { applySettings } from '../serve-options.ts';
import { UsageError } from '../verb.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './messages.ts';
import { RunMark } from './run-mark.ts';

const { values } = workerData as ServerThreadData;
const port = parentPort!;
const engine = createEngine();
let server: Server | undefined;
let data: OpenedFolder | undefined;
let mark: RunMark | undefined;
let isEnding = false;

// No object is reached by a name that a client chose; if it were, this name would be the dangerous one.
Reflect.deleteProperty(Object.prototype, '__proto__');

process.on('uncaughtException', (error) => {
  report(`ends after an internal error in ${engine.lastCommand}: ${error.stack ?? error.message}`);
  void end(1);
});
engine.requestShutdown = () => void end(0);
port.on('message', (order: ServerOrder) => {
  switch (order.kind) {
    case 'start':
      void start(order);
      break;
    case 'stop':
      void end(0);
      break;
    case 'password':
      engine.settings.put('requirepass', order.password);
      break;
  }
});

async function start(order: ServerOrder & { kind: 'start' }): Promise<void> {
  try {
    applySettings(values, engine.settings);
    mark = order.mark === undefined ? undefined : new RunMark(order.mark);
    data = await openData();
    const graceMs = graceFor(order.graceMs);
    engine.refuseWritesFor(graceMs);
    server = await listen();
    // Before the first client is accepted.
    attemptMark(() => (data === undefined ? mark?.set() : mark?.end(0)));
    engine.settings.put('port', String(server.port));
    if (graceMs > 0) report(graceNotice(graceMs));
    send({ kind: 'listening', addresses: server.addresses, port: server.port });
  } catch (error) {
    const isUsage = error instanceof UsageError;
    if (!(isUsage || error instanceof ServerError || error instanceof LogError)) throw error;
    await data?.close();
    send({ kind: 'refused', message: error.message, isUsage });
    port.close();
  }
}

/** The data folder; undefined with `appendonly no`. */
async function openData(): Promise<OpenedFolder | undefined> {
  if (!engine.settings.flag('appendonly')) return undefined;
  return openLogFolder(engine.settings.text('dir'), { engine, report, onFatal: fail });
}

/** How long locks may still be held that this server does not know. */
function graceFor(graceMs: number): number {
  const recovery = data?.recovery;
  if (recovery === undefined || recovery.manifest.increments.length === 0) {
    return mark?.leftMs(graceMs) ?? 0;
  }
  // The machine has crashed, and the disk did not have the last second.
  const mayLack = recovery.isOtherBoot && !recovery.isClean && engine.syncMode !== 'always';
  return mayLack ? graceMs : 0;
}

function fail(message: string): void {
  report(`ends at once, so that no reply leaves that the log does not have: ${message}`);
  send({ kind: 'ended', exitCode: 1 });
  process.exit(1);
}

function listen(): Promise<Server> {
  const { host, port, unix, unprotected } = values;
  return startServer({
    engine,
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: Number(port) }),
    ...(unix !== undefined && { unix }),
    ...(unprotected !== undefined && { unprotected }),
    ...(data !== undefined && { log: data.log }),
    report,
  });
}

async function end(exitCode: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  // Connections in the backlog are accepted first, and closed like the others.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  await server?.close();
  await data?.close();
  const leaseMs = data === undefined ? engine.longestLeaseMs() : 0;
  if (server !== undefined) attemptMark(() => mark?.end(leaseMs));
  send({ kind: 'ended', exitCode });
  engine.close();
  port.close();
}

/** A full disk must not end the server. */
function attemptMark(write: () => void): void {
  try {
    write();
  } catch (error) {
    report(`cannot write the mark that a server after this one would wait for: ${error}`);
  }
}

function graceNotice(graceMs: number): string {
  return (
    `the server before did not end in order, or while keys with a lease were alive: for ${Math.ceil(graceMs / 1000)} s ` +
    'this one takes no writes, because those locks may still be held (--restart-grace)'
  );
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => engine.clock.defer(resolve));
}

function report(message: string): void {
  send({ kind: 'report', message });
}

function send(message: ServerMessage): void {
  port.postMessage(message);
}
