// RESP over raw sockets, for clients that misbehave on purpose. Nothing here keeps more than the first
// bytes of a reply, so that an attack with gigabytes of replies costs the attacker no memory.
import { once } from 'node:events';
import { connect } from 'node:net';

const LF = 10;
const HEAD_BYTES = 64 * 1024;

/** The chunks of one request. A Buffer among the args is not copied. */
export function requestChunks(args) {
  const chunks = [`*${args.length}\r\n`];
  for (const arg of args) {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg), 'latin1');
    chunks.push(`$${bytes.length}\r\n`, bytes, '\r\n');
  }
  return chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk));
}

/** One request as bytes. */
export function request(...args) {
  return Buffer.concat(requestChunks(args));
}

/** Counts the replies in a stream. Pushes of RESP3 are counted apart: they answer no request. */
class ReplyCounter {
  #partialLine = '';
  #bulkBytesLeft = 0;
  /** How many elements each open array still lacks, from the outermost one. */
  #open = [];
  #isPush = false;
  #head = '';
  #onReply;
  count = 0;
  pushes = 0;
  errors = 0;
  lastError = '';

  constructor(onReply) {
    this.#onReply = onReply;
  }

  push(chunk, keepsHead) {
    let at = 0;
    let start = 0;
    while (at < chunk.length) {
      at = this.#bulkBytesLeft > 0 ? this.#skipBulk(chunk, at) : this.#readLine(chunk, at);
      if (this.#isComplete) {
        this.#keepHead(chunk, start, at, keepsHead);
        start = at;
        this.#complete();
      }
    }
    this.#keepHead(chunk, start, at, keepsHead);
  }

  #isComplete = false;

  #keepHead(chunk, start, end, keepsHead) {
    if (!keepsHead || this.#head.length >= HEAD_BYTES) return;
    this.#head += chunk.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  }

  #skipBulk(chunk, at) {
    const taken = Math.min(this.#bulkBytesLeft, chunk.length - at);
    this.#bulkBytesLeft -= taken;
    if (this.#bulkBytesLeft === 0) this.#closeValue();
    return at + taken;
  }

  #readLine(chunk, at) {
    const end = chunk.indexOf(LF, at);
    const stop = end === -1 ? chunk.length : end + 1;
    this.#partialLine += chunk.toString('latin1', at, stop);
    if (end === -1) return stop;
    const line = this.#partialLine;
    this.#partialLine = '';
    this.#openValue(line);
    return stop;
  }

  #openValue(line) {
    const size = Number(line.slice(1, -2));
    switch (line[0]) {
      case '$':
      case '=':
      case '!':
        if (size < 0) this.#closeValue();
        else this.#bulkBytesLeft = size + 2;
        return;
      case '>':
        if (this.#open.length === 0) this.#isPush = true;
        this.#openArray(size);
        return;
      case '*':
      case '~':
        this.#openArray(size);
        return;
      case '%':
        this.#openArray(2 * size);
        return;
      case '-':
        this.errors += 1;
        this.lastError = line.slice(0, 200).trim();
        this.#closeValue();
        return;
      default:
        this.#closeValue();
    }
  }

  #openArray(size) {
    if (size > 0) this.#open.push(size);
    else this.#closeValue();
  }

  #closeValue() {
    const open = this.#open;
    while (open.length > 0) {
      open[open.length - 1] -= 1;
      if (open[open.length - 1] > 0) return;
      open.pop();
    }
    this.#isComplete = true;
  }

  #complete() {
    const head = this.#head;
    const isPush = this.#isPush;
    this.#head = '';
    this.#isPush = false;
    this.#isComplete = false;
    if (isPush) this.pushes += 1;
    else this.count += 1;
    this.#onReply(head, isPush);
  }
}

/**
 * A hostile client. The server may close it at any time: that is a defence, not an error, so every method
 * returns then as if it were done, and `isClosed` tells.
 */
export class Client {
  #socket;
  #replies = new ReplyCounter((head) => this.#settle(head));
  #waiting = [];
  #sent = 0;

  static async connect(port) {
    const socket = connect({ port, host: '127.0.0.1' });
    const client = new Client(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
    return client;
  }

  constructor(socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => this.#replies.push(chunk, this.#waiting.length > 0));
    socket.on('close', () => this.#settle(''));
  }

  get isClosed() {
    return this.#socket.destroyed;
  }

  /** How many replies have arrived, pushes of RESP3 not counted. */
  get received() {
    return this.#replies.count;
  }

  get pushes() {
    return this.#replies.pushes;
  }

  get receivedBytes() {
    return this.#socket.bytesRead;
  }

  get errors() {
    return this.#replies.errors;
  }

  get lastError() {
    return this.#replies.lastError;
  }

  /** Sends one request; returns the first bytes of its reply as they came, '' if the server closed. */
  async call(...args) {
    const number = this.#sent + 1;
    const reply = this.#replyNumber(number);
    await this.send(...args);
    return reply;
  }

  /** Sends one request and does not wait for the reply. */
  send(...args) {
    this.#sent += 1;
    return this.#writeAll(requestChunks(args));
  }

  /** Sends many requests that were encoded before. `count` keeps `call` in step. */
  sendEncoded(bytes, count) {
    this.#sent += count;
    return this.write(bytes);
  }

  /** Writes raw bytes; returns when the socket takes more. */
  write(...chunks) {
    return this.#writeAll(chunks);
  }

  async #writeAll(chunks) {
    if (this.isClosed) return;
    this.#socket.cork();
    let takesMore = true;
    for (const chunk of chunks) takesMore = this.#socket.write(chunk);
    this.#socket.uncork();
    if (takesMore) return;
    await new Promise((resolve) => {
      const done = () => {
        this.#socket.off('drain', done);
        this.#socket.off('close', done);
        resolve();
      };
      this.#socket.on('drain', done);
      this.#socket.on('close', done);
    });
  }

  /** Returns when `count` replies have arrived since the client came, or the server closed. */
  async receive(count) {
    await this.#replyNumber(count);
  }

  /** Returns when every request of `call`, `send` and `sendEncoded` has its reply. */
  async receiveAll() {
    await this.#replyNumber(this.#sent);
  }

  stopReading() {
    this.#socket.pause();
  }

  readAgain() {
    this.#socket.resume();
  }

  /** Says that nothing more will be sent, and goes on reading. */
  halfClose() {
    this.#socket.end();
  }

  close() {
    this.#socket.destroy();
  }

  #replyNumber(number) {
    if (this.#replies.count >= number || this.isClosed) return Promise.resolve('');
    return new Promise((resolve) => this.#waiting.push({ number, resolve }));
  }

  #settle(head) {
    const isDone = ({ number }) => this.#replies.count >= number || this.isClosed;
    if (this.#waiting.length === 0 || !isDone(this.#waiting[0])) return;
    const done = this.#waiting.filter(isDone);
    this.#waiting = this.#waiting.filter((waiter) => !isDone(waiter));
    for (const { resolve } of done) resolve(head);
  }
}
