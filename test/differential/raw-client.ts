import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { encodeRequest, PushReply, type Reply, ReplyDecoder } from '../../src/resp/index.ts';
import { withinMs } from '../within.ts';

const PATIENCE_MS = withinMs(5000);

/** A connection without any processing: sends arguments, returns frames in the order of arrival. */
export class RawClient {
  readonly #socket: Socket;
  readonly #decoder = new ReplyDecoder();
  #frames: Reply[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** Sends all requests in one write, so that the server receives one chunk. */
  send(requests: readonly (readonly string[])[]): void {
    this.#socket.write(requests.map(encodeRequest).join(''), 'latin1');
  }

  /** The next frames up to the `count`-th reply. Pushes are not replies. */
  async take(count: number): Promise<Reply[]> {
    if (count === 0) return [];
    let left = count;
    return this.#takeThrough((frame) => !isPush(frame) && --left === 0);
  }

  /** The next frames up to the reply of PING with this message. */
  takeThroughPong(message: string): Promise<Reply[]> {
    return this.#takeThrough(
      (frame) => frame === message || (Array.isArray(frame) && frame[1] === message),
    );
  }

  /** The next frame: a reply or a push. */
  async next(): Promise<Reply> {
    return (await this.#takeThrough(() => true))[0]!;
  }

  async request(...argv: readonly string[]): Promise<Reply> {
    return (await this.requestAll([argv]))[0]!;
  }

  /** One reply for each request. */
  async requestAll(requests: readonly (readonly string[])[]): Promise<Reply[]> {
    this.send(requests);
    return (await this.take(requests.length)).filter((frame) => !isPush(frame));
  }

  /** Resolves when the server has closed the connection. Earlier frames can still be taken. */
  async closed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#decoder.push(chunk);
    try {
      for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) {
        this.#frames.push(frame);
      }
    } catch (error) {
      this.#fail(error as Error);
    }
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  async #takeThrough(isLast: (frame: Reply) => boolean): Promise<Reply[]> {
    for (let at = 0; ; at++) {
      if (at === this.#frames.length) await this.#arrival();
      if (isLast(this.#frames[at]!)) return this.#frames.splice(0, at + 1);
    }
  }

  /** Resolves when another frame arrives. */
  async #arrival(): Promise<void> {
    const count = this.#frames.length;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no reply in ${PATIENCE_MS} ms`)), PATIENCE_MS);
      this.#wake = () => {
        if (this.#frames.length > count) resolve();
        else if (this.#failure) reject(this.#failure);
      };
      this.#wake();
    }).finally(() => {
      clearTimeout(timer);
      this.#wake = undefined;
    });
  }
}

const PUSHES = new Set([
  ...['message', 'pmessage', 'smessage', 'subscribe', 'psubscribe', 'ssubscribe'],
  ...['unsubscribe', 'punsubscribe', 'sunsubscribe'],
]);

/** RESP2 has no type for a push. No value in these tests is equal to one of the names above. */
export function isPush(frame: Reply): boolean {
  if (frame instanceof PushReply) return true;
  if (!Array.isArray(frame) || !PUSHES.has(String(frame[0]))) return false;
  const isMessage = String(frame[0]).endsWith('message');
  const length = frame[0] === 'pmessage' ? 4 : 3;
  return frame.length === length && (isMessage || typeof frame[2] === 'number');
}
