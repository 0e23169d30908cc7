import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { type Clock, systemClock } from '../clock/index.ts';
import type { Reply } from '../resp/index.ts';
import type { Address } from './address.ts';
import { type Connection, ConnectionError, openConnection, type Receiver } from './connection.ts';

export interface ClientOptions {
  readonly tls?: TlsOptions | undefined;
  /** Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** Default 5 s. */
  readonly requestTimeoutMs?: number;
  /** Default 3 s: a peer that died silently is noticed within 9 s. */
  readonly heartbeatMs?: number;
  readonly clock?: Clock;
}

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;
const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_HEARTBEAT_MS = 3000;

/**
 * A client of one server. It connects with the first request, and again with the first request after the
 * connection ended. A request whose connection breaks fails: whether it may be sent again is for the caller to
 * decide. Requests made while it connects wait for that attempt, and fail with it; after a failed attempt the next
 * one waits, longer each time.
 */
export class Client {
  readonly address: Address;
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #isConnecting = false;
  /** Requests that wait for a connection, in order. */
  #waiting: Waiting[] = [];
  #failures = 0;
  #notBeforeMs = 0;

  constructor(address: Address, options: ClientOptions = {}) {
    this.address = address;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Sends a request of which each char of each argument is a byte. Requests are executed in order. */
  send(argv: readonly string[], receiver: Receiver): void {
    if (this.#connection?.isOpen) this.#connection.send(argv, receiver);
    else {
      this.#waiting.push({ argv, receiver });
      if (!this.#isConnecting) void this.#connect();
    }
  }

  request(argv: readonly string[]): Promise<Reply> {
    return new Promise((answered, failed) => this.send(argv, { answered, failed }));
  }

  /** Opens another connection to the same server, which is the caller's to close and does not reconnect. */
  open(
    handlers: {
      readonly onPush?: (reply: Reply) => void;
      readonly onClose?: (reason: Error | undefined) => void;
    },
    signal?: AbortSignal,
  ): Promise<Connection> {
    const {
      tls,
      connectTimeoutMs = DEFAULT_TIMEOUT_MS,
      requestTimeoutMs = DEFAULT_TIMEOUT_MS,
      heartbeatMs = DEFAULT_HEARTBEAT_MS,
    } = this.#options;
    return openConnection({
      address: this.address,
      tls,
      clock: this.#clock,
      connectTimeoutMs,
      requestTimeoutMs,
      heartbeatMs,
      ...handlers,
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
    });
  }

  /** Ends the connection. What waits for a reply fails, as do all later requests. */
  close(): void {
    this.#closing.abort();
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** Connects, and then sends what waits, in one go: nothing that is sent later comes before it. */
  async #connect(): Promise<void> {
    this.#isConnecting = true;
    await this.#pause();
    const opened = await this.#open().catch((error: Error) => error);
    this.#isConnecting = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (opened instanceof Error) for (const { receiver } of waiting) receiver.failed(opened);
    else {
      this.#connection = opened;
      // close() may have been called since it was opened.
      if (this.#closing.signal.aborted) opened.close();
      for (const { argv, receiver } of waiting) opened.send(argv, receiver);
    }
  }

  async #open(): Promise<Connection> {
    if (this.#closing.signal.aborted) throw new ConnectionError('the client is closed');
    try {
      const connection = await this.open({});
      this.#failures = 0;
      return connection;
    } catch (error) {
      const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS);
      this.#notBeforeMs = this.#clock.monotonicMs() + pauseMs;
      throw error;
    }
  }

  #pause(): Promise<void> | undefined {
    const leftMs = this.#notBeforeMs - this.#clock.monotonicMs();
    if (this.#failures === 0 || leftMs <= 0) return undefined;
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(leftMs, resolve);
      // Requests wait for it, and nothing else may keep the process alive.
      timer.keepAlive(true);
      this.#closing.signal.addEventListener('abort', () => {
        timer.cancel();
        resolve();
      });
    });
  }
}

interface Waiting {
  readonly argv: readonly string[];
  readonly receiver: Receiver;
}
