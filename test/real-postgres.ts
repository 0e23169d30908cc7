import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './real-redis.ts';
import { suspendProcess } from './suspend-process.ts';

/** A PostgreSQL server under test. It keeps its data when it is killed and started again. */
export interface RealPostgres {
  readonly port: number;
  readonly url: string;
  /** Kills it by SIGKILL, and resolves when all its processes have ended. */
  crash(): Promise<void>;
  /** Starts it again on the same port, with its data. */
  start(): Promise<void>;
  /** Stops and continues the server, with all its processes. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Neither program runs as root: then both run as another user. */
const USER = process.getuid?.() === 0 ? unprivilegedUser() : undefined;

/** Starts a PostgreSQL server on a free loopback port. `settings` are lines of postgresql.conf, such as `work_mem = 4MB`. */
export async function startRealPostgres(...settings: readonly string[]): Promise<RealPostgres> {
  const folder = ownFolder('holdfast-postgres-');
  const data = join(folder, 'data');
  const port = await freePort();
  const initdb = ['-D', data, '-U', 'holdfast', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  execFileSync(programOf('initdb'), [...initdb, '--locale=C'], { ...USER, stdio: 'ignore' });
  const lines = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${folder}'`,
    // The tests kill processes, not the machine.
    'fsync = off',
    'shared_buffers = 16MB',
    'max_connections = 200',
    'autovacuum = off',
    ...settings,
  ];
  writeFileSync(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
  let server = await spawnUntilReady(data);
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of processesOf(server.pid!)) sendSignal(pid, name);
  };
  const end = async (signalAll: () => unknown): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'close');
    signalAll();
    await ended;
  };
  return {
    port,
    url: `postgres://holdfast@127.0.0.1:${port}/postgres`,
    crash: () => end(() => signal('SIGKILL')),
    async start() {
      server = await spawnUntilReady(data);
    },
    pause: () => processesOf(server.pid!).forEach(suspendProcess),
    resume: () => signal('SIGCONT'),
    async stop() {
      // Immediate: without a checkpoint.
      await end(() => {
        signal('SIGCONT');
        server.kill('SIGQUIT');
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts PgBouncer in transaction mode in front of a server, on a free loopback port. */
export async function startRealPgBouncer(
  serverPort: number,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = ownFolder('holdfast-pgbouncer-');
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${serverPort} user=holdfast`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 5',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const bouncer = spawn('pgbouncer', [file], { ...USER, stdio: ['ignore', 'ignore', 'pipe'] });
  await untilLine(bouncer, 'process up');
  return {
    url: `postgres://holdfast@127.0.0.1:${port}/postgres`,
    async stop() {
      const ended = once(bouncer, 'close');
      bouncer.kill('SIGQUIT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function spawnUntilReady(data: string): Promise<ChildProcess> {
  const server = spawn(programOf('postgres'), ['-D', data], {
    ...USER,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await untilLine(server, 'ready to accept connections');
  return server;
}

async function untilLine(child: ChildProcess, text: string): Promise<void> {
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stderr! })) {
    seen.push(line);
    if (!line.includes(text)) continue;
    child.stderr!.resume();
    return;
  }
  throw new Error(`the server ended before it was ready:\n${seen.join('\n')}`);
}

/** Does nothing to a process that has ended: a backend ends when its client does. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The process itself, and then its children. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
}

/** Debian does not put the programs of the server on the PATH. */
function programOf(name: string): string {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).sort() : [];
  const newest = versions.at(-1);
  return newest === undefined ? name : join(DEBIAN_FOLDER, newest, 'bin', name);
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

function ownFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  if (USER) chownSync(folder, USER.uid, USER.gid);
  return folder;
}

function unprivilegedUser(): { readonly uid: number; readonly gid: number } {
  const idOf = (flag: string): number =>
    Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
