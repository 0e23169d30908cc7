import { once } from 'node:events';
import { Socket, type SocketConnectOpts } from 'node:net';
import { Locks } from '../../lock/index.ts';
import { redisStore, SessionError } from '../../stores/index.ts';
import { bytesOf } from '../bytes.ts';
import { parseStoreAddress, type StoreAddress } from '../console/store-address.ts';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { SmallClient } from './small-client.ts';

/** The locks of one run, and what they are reached by. */
export interface OpenStore extends AsyncDisposable {
  readonly locks: Locks;
  /** On the local server: the locks are free when nobody has this open any more. */
  readonly socket?: Socket;
  /** Another connection there, for the guardian alone, which hears by it that the server has ended. */
  readonly serverLine?: Socket | undefined;
  /** Aborts when the local server has ended without being asked to, and its locks with it. */
  readonly ended: AbortSignal;
  /** How long the next server then waits before it lets anybody in. */
  readonly graceMs: number;
}

/** The store that was named, else the local server, which is started if need be. Throws RunError. */
export function openStore(
  url: string | undefined,
  environment: Environment,
  signal: AbortSignal,
): Promise<OpenStore> {
  return url === undefined ? openLocal(environment, signal) : openNamed(url, environment);
}

async function openNamed(url: string, environment: Environment): Promise<OpenStore> {
  const client = new SmallClient(addressOf(url, environment));
  const locks = new Locks({ store: redisStore(client), telemetry: false });
  const close = async (): Promise<void> => {
    await locks.close();
    client.disconnect();
  };
  const { signal: ended } = new AbortController();
  return { locks, ended, graceMs: 0, [Symbol.asyncDispose]: close };
}

async function openLocal(environment: Environment, signal: AbortSignal): Promise<OpenStore> {
  const { LOST_GRACE_MS, LocalError, openLocalSession } = await import('../../local/index.ts');
  const session = await openLocalSession({ environment, signal }).catch((error: unknown) => {
    const isKnown = error instanceof LocalError || error instanceof SessionError;
    throw isKnown ? new RunError('unavailable', error.message) : error;
  });
  const address = parseStoreAddress(session.address);
  const serverLine = await connectQuietly(address);
  const client = new SmallClient(address);
  const locks = new Locks({ store: redisStore(client, { session }), telemetry: false });
  let isClosing = false;
  const ended = new AbortController();
  void session.ended.then(() => isClosing || ended.abort());
  const close = async (): Promise<void> => {
    isClosing = true;
    await locks.close();
    client.disconnect();
    serverLine?.destroy();
    await session.close();
  };
  const { socket } = session;
  return {
    locks,
    socket,
    serverLine,
    ended: ended.signal,
    graceMs: LOST_GRACE_MS,
    [Symbol.asyncDispose]: close,
  };
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
