import { type Connection, openConnection } from '../../client/index.ts';
import { systemClock } from '../../clock/index.ts';
import type { Reply } from '../../resp/index.ts';
import type { StoreAddress } from './store-address.ts';

interface ClientOptions {
  readonly store: StoreAddress;
  /** Receives every message that answers no command. */
  readonly onPush: (reply: Reply) => void;
  /** Called when an open connection has ended. */
  readonly onClose: () => void;
}

/** Why there is no answer: no connection, or one that broke. The message is a whole sentence. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** The connection of a person: commands may block for as long as they like, and it connects again when asked to. */
export class Client {
  readonly #options: ClientOptions;
  #connection: Connection | undefined;
  #attempt = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  /** Connects. The caller signs in and selects the database, and tells how that went. */
  async connect(): Promise<void> {
    const { store, onPush, onClose } = this.#options;
    this.#attempt = new AbortController();
    try {
      this.#connection = await openConnection({
        address: { ...store, password: '', database: 0 },
        clock: systemClock,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
        requestTimeoutMs: Number.POSITIVE_INFINITY,
        heartbeatMs: Number.POSITIVE_INFINITY,
        onPush,
        onClose,
        signal: this.#attempt.signal,
      });
    } catch (error) {
      throw new ConnectionError(`${(error as Error).message}. ${WHAT_TO_DO}`);
    }
  }

  /** Sends a command whose words are latin1, a char a byte. Rejects with ConnectionError. */
  async request(argv: readonly string[]): Promise<Reply> {
    try {
      return await this.#connection!.request(argv);
    } catch {
      throw new ConnectionError(NO_ANSWER);
    }
  }

  close(): void {
    this.#attempt.abort();
    this.#connection?.close();
  }
}

const CONNECT_TIMEOUT_MS = 10_000;

const WHAT_TO_DO =
  'Start a server with "npx holdfast serve", or name another with --store redis://host:port.';

/** Sending the command again is for the person to decide. */
const NO_ANSWER =
  'The connection was lost before the answer came: the command may have run, or not. The next command connects again.';
