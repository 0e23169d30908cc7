import { systemClock } from '../../clock/index.ts';
import { ErrorReply, type Reply } from '../../resp/index.ts';
import { type RunScript, type ScriptServers, StoreError } from '../../stores/index.ts';
import { textOf } from '../bytes.ts';
import { Client, ConnectionError } from '../console/client.ts';
import type { StoreAddress } from '../store-address.ts';
import { replyAdvice, storeAdvice } from '../store-advice.ts';

/** The exit code of a StoreError, as of `holdfast run`. */
export const UNAVAILABLE = 69;

/** Limit for connecting, and for each reply. */
const TIMEOUT_MS = 5000;
const MAX_REDIRECTIONS = 5;

/** The servers of a store: one, or those of a cluster. Connections are opened when needed. */
export class Servers implements ScriptServers {
  readonly label: string;
  readonly #store: StoreAddress;
  readonly #connections = new Map<string, Connection>();

  constructor(store: StoreAddress) {
    this.#store = store;
    this.label = store.label;
  }

  /** Every master of a cluster, or the one server. */
  async masters(): Promise<Master[]> {
    const slots = await this.#request(this.#store, ['CLUSTER', 'SLOTS']);
    const masters = Array.isArray(slots) ? this.#mastersIn(slots) : [];
    const stores = masters.length === 0 ? [this.#store] : masters;
    return stores.map((store) => ({
      label: store.label,
      run: async (text, keys, args) =>
        accepted(store, await this.#request(store, evalWords(text, keys, args))),
    }));
  }

  /** Sends a command to the one server, or to the given node of a cluster. */
  readonly send = async (argv: readonly string[]): Promise<unknown> =>
    accepted(this.#store, await this.#request(this.#store, argv));

  /** Runs a script on the server that has the keys. */
  readonly run: RunScript = async (text, keys, args) => {
    let store = this.#store;
    for (let redirections = 0; ; redirections++) {
      const reply = await this.#request(store, evalWords(text, keys, args));
      const target = redirections < MAX_REDIRECTIONS ? movedTo(reply) : undefined;
      if (target === undefined) return accepted(store, reply);
      store = this.#at(target.host, target.port);
    }
  };

  /** Closes all connections. Pending requests fail. */
  close(): void {
    for (const { client } of this.#connections.values()) client.close();
    this.#connections.clear();
  }

  async #request(store: StoreAddress, argv: readonly string[]): Promise<Reply> {
    const { client, ready } = this.#connections.get(store.label) ?? this.#connect(store);
    await ready;
    return inTime(client, store, client.request(argv));
  }

  #connect(store: StoreAddress): Connection {
    const onClose = (): unknown => this.#connections.delete(store.label);
    const client = new Client({ store, onPush: () => {}, onClose });
    const ready = prepare(client, store).catch((error: unknown) => {
      client.close();
      onClose();
      throw error;
    });
    const connection = { client, ready };
    this.#connections.set(store.label, connection);
    return connection;
  }

  /** Of `CLUSTER SLOTS`: first slot, last slot, the master's host and port, … */
  #mastersIn(slots: readonly Reply[]): StoreAddress[] {
    const masters = slots.flatMap((range) => {
      const [, , master] = range as readonly Reply[];
      const [host, port] = master as readonly Reply[];
      return [this.#at(String(host ?? ''), Number(port))];
    });
    return [...new Map(masters.map((master) => [master.label, master])).values()];
  }

  /** A node that does not report its host has the host of the store. */
  #at(host: string, port: number): StoreAddress {
    const known = 'host' in this.#store.socket ? this.#store.socket.host : '127.0.0.1';
    const socket = { host: host === '' || host === '?' ? known : host, port };
    const label = socket.host.includes(':') ? `[${socket.host}]:${port}` : `${socket.host}:${port}`;
    return { ...this.#store, socket, label };
  }
}

interface Master {
  /** The address for messages. */
  readonly label: string;
  readonly run: RunScript;
}

interface Connection {
  readonly client: Client;
  readonly ready: Promise<void>;
}

function evalWords(text: string, keys: readonly string[], args: readonly string[]): string[] {
  return ['EVAL', text, String(keys.length), ...keys, ...args];
}

/** Connects, signs in and selects the database. */
async function prepare(client: Client, store: StoreAddress): Promise<void> {
  const { user, password, database } = store;
  const request = async (...words: string[]): Promise<unknown> =>
    accepted(store, await inTime(client, store, client.request(words)));
  await inTime(client, store, client.connect());
  if (password !== '') await request('AUTH', ...(user === '' ? [] : [user]), password);
  if (database !== 0) await request('SELECT', `${database}`);
}

/** Closes the connection when the reply does not come in time, so that all its pending requests fail. */
async function inTime<Result>(
  client: Client,
  store: StoreAddress,
  reply: Promise<Result>,
): Promise<Result> {
  let isLate = false;
  const timer = systemClock.setTimer(TIMEOUT_MS, () => {
    isLate = true;
    client.close();
  });
  timer.keepAlive(true);
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    throw new StoreError(isLate ? lateText(store) : reasonOf(error, store));
  } finally {
    timer.cancel();
  }
}

function lateText(store: StoreAddress): string {
  const late = new Error(`no answer within ${TIMEOUT_MS} ms`);
  return `${store.label} did not answer within ${TIMEOUT_MS / 1000} s.${storeAdvice(late, store)}`;
}

/** The message of a lost connection speaks of the next command, which only the console has. */
function reasonOf({ isLost, advice, message }: ConnectionError, { label }: StoreAddress): string {
  return isLost ? `The connection to ${label} was lost before the answer came.${advice}` : message;
}

function accepted({ label }: StoreAddress, reply: Reply): unknown {
  if (!(reply instanceof ErrorReply)) return reply;
  const message = textOf(reply.message).replace(/\.?$/, '.');
  const advice = replyAdvice(message);
  throw new StoreError(`${label} answers: ${message}${advice === undefined ? '' : ` ${advice}`}`);
}

/** In a cluster: the server that has the keys, from a MOVED error. */
function movedTo(reply: Reply): { host: string; port: number } | undefined {
  if (!(reply instanceof ErrorReply) || reply.code !== 'MOVED') return undefined;
  const [, host = '', port] = /^MOVED \d+ (.*):(\d+)$/.exec(reply.message) ?? [];
  return { host, port: Number(port) };
}
