// The client that must not notice the attack: a worker, so that the attacker's work does not delay it.
// It sends PING with a token of its own every few milliseconds and publishes the token to a subscriber of
// its own; both streams must hold exactly the expected bytes. It also samples the memory of the server.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const PING_EVERY_MS = 5;
const PUBLISH_EVERY = 4;
const SAMPLE_EVERY_MS = 25;
const RECONNECT_MS = 50;

const { port, pid } = workerData;
const channel = `innocent:${randomBytes(8).toString('hex')}`;
const seen = { stallMs: 0, peakBytes: 0, foreign: '', foreignBytes: 0, closes: 0, refusals: 0 };

let turn = 0;
let waitingSinceMs;
let finishing = false;

/** A connection whose stream must be exactly what `expect` announced. Errors are allowed: they refuse. */
class StrictStream {
  #expected = '';
  #isSetUp = false;
  #socket;
  #onTaken;

  constructor(onTaken, firstRequest, firstReply) {
    this.#onTaken = onTaken;
    this.#connect(firstRequest, firstReply);
  }

  #connect(firstRequest, firstReply) {
    const socket = connect({ port, host: '127.0.0.1' });
    let text = '';
    this.#socket = socket;
    this.#expected = '';
    this.#isSetUp = false;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('connect', () => {
      this.#isSetUp = true;
      if (firstRequest !== '') this.send(firstRequest, firstReply);
      else this.#onTaken();
    });
    socket.on('data', (chunk) => {
      text = this.#take(text + chunk.toString('latin1'));
    });
    socket.on('close', () => {
      if (this.#isSetUp) seen.closes += 1;
      this.#isSetUp = false;
      setTimeout(() => this.#connect(firstRequest, firstReply), RECONNECT_MS);
    });
  }

  get isIdle() {
    return this.#isSetUp && this.#expected === '';
  }

  send(bytes, reply) {
    this.#expected += reply;
    this.#socket.write(bytes);
  }

  expect(reply) {
    this.#expected += reply;
  }

  #take(text) {
    if (text.startsWith('-')) return this.#takeError(text);
    const common = Math.min(text.length, this.#expected.length);
    if (text.slice(0, common) !== this.#expected.slice(0, common) || common < text.length) {
      this.#reportForeign(text);
      return '';
    }
    this.#expected = this.#expected.slice(common);
    if (this.#expected === '') this.#onTaken();
    return '';
  }

  /** An error in place of the reply: the server refuses. The stall goes on until a PING is answered. */
  #takeError(text) {
    const end = text.indexOf('\r\n');
    if (end === -1) return text;
    seen.refusals += 1;
    seen.refusal = text.slice(0, 120);
    this.#expected = '';
    setTimeout(() => this.#onTaken(true), RECONNECT_MS);
    return '';
  }

  #reportForeign(text) {
    seen.foreignBytes += text.length;
    seen.foreign ||= JSON.stringify(text.slice(0, 120));
    this.#socket.destroy();
  }
}

const subscriber = new StrictStream(
  () => {},
  `SUBSCRIBE ${channel}\r\n`,
  `*3\r\n${bulk('subscribe')}${bulk(channel)}:1\r\n`,
);
const pinger = new StrictStream(answered, '', '');

function bulk(text) {
  return `$${text.length}\r\n${text}\r\n`;
}

function answered(wasRefused = false) {
  const nowMs = performance.now();
  if (!wasRefused && waitingSinceMs !== undefined) {
    seen.stallMs = Math.max(seen.stallMs, nowMs - waitingSinceMs);
    if (finishing && pingSentMs > finishingSinceMs) finish(true);
    waitingSinceMs = undefined;
  }
  setTimeout(ping, PING_EVERY_MS);
}

let pingSentMs = 0;
let finishingSinceMs = 0;

function ping() {
  if (!pinger.isIdle) return;
  pingSentMs = performance.now();
  waitingSinceMs ??= pingSentMs;
  turn += 1;
  const token = `${channel}:${turn}`;
  if (turn % PUBLISH_EVERY === 0 && subscriber.isIdle) {
    subscriber.expect(`*3\r\n${bulk('message')}${bulk(channel)}${bulk(token)}`);
    pinger.send(`PUBLISH ${channel} ${token}\r\n`, ':1\r\n');
  }
  pinger.send(`PING ${token}\r\n`, bulk(token));
}

/** The process and the processes that it started. */
function treeOf(root) {
  try {
    const children = readFileSync(`/proc/${root}/task/${root}/children`, 'utf8');
    return [root, ...children.split(' ').filter(Boolean).flatMap(treeOf)];
  } catch {
    return [root];
  }
}

/** The peak of a process is the kernel's own, so that a sample that comes late misses nothing. */
function sample() {
  let bytes = 0;
  for (const id of treeOf(pid)) {
    try {
      const [, kib] =
        readFileSync(`/proc/${id}/status`, 'utf8').match(/^VmHWM:\s+(\d+) kB$/m) ?? [];
      bytes += Number(kib ?? 0) * 1024;
    } catch {
      // The process has ended.
    }
  }
  seen.peakBytes = Math.max(seen.peakBytes, bytes);
}

function finish(isAnswered) {
  sample();
  if (waitingSinceMs !== undefined) {
    seen.stallMs = Math.max(seen.stallMs, performance.now() - waitingSinceMs);
  }
  parentPort.postMessage({ ...seen, isAnswered });
  process.exit();
}

setInterval(sample, SAMPLE_EVERY_MS);
parentPort.on('message', ({ graceMs }) => {
  finishing = true;
  finishingSinceMs = performance.now();
  setTimeout(() => finish(false), graceMs);
});
parentPort.postMessage('started');
