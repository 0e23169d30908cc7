// The thread of `holdfast serve` that has the engine and the sockets. A thread of its own, because it can be
// given a heap of the right size; because signals are received while a command runs; and because a heap that
// is full ends the thread, and the process can still say so.
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine, type Engine } from '../../engine/index.ts';
import { type Server, ServerError, startServer } from '../../server/index.ts';
import { applySettings } from '../serve-options.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './messages.ts';

const { values, graceMs } = workerData as ServerThreadData;
const port = parentPort!;
const engine = createEngine();
let server: Server | undefined;
let isEnding = false;

// No object is reached by a name that a client chose; if it were, this name would be the dangerous one.
Reflect.deleteProperty(Object.prototype, '__proto__');

process.on('uncaughtException', (error) => {
  report(`ends after an internal error in ${engine.lastCommand}: ${error.stack ?? error.message}`);
  void end(1);
});
port.on('message', (order: ServerOrder) => {
  if (order.kind === 'stop') void end(0);
  else engine.settings.put('requirepass', order.password);
});
engine.requestShutdown = () => void end(0);

try {
  applySettings(values, engine.settings);
  engine.refuseWritesFor(graceMs);
  server = await listen(engine);
  engine.settings.put('port', String(server.port));
  send({ kind: 'listening', addresses: server.addresses, port: server.port });
} catch (error) {
  if (!(error instanceof ServerError)) throw error;
  send({ kind: 'refused', message: error.message });
  port.close();
}

function listen(engine: Engine): Promise<Server> {
  const { host, port, unix, unprotected } = values;
  return startServer({
    engine,
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: Number(port) }),
    ...(unix !== undefined && { unix }),
    ...(unprotected !== undefined && { unprotected }),
    report,
  });
}

async function end(exitCode: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  // Clients that have connected and wait to be accepted are accepted first, and ended like the others.
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  await server?.close();
  send({ kind: 'ended', exitCode, leaseMs: engine.longestLeaseMs() });
  engine.close();
  port.close();
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
