// Runs one attack against one server and measures what an innocent client sees meanwhile.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ServerProcess } from './server.js';
import { Client } from './wire.js';

/** How long a server may take to answer again after the attack, before it counts as hung. */
const GRACE_MS = 30_000;
const WARM_UP_MS = 150;
const SCRIPT_KILL_MS = 6000;

/** What an attack is given. */
class AttackContext {
  #clients = new Set();
  #isOver = false;
  #server;
  notes = [];
  failures = [];

  constructor(server) {
    this.#server = server;
  }

  /** 'holdfast' or 'redis'. */
  get kind() {
    return this.#server.kind;
  }

  /** True once the time of the attack is over: loops end then. */
  get isOver() {
    return this.#isOver;
  }

  /** A new hostile client. */
  async client() {
    const client = await Client.connect(this.#server.port);
    if (this.#isOver) client.close();
    this.#clients.add(client);
    return client;
  }

  clients(count) {
    return Promise.all(Array.from({ length: count }, () => this.client()));
  }

  pause(ms) {
    return delay(ms);
  }

  /** Sends a signal to the server. */
  signal(name) {
    this.#server.signal(name);
  }

  /** Returns how long the server took to end, or undefined if it did not. */
  endWithin(limitMs) {
    return this.#server.endWithin(limitMs);
  }

  /** The last of what the server printed. */
  get log() {
    return this.#server.log;
  }

  /** A figure to print beside the verdict. */
  note(text) {
    this.notes.push(text);
  }

  /** Something that must hold besides the rules for every attack. */
  check(holds, failure) {
    if (!holds) this.failures.push(failure);
  }

  /** Ends the hostile clients. */
  stop() {
    this.#isOver = true;
    for (const client of this.#clients) client.close();
  }
}

/** Returns a measurement: what happened to the server and to the innocent client. */
export async function measure(attack, kind, { heapMb, seconds }) {
  const server = await ServerProcess.start(kind, heapMb);
  const context = new AttackContext(server);
  try {
    const maxmemory = await readMaxmemory(server.port);
    const innocent = await startInnocent(server);
    const startMs = performance.now();
    await runBounded(attack, context, (attack.seconds ?? seconds) * 1000);
    const attackMs = performance.now() - startMs;
    if (kind === 'redis') await stopScript(server.port);
    const seen = await finishInnocent(innocent, server, attack.endsServer ? 0 : GRACE_MS);
    return { ...seen, ...outcome(attack, server, seen), attackMs, maxmemory, ...told(context) };
  } finally {
    context.stop();
    await server.kill();
  }
}

/** What the attack reported; an attack whose time was over may go on to report. */
function told({ notes, failures }) {
  return { notes: [...notes], failures: [...failures] };
}

/** Runs the attack; ends its clients when it returns or when its time is over. */
async function runBounded(attack, context, limitMs) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  const running = attack.run(context).catch((error) => {
    if (!context.isOver) context.failures.push(`the attack itself failed: ${error.stack}`);
  });
  await Promise.race([running, limit]);
  clearTimeout(timer);
  context.stop();
}

/** redis-server runs an endless script until SCRIPT KILL; the rest of the suite must go on. */
async function stopScript(port) {
  const client = await Client.connect(port);
  await Promise.race([client.call('SCRIPT', 'KILL'), delay(SCRIPT_KILL_MS)]);
  client.close();
}

async function readMaxmemory(port) {
  const client = await Client.connect(port);
  const reply = await client.call('CONFIG', 'GET', 'maxmemory');
  client.close();
  return Number(reply.match(/maxmemory\r\n\$\d+\r\n(\d+)/)?.[1] ?? 0);
}

async function startInnocent({ port, pid }) {
  const worker = new Worker(new URL('./innocent.js', import.meta.url), {
    workerData: { port, pid },
  });
  await once(worker, 'message');
  await delay(WARM_UP_MS);
  return worker;
}

/** A server that has ended, or ends meanwhile, answers nothing more: there is nothing to wait for. */
async function finishInnocent(worker, server, graceMs) {
  const result = once(worker, 'message');
  worker.postMessage({ graceMs });
  server.endWithin(graceMs).then((endMs) => {
    if (endMs !== undefined) worker.postMessage({ graceMs: 0 });
  });
  const [seen] = await result;
  return seen;
}

function outcome(attack, server, { isAnswered }) {
  const { ended } = server;
  if (attack.endsServer) {
    return { survived: ended === 'exit 0', ended: ended ?? 'still runs' };
  }
  const survived = ended === undefined && isAnswered;
  const lastLine = server.log.match(/.*(?:FATAL ERROR|Error:|exception).*/i)?.[0];
  return { survived, ended: ended ?? (isAnswered ? 'alive' : 'hangs'), lastLine };
}
