import {
  type Client,
  ConnectionError,
  type Script,
  type ScriptRunner,
} from '../../client/index.ts';
import { systemClock } from '../../clock/index.ts';
import { ErrorReply, type Reply, SimpleReply } from '../../resp/index.ts';
import { warnOfEviction } from './eviction.ts';
import { untilEnded } from './own-connection.ts';
import type { OwnConnection, PlainLink, SubscriptionHandlers } from './redis-link.ts';
import { subscribe } from './subscription.ts';

/** Runs scripts over this library's own client, for `createLocks(url)` and the command line. */
export class ClientRunner implements ScriptRunner {
  readonly ownsConnections = true;
  /** For sessions. */
  readonly plain: PlainLink;
  readonly #client: Client;
  readonly #closing = new AbortController();
  #isFirst = true;

  constructor(client: Client) {
    this.#client = client;
    this.plain = {
      keyPrefix: '',
      command: (argv) => this.#request(argv.map(toBytes)),
      open: (argv, signal) => openWith(client, argv, signal),
    };
  }

  run({ text, sha }: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const running = new Promise((resolve, reject) => {
      this.#client.send(scriptArgs('EVALSHA', sha, keys, args), {
        answered: (reply) => {
          if (isUnknownScript(reply)) {
            this.#request(scriptArgs('EVAL', toBytes(text), keys, args)).then(resolve, reject);
          } else settle(reply, resolve, reject);
        },
        failed: reject,
      });
    });
    if (this.#isFirst) this.#checkEviction();
    return running;
  }

  listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
    onLost?: () => void,
  ): Promise<void> {
    const { signal } = this.#closing;
    const open = (_: string, handlers: SubscriptionHandlers, either: AbortSignal): Promise<void> =>
      subscribeOnce(this.#client, channel, handlers, either);
    return subscribe(open, { channel, onMessage, onGap, onLost, signal, clock: systemClock });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#client.close();
  }

  #request(argv: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) =>
      this.#client.send(argv, {
        answered: (reply) => settle(reply, resolve, reject),
        failed: reject,
      }),
    );
  }

  /** In the background: no request waits for it or fails with it. */
  #checkEviction(): void {
    this.#isFirst = false;
    this.#request(['INFO', 'memory']).then(warnOfEviction, () => {});
  }
}

function isUnknownScript(reply: Reply): boolean {
  return reply instanceof ErrorReply && reply.message.startsWith('NOSCRIPT');
}

/** Rejects for an error reply. Resolves with a string, a number, null or an array of them. */
function settle(
  reply: Reply,
  resolve: (value: unknown) => void,
  reject: (error: Error) => void,
): void {
  if (reply instanceof ErrorReply) reject(new Error(toText(reply.message)));
  else resolve(plain(reply));
}

function scriptArgs(
  command: string,
  source: string,
  keys: readonly string[],
  args: readonly string[],
): string[] {
  const argv = [command, source, String(keys.length)];
  for (const key of keys) argv.push(toBytes(key));
  for (const arg of args) argv.push(toBytes(arg));
  return argv;
}

function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return toText(reply);
  if (reply instanceof SimpleReply) return toText(reply.text);
  // A list of numbers, the reply to many requests, is not copied.
  if (!Array.isArray(reply) || reply.every((item) => typeof item === 'number')) return reply;
  return reply.map(plain);
}

/** Subscribes on a connection of its own, and resolves when that connection has ended. */
async function subscribeOnce(
  client: Client,
  channel: string,
  handlers: SubscriptionHandlers,
  signal: AbortSignal,
): Promise<void> {
  const onPush = (reply: Reply): void => {
    if (Array.isArray(reply) && reply[0] === 'message')
      handlers.onMessage(toText(String(reply[2])));
  };
  const own = await openWith(client, ['SUBSCRIBE', channel], signal, onPush);
  await untilEnded(own, handlers, signal);
}

/** Opens a connection of its own and sends one command; an error reply closes it. */
async function openWith(
  client: Client,
  argv: readonly string[],
  signal: AbortSignal,
  onPush: (reply: Reply) => void = () => {},
): Promise<OwnConnection> {
  let onEnd = (): void => {};
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const connection = await client.open({ onPush, onClose: onEnd }, signal);
  const abort = (): void => connection.close();
  signal.addEventListener('abort', abort);
  try {
    const reply = await connection.request(argv.map(toBytes));
    if (reply instanceof ErrorReply) throw new Error(toText(reply.message));
    if (!connection.isOpen) throw new ConnectionError('the connection was closed');
    return { ended, close: abort };
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Most texts are ASCII, whose chars are already bytes. */
function toBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

function toText(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text);
}

const NOT_ASCII = /[\u0080-\uffff]/;
