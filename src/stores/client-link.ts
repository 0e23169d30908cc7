import { type Client, ConnectionError, type Receiver } from '../client/index.ts';
import type { Hearer } from '../lock/index.ts';
import { ErrorReply, type Reply, SimpleReply } from '../resp/index.ts';
import type { Ears, OwnConnection, RedisLink } from './redis-link.ts';

/** The client of this library as a link: what `createLocks(url)` and the command line use. */
export function clientLink(client: Client): RedisLink {
  const command = (argv: readonly string[]): Promise<unknown> =>
    new Promise((answered, failed) => client.send(argv.map(toBytes), text({ answered, failed })));
  return {
    evalsha: (sha, keys, args, hearer) =>
      client.send(script('EVALSHA', sha, keys, args), text(hearer)),
    eval: (source, keys, args) =>
      new Promise((answered, failed) =>
        client.send(script('EVAL', source, keys, args), text({ answered, failed })),
      ),
    info: (section) => command(['INFO', section]),
    hear: (channel, ears, signal) => hear(client, channel, ears, signal),
    plain: {
      keyPrefix: '',
      command,
      open: (argv, signal) => openWith(client, argv, signal),
    },
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

/** A request whose reply is text, numbers, null or arrays of them; an error reply is a failure. */
function text(hearer: Hearer<unknown>): Receiver {
  return {
    answered(reply) {
      if (reply instanceof ErrorReply) hearer.failed(new Error(toText(reply.message)));
      else hearer.answered(plain(reply));
    },
    failed: (error) => hearer.failed(error),
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
async function hear(
  client: Client,
  channel: string,
  ears: Ears,
  signal: AbortSignal,
): Promise<void> {
  const onPush = (reply: Reply): void => {
    if (Array.isArray(reply) && reply[0] === 'message') ears.onMessage(toText(String(reply[2])));
  };
  const { ended, close } = await openWith(client, ['SUBSCRIBE', channel], signal, onPush);
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  else ears.onSubscribed();
  await ended;
  signal.removeEventListener('abort', close);
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
