import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { type Clock, systemClock } from '../clock/index.ts';
import type { Reply } from '../resp/index.ts';
import type { Address } from './address.ts';
import { type Connection, ConnectionError, openConnection, type Receiver } from './connection.ts';

export interface ClientOptions {
  readonly tls?: TlsOptions | undefined;
  /** How long it may take to connect and to sign in. Default 5 s. */
  readonly connectTimeoutMs?: number;
  /** How long a reply may take. Default 5 s. */
  readonly requestTimeoutMs?: number;
  /**
   * The time without a byte from the server after which it sends a PING. Default 3 s: a dead peer is noticed within 9
   * s.
   */
  readonly heartbeatMs?: number;
  readonly clock?: Clock;
}

const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;
const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_HEARTBEAT_MS = 3000;

/**
 * A client of one server. It connects with the first request, and again with the first request after the connection has
 * ended. A request fails when its connection ends before the reply; the client does not retry it, since it may have been
 * executed. Requests that are made while it connects wait for that attempt, and fail with it. The pause before the next
 * attempt doubles after each failure. An idle connection does not keep the process alive.
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

  /** Sends a request. Each char of an argument is a byte. Requests are executed in order. */
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

  /** Opens another connection to the same server. It does not reconnect, and the caller closes it. */
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
      unrefWhenIdle: true,
      ...handlers,
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
    });
  }

  /** Ends the connection. Pending and later requests fail. */
  close(): void {
    this.#closing.abort();
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** Connects, and then sends the waiting requests in one turn, so that they stay before later ones. */
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
      // close() may have been called after the connection was opened.
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
      const { signal } = this.#closing;
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#clock.setTimer(leftMs, end);
      // Requests wait for this timer, so it keeps the process alive.
      timer.keepAlive(true);
      signal.addEventListener('abort', end);
    });
  }
}

interface Waiting {
  readonly argv: readonly string[];
  readonly receiver: Receiver;
}
