import { type Client, ConnectionError, type Receiver } from '../client/index.ts';
import { ErrorReply, type Reply, SimpleReply } from '../resp/index.ts';
import { untilEnded } from './own-connection.ts';
import type { OwnConnection, RedisLink, SubscriptionHandlers } from './redis-link.ts';

/** The client of this library as a link, for `createLocks(url)` and the command line. Closing it closes the client. */
export function clientLink(client: Client): RedisLink {
  const send = (argv: readonly string[]): Promise<unknown> =>
    new Promise((resolve, reject) => client.send(argv, textReceiver(resolve, reject)));
  const command = (argv: readonly string[]): Promise<unknown> => send(argv.map(toBytes));
  return {
    evalsha: (sha, keys, args) => send(script('EVALSHA', sha, keys, args)),
    eval: (source, keys, args) => send(script('EVAL', source, keys, args)),
    info: (section) => command(['INFO', section]),
    subscribe: (channel, handlers, signal) => subscribe(client, channel, handlers, signal),
    plain: {
      keyPrefix: '',
      command,
      open: (argv, signal) => openWith(client, argv, signal),
    },
    close: () => client.close(),
  };
}

function script(
  command: string,
  source: string,
  keys: readonly string[],
  args: readonly string[],
): string[] {
  const argv = [command, toBytes(source), String(keys.length)];
  for (const key of keys) argv.push(toBytes(key));
  for (const arg of args) argv.push(toBytes(arg));
  return argv;
}

/** Receives a reply of text, numbers, null or arrays of them. An error reply rejects. */
function textReceiver(
  resolve: (reply: unknown) => void,
  reject: (error: unknown) => void,
): Receiver {
  return {
    answered(reply) {
      if (reply instanceof ErrorReply) reject(new Error(toText(reply.message)));
      else resolve(plain(reply));
    },
    failed: reject,
  };
}

function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return toText(reply);
  if (reply instanceof SimpleReply) return toText(reply.text);
  // The reply to many requests is a list of numbers, which need not be copied.
  if (!Array.isArray(reply) || reply.every((item) => typeof item === 'number')) return reply;
  return reply.map(plain);
}

/** Subscribes on a connection of its own, and resolves when that connection has ended. */
async function subscribe(
  client: Client,
  channel: string,
  handlers: SubscriptionHandlers,
  signal: AbortSignal,
): Promise<void> {
  const onPush = (reply: Reply): void => {
    if (Array.isArray(reply) && reply[0] === 'message')
      handlers.onMessage(toText(String(reply[2])));
  };
  const connection = await openWith(client, ['SUBSCRIBE', channel], signal, onPush);
  await untilEnded(connection, handlers, signal);
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

/** Texts of this library are mostly ASCII, whose chars are its bytes. */
function toBytes(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

function toText(bytes: string): string {
  return isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text);
}

const NOT_ASCII = /[^\p{ASCII}]/u;
