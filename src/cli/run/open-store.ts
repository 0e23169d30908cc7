import { once } from 'node:events';
import { Socket, type SocketConnectOpts } from 'node:net';
import { type LockStore, Locks } from '../../lock/index.ts';
import { addressStore, openSession, type Session, SessionError } from '../../stores/index.ts';
import { textOf } from '../bytes.ts';
import { parseStoreAddress, type StoreAddress } from '../store-address.ts';
import { storeAdvice } from '../store-advice.ts';
import { type Environment, UsageError } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import type { RunRequest } from './run-options.ts';

/** The locks of one run, and the connections they depend on. */
export interface OpenStore extends AsyncDisposable {
  readonly locks: Locks;
  /** With a session: the server frees the locks when the last process has closed this socket. */
  readonly socket?: Socket;
  /** On the local server: a second connection. Its end tells the reaper that the server has ended. */
  readonly serverConnection?: Promise<Socket | undefined>;
  /** Aborts when the session has ended without `close`, and its locks with it. */
  readonly ended: AbortSignal;
  /** How long after that no other client gets the locks: the next local server waits that long. */
  readonly graceMs: number;
}

/** Opens the store of `--store`, else the local server, which is started if none runs. Throws RunError. */
export async function openStore(
  request: Pick<RunRequest, 'store' | 'hasSession' | 'prefix'>,
  environment: Environment,
  signal: AbortSignal,
): Promise<OpenStore> {
  const { store, hasSession, prefix } = request;
  if (store === undefined) return openLocal(prefix, environment, signal);
  if ('scheme' in store) return withoutSession(await store.load({ prefix, isQuiet: true }));
  return hasSession ? openWithSession(store, prefix, signal) : openWithoutSession(store, prefix);
}

async function openWithoutSession(address: StoreAddress, prefix: string): Promise<OpenStore> {
  return withoutSession(addressStore(address, { tls: address.tls, prefix }));
}

function withoutSession(store: LockStore): OpenStore {
  const locks = new Locks({ store, telemetry: false });
  const { signal: ended } = new AbortController();
  return { locks, ended, graceMs: 0, [Symbol.asyncDispose]: () => locks.close() };
}

async function openWithSession(
  address: StoreAddress,
  prefix: string,
  signal: AbortSignal,
): Promise<OpenStore> {
  if (address.isSecure) throw new UsageError(NO_SECURE_SESSION);
  const session = await openSession(urlOf(address), { signal }).catch((error: unknown) =>
    explain(error, address),
  );
  return inSession(session, address, prefix, { graceMs: 0 });
}

/** The reaper keeps the session open until the command is dead, and a shell script cannot speak TLS. */
const NO_SECURE_SESSION = '--session needs a store at redis://… or unix:/path.';

async function openLocal(
  prefix: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<OpenStore> {
  const { LOST_GRACE_MS, LocalError, openLocalSession } = await import('../../local/index.ts');
  const session = await openLocalSession({ environment, signal }).catch((error: unknown) => {
    throw error instanceof LocalError ? new RunError('unavailable', error.message) : explain(error);
  });
  const address = parseStoreAddress(session.address);
  const serverConnection = connectUnread(address);
  return inSession(session, address, prefix, { graceMs: LOST_GRACE_MS, serverConnection });
}

function explain(error: unknown, address?: StoreAddress): never {
  if (!(error instanceof SessionError)) throw error;
  const advice = address === undefined ? '' : storeAdvice(error, address);
  const message = advice === '' ? error.message : `${error.message.replace(/\.?$/, '.')}${advice}`;
  throw new RunError(error.isFinal ? 'failed' : 'unavailable', message);
}

type SessionTraits = Pick<OpenStore, 'graceMs' | 'serverConnection'>;

function inSession(
  session: Session,
  address: StoreAddress,
  prefix: string,
  traits: SessionTraits,
): OpenStore {
  const locks = new Locks({ store: addressStore(address, { session, prefix }), telemetry: false });
  let isClosing = false;
  const ended = new AbortController();
  void session.ended.then(() => isClosing || ended.abort());
  const close = async (): Promise<void> => {
    isClosing = true;
    await locks.close();
    (await traits.serverConnection)?.destroy();
    await session.close();
  };
  const { socket } = session;
  return { ...traits, locks, socket, ended: ended.signal, [Symbol.asyncDispose]: close };
}

/** A connection that this process never reads: the reaper, which inherits it, does. */
async function connectUnread({ socket: target }: StoreAddress): Promise<Socket | undefined> {
  const socket = new Socket();
  socket.on('error', () => {});
  socket.pause();
  socket.connect(target as SocketConnectOpts);
  const isConnected = await once(socket, 'connect').catch(() => false);
  // If the server is unreachable by now, the session has ended and reports it.
  return isConnected ? socket.unref() : undefined;
}

/** The address as one text, which `openSession` takes. */
function urlOf({ label, socket, user, password, database }: StoreAddress): string {
  if ('path' in socket) return `unix:${encodeURI(socket.path)}`;
  const [name, secret] = [user, password].map((bytes) => encodeURIComponent(textOf(bytes)));
  return `redis://${name}:${secret}@${label}/${database}`;
}
