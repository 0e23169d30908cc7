import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { encodeRequest, PushReply, type Reply, ReplyDecoder } from '../../resp/index.ts';
import type { StoreAddress } from './store-address.ts';

interface ClientOptions {
  readonly store: StoreAddress;
  /** Told every message that answers no command. */
  readonly onPush: (reply: Reply) => void;
  /** Told when a connection that stood has ended, by whomever. */
  readonly onClose: () => void;
}

/** Why there is no answer: no connection, or one that broke. The message is a whole sentence. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

interface Pending {
  readonly subscribes: boolean;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: ConnectionError) => void;
}

/** One connection to a server: requests in order, their replies in the same order. */
export class Client {
  readonly #options: ClientOptions;
  readonly #pending: Pending[] = [];
  #socket: Socket | undefined;
  /** The same before it is connected. */
  #connecting: Socket | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get connected(): boolean {
    return this.#socket !== undefined;
  }

  /** Connects. What the store's address asks for, sign-in and database, is the caller's to send. */
  async connect(): Promise<void> {
    const { store, onClose } = this.#options;
    const socket = openSocket(store);
    this.#connecting = socket;
    await connected(socket, store);
    this.#connecting = undefined;
    this.#socket = socket;
    const decoder = new ReplyDecoder();
    socket.on('data', (chunk) => this.#receive(decoder, chunk));
    // What broke the connection is told by 'close', which follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#fail();
      onClose();
    });
  }

  /** Sends a command whose words are latin1, a char a byte. Rejects with ConnectionError. */
  request(argv: readonly string[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const subscribes = SUBSCRIPTION.test(argv[0]!);
      this.#pending.push({ subscribes, resolve, reject });
      if (this.#socket === undefined) this.#fail();
      else this.#socket.write(encodeRequest(argv), 'latin1');
    });
  }

  close(): void {
    this.#connecting?.destroy();
    this.#socket?.destroy();
  }

  #receive(decoder: ReplyDecoder, chunk: Buffer): void {
    try {
      decoder.push(chunk);
      for (let reply = decoder.next(); reply !== undefined; reply = decoder.next()) {
        this.#deliver(reply);
      }
    } catch {
      // Whatever answers there, it does not speak this protocol.
      this.close();
    }
  }

  /** RESP3 confirms a subscription by a push, which is then the only answer to the command. */
  #deliver(reply: Reply): void {
    const first = this.#pending[0];
    const isAnswer =
      first !== undefined &&
      (!(reply instanceof PushReply) || (first.subscribes && isConfirmation(reply)));
    if (isAnswer) this.#pending.shift()!.resolve(reply);
    else this.#options.onPush(reply);
  }

  #fail(): void {
    this.#socket = undefined;
    for (const { reject } of this.#pending.splice(0)) {
      reject(new ConnectionError(NO_ANSWER));
    }
  }
}

/** Sending the command again is for the person to decide. */
const NO_ANSWER =
  'The connection was lost before the answer came: the command may have run, or not. The next command connects again.';

const SUBSCRIPTION = /^[ps]?(?:un)?subscribe$/i;

function isConfirmation({ items }: PushReply): boolean {
  return typeof items[0] === 'string' && SUBSCRIPTION.test(items[0]);
}

function openSocket({ socket, isSecure }: StoreAddress): Socket {
  return isSecure ? connectTls(socket) : connectPlain({ ...socket, noDelay: true });
}

function connected(socket: Socket, { label, isSecure }: StoreAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(isSecure ? 'secureConnect' : 'connect', resolve);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      reject(cannotConnect(label, error.code ?? error.message));
    });
    socket.once('close', () => reject(cannotConnect(label, 'given up')));
  });
}

function cannotConnect(label: string, reason: string): ConnectionError {
  return new ConnectionError(
    `Could not connect to ${label} (${reason}). Start a server with "npx holdfast serve", or name another with --store redis://host:port.`,
  );
}
