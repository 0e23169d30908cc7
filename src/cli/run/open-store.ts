import { once } from 'node:events';
import { Socket, type SocketConnectOpts } from 'node:net';
import { Locks } from '../../lock/index.ts';
import { addressStore, openSession, type Session, SessionError } from '../../stores/index.ts';
import { bytesOf } from '../bytes.ts';
import { parseStoreAddress, type StoreAddress } from '../console/store-address.ts';
import { type Environment, UsageError } from '../verb.ts';
import { RunError } from './exit-codes.ts';

/** Where the locks of a run are to live. */
export interface StorePlace {
  /** Undefined: the server of this machine. */
  readonly url: string | undefined;
  /** Whether they are to end with the run; on this machine they always do. */
  readonly hasSession: boolean;
}

/** The locks of one run, and what they are reached by. */
export interface OpenStore extends AsyncDisposable {
  readonly locks: Locks;
  /** With a session: the locks are free when nobody has this open any more. */
  readonly socket?: Socket;
  /** On the local server, another connection: the reaper hears by it that the server has ended. */
  readonly serverConnection?: Promise<Socket | undefined>;
  /** Aborts when the session has ended without being asked to, and its locks with it. */
  readonly ended: AbortSignal;
  /** How long nobody else can get them then: so long does the next local server wait. */
  readonly graceMs: number;
}

/** The store that was named, else the local server, which is started if need be. Throws RunError. */
export function openStore(
  { url, hasSession }: StorePlace,
  environment: Environment,
  signal: AbortSignal,
): Promise<OpenStore> {
  if (url === undefined) return openLocal(environment, signal);
  return hasSession ? openNamedSession(url, environment, signal) : openNamed(url, environment);
}

async function openNamed(url: string, environment: Environment): Promise<OpenStore> {
  const store = addressStore(addressOf(url, environment));
  const locks = new Locks({ store, telemetry: false });
  const { signal: ended } = new AbortController();
  return { locks, ended, graceMs: 0, [Symbol.asyncDispose]: () => locks.close() };
}

async function openNamedSession(
  url: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<OpenStore> {
  const address = addressOf(url, environment);
  if (address.isSecure) throw new UsageError(NO_SECURE_SESSION);
  const session = await openSession(withPassword(url, environment), { signal }).catch(explain);
  return inSession(session, address, { graceMs: 0 });
}

/** The reaper keeps the session until the command is dead, and a shell cannot keep up TLS. */
const NO_SECURE_SESSION = '--session needs a store at redis://… or unix:/path.';

async function openLocal(environment: Environment, signal: AbortSignal): Promise<OpenStore> {
  const { LOST_GRACE_MS, LocalError, openLocalSession } = await import('../../local/index.ts');
  const session = await openLocalSession({ environment, signal }).catch((error: unknown) => {
    throw error instanceof LocalError ? new RunError('unavailable', error.message) : explain(error);
  });
  const address = parseStoreAddress(session.address);
  const serverConnection = connectQuietly(address);
  return inSession(session, address, { graceMs: LOST_GRACE_MS, serverConnection });
}

function explain(error: unknown): never {
  if (!(error instanceof SessionError)) throw error;
  throw new RunError(error.isFinal ? 'failed' : 'unavailable', error.message);
}

type SessionTraits = Pick<OpenStore, 'graceMs' | 'serverConnection'>;

function inSession(session: Session, address: StoreAddress, traits: SessionTraits): OpenStore {
  const locks = new Locks({ store: addressStore(address, { session }), telemetry: false });
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

/** A connection on which this process never reads, as somebody else does. */
async function connectQuietly({ socket: where }: StoreAddress): Promise<Socket | undefined> {
  const socket = new Socket();
  socket.on('error', () => {});
  socket.pause();
  socket.connect(where as SocketConnectOpts);
  const isConnected = await once(socket, 'connect').catch(() => false);
  // If the server cannot be reached any more, the session tells.
  return isConnected ? socket.unref() : undefined;
}

function addressOf(url: string, environment: Environment): StoreAddress {
  const store = parseStoreAddress(url);
  if (store.password !== '') return store;
  return { ...store, password: bytesOf(environment.HOLDFAST_PASSWORD ?? '') };
}

function withPassword(text: string, { HOLDFAST_PASSWORD = '' }: Environment): string {
  const url = new URL(text);
  if (url.protocol !== 'redis:' || url.password !== '') return text;
  if (url.hostname === '') url.hostname = '127.0.0.1';
  url.password = encodeURIComponent(HOLDFAST_PASSWORD);
  return url.href;
}
