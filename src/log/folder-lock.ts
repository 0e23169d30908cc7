import { lstatSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { LogError } from './errors.ts';

/** Keeps other servers out of a folder. */
export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Locks a folder: listens on a Unix socket inside of it. The system ends that with the process, however it ends, and it
 * works between containers that share the folder.
 */
export async function lockFolder(path: string): Promise<FolderLock> {
  const socket = join(path, NAME);
  if (Buffer.byteLength(socket) > MAX_PATH_BYTES) {
    throw new LogError('disk', `${path} is too long for a data folder. Choose a shorter --dir.`);
  }
  const server = (await listen(socket)) ?? (await listenAgain(socket, path));
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** The file is there. It belongs to a server, or was left by one that was killed. */
async function listenAgain(socket: string, path: string): Promise<Server> {
  if (lstatSync(socket, { throwIfNoEntry: false })?.isSocket() === false) throw noSocket(socket);
  const before = identityOf(socket);
  if (await isUsed(socket)) throw inUse(path);
  // Another server may have started meanwhile.
  if (before !== undefined && identityOf(socket) === before) unlinkSync(socket);
  const server = await listen(socket);
  if (server === undefined) throw inUse(path);
  return server;
}

/** Returns undefined if the file exists. */
function listen(socket: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((client) => client.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new LogError('disk', `cannot lock ${socket} (${error.message})`, error));
    });
    server.listen(socket, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** The system may give a new file the number of a deleted one, so that the time counts too. */
function identityOf(path: string): string | undefined {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino} ${found.ctimeNs}`;
}

/** An error other than a refusal (no permission, a full queue) does not prove that no server listens. */
function isUsed(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect(socket);
    client.once('connect', () => {
      client.destroy();
      resolve(true);
    });
    client.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}

function noSocket(socket: string): LogError {
  return new LogError(
    'disk',
    `cannot lock ${socket}: it is not the socket of a server. Move it away, or choose another folder with --dir.`,
  );
}

function inUse(path: string): LogError {
  return new LogError(
    'in-use',
    `another server uses the folder ${path}: stop it, or choose another folder with --dir.`,
  );
}

const NAME = 'server.lock';
/** The length of a path of a Unix socket that all systems accept. */
const MAX_PATH_BYTES = 103;
