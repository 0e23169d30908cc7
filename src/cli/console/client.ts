import { type Connection, openConnection } from '../../client/index.ts';
import { systemClock } from '../../clock/index.ts';
import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { StoreAddress } from '../store-address.ts';
import { replyAdvice, storeAdvice } from '../store-advice.ts';

interface ClientOptions {
  readonly store: StoreAddress;
  /** Receives every message that answers no command. */
  readonly onPush: (reply: Reply) => void;
  /** Called when an open connection has ended. */
  readonly onClose: () => void;
}

/** There is no reply: no connection, or one that broke. The message is whole sentences, the last of them the advice. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** With a space before it; empty: none. */
  readonly advice: string;
  /** Whether there was a connection. */
  readonly isLost: boolean;

  constructor(message: string, { advice = '', isLost = true } = {}) {
    super(`${message}${advice}`);
    this.advice = advice;
    this.isLost = isLost;
  }
}

/** The connection of a verb. Commands may block without a limit. After a failure the next call connects again. */
export class Client {
  readonly #options: ClientOptions;
  #connection: Connection | undefined;
  #attempt = new AbortController();
  #hasReply = false;
  /** Advice for the reply that refused this client: the server closes the connection after it. */
  #refusal: string | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  /** Connects. The caller signs in, selects the database and reports failures of both. */
  async connect(): Promise<void> {
    const { store, onPush, onClose } = this.#options;
    this.#attempt = new AbortController();
    try {
      this.#connection = await openConnection({
        address: { ...store, password: '', database: 0 },
        tls: store.tls,
        clock: systemClock,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        requestTimeoutMs: Number.POSITIVE_INFINITY,
        heartbeatMs: Number.POSITIVE_INFINITY,
        onPush,
        onClose,
        signal: this.#attempt.signal,
      });
    } catch (error) {
      const advice = storeAdvice(error, store);
      throw new ConnectionError(`${(error as Error).message}.`, { advice, isLost: false });
    }
  }

  /** Sends a command. Each char of an argument is a byte. Rejects with ConnectionError. */
  async request(argv: readonly string[]): Promise<Reply> {
    try {
      const reply = await this.#connection!.request(argv);
      this.#hasReply = true;
      this.#refusal = reply instanceof ErrorReply ? replyAdvice(reply.message) : undefined;
      return reply;
    } catch (error) {
      const later = this.#refusal === undefined ? '' : ` ${this.#refusal}`;
      const advice = this.#hasReply ? later : storeAdvice(error, this.#options.store);
      throw new ConnectionError(NO_ANSWER, { advice });
    }
  }

  close(): void {
    this.#attempt.abort();
    this.#connection?.close();
  }
}

const CONNECT_TIMEOUT_MS = 10_000;

/** The client does not send the command again: it may have run. */
const NO_ANSWER =
  'The connection was lost before the answer came: the command may have run, or not. The next command connects again.';
