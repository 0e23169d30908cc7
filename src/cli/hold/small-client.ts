import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { IoredisClient } from '../../stores/index.ts';
import { bytesOf, textOf as textOfBytes } from '../bytes.ts';
import { Client } from '../console/client.ts';
import type { StoreAddress } from '../console/store-address.ts';

/**
 * A client of one Redis that has what the store of locks uses, in the shape of ioredis, whose loading
 * would take longer than all the rest of a run. It connects when it is first used, and again when it is
 * used after the connection broke.
 */
export class SmallClient implements IoredisClient {
  readonly options = {};
  readonly #store: StoreAddress;
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(store: StoreAddress) {
    this.#store = store;
  }

  evalsha(sha: string, keyCount: number, ...words: string[]): Promise<unknown> {
    return this.#call(['EVALSHA', sha, String(keyCount), ...words]);
  }

  eval(text: string, keyCount: number, ...words: string[]): Promise<unknown> {
    return this.#call(['EVAL', text, String(keyCount), ...words]);
  }

  info(section: string): Promise<unknown> {
    return this.#call(['INFO', section]);
  }

  call(command: string, words: string[]): Promise<unknown> {
    return this.#call([command, ...words]);
  }

  /** A connection of its own, to hear messages on. */
  duplicate(): Ear {
    return new Ear(this.#store);
  }

  disconnect(): void {
    this.#isClosed = true;
    this.#client?.then(
      (client) => client.close(),
      () => {},
    );
  }

  async #call(words: readonly string[]): Promise<unknown> {
    const client = await this.#connected();
    return textOf(await client.request(words.map(bytesOf)));
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new Error('the client is closed'));
    const forget = (): void => {
      this.#client = undefined;
    };
    this.#client ??= signIn(this.#store, { onPush: () => {}, onClose: forget }).catch((error) => {
      forget();
      throw error;
    });
    return this.#client;
  }
}

/** Hears one channel. It ends when its connection does. */
class Ear {
  status = 'wait';
  readonly #store: StoreAddress;
  readonly #listeners = new Map<string, (...values: never[]) => void>();
  #client: Client | undefined;

  constructor(store: StoreAddress) {
    this.#store = store;
  }

  on(event: string, listener: (...values: never[]) => void): void {
    this.#listeners.set(event, listener);
  }

  async subscribe(channel: string): Promise<void> {
    const client = await signIn(this.#store, {
      onPush: (reply) => this.#heard(reply),
      onClose: () => this.disconnect(),
    });
    if (this.status === 'end') client.close();
    this.#client = client;
    await client.request(['SUBSCRIBE', bytesOf(channel)]);
  }

  disconnect(): void {
    if (this.status === 'end') return;
    this.status = 'end';
    this.#client?.close();
    this.#tell('end');
  }

  #heard(reply: Reply): void {
    if (!Array.isArray(reply) || reply[0] !== 'message') return;
    this.#tell('message', textOf(reply[1]!), textOf(reply[2]!));
  }

  #tell(event: string, ...values: unknown[]): void {
    this.#listeners.get(event)?.(...(values as never[]));
  }
}

interface Handlers {
  onPush(reply: Reply): void;
  onClose(): void;
}

async function signIn(store: StoreAddress, handlers: Handlers): Promise<Client> {
  const client = new Client({ store, ...handlers });
  await client.connect();
  const { user, password, database } = store;
  try {
    if (password !== '') textOf(await client.request(['AUTH', ...(user ? [user] : []), password]));
    if (database !== 0) textOf(await client.request(['SELECT', String(database)]));
  } catch (error) {
    client.close();
    throw error;
  }
  return client;
}

/** What ioredis gives: text, numbers, null and arrays of them. Throws what is an error. */
function textOf(reply: Reply): unknown {
  if (reply instanceof ErrorReply) throw new Error(textOfBytes(reply.message));
  if (typeof reply === 'string') return textOfBytes(reply);
  return Array.isArray(reply) ? reply.map(textOf) : reply;
}
