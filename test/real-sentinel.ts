import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, spawnRealRedis, stopProcess } from './real-redis.ts';

/** A master and a replica that three Sentinels watch. */
export interface RealSentinel {
  readonly name: string;
  readonly sentinelPorts: readonly number[];
  readonly masterPort: number;
  readonly replicaPort: number;
  /** Ends the master without a word, so that the Sentinels must promote the replica. */
  killMaster(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'holdfast';
const WATCHERS = 3;
const QUORUM = 2;

/** The master counts as down when it has not answered for so long: on a busy machine that may be a while. */
export async function startRealSentinel(downAfterMs = 60_000): Promise<RealSentinel> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sentinel-'));
  const [masterPort, replicaPort] = [await freePort(), await freePort()];
  const master = await startData(folder, masterPort);
  const replica = await startData(folder, replicaPort, '--replicaof', `127.0.0.1 ${masterPort}`);
  const sentinelPorts = await Promise.all(Array.from({ length: WATCHERS }, freePort));
  const sentinels = sentinelPorts.map((port) =>
    startWatcher(folder, port, masterPort, downAfterMs),
  );
  await Promise.all(sentinelPorts.map(watching));
  return {
    name: NAME,
    sentinelPorts,
    masterPort,
    replicaPort,
    async killMaster() {
      master.kill('SIGKILL');
      await once(master, 'exit');
    },
    async stop() {
      await Promise.all([...sentinels, replica, master].map(stopProcess));
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Without the delay that a master waits for more replicas before it sends its data. A replica writes those into a
 * file, which another server that starts in the same folder would load.
 */
function startData(
  folder: string,
  port: number,
  ...options: readonly string[]
): Promise<ChildProcess> {
  const place = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder];
  place.push('--dbfilename', `${port}.rdb`);
  return spawnRealRedis(...place, '--repl-diskless-sync-delay', '0', ...options);
}

/** A Sentinel writes into its configuration, so that it needs a file. */
function startWatcher(
  folder: string,
  port: number,
  masterPort: number,
  downAfterMs: number,
): ChildProcess {
  const file = join(folder, `${port}.conf`);
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${NAME} 2000`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return spawn('redis-server', [file, '--sentinel'], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Until this Sentinel knows the others and the replica, so that it can vote and promote. */
async function watching(port: number): Promise<void> {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20 });
  client.on('error', () => {});
  for (;;) {
    const fields = (await client.call('SENTINEL', 'MASTER', NAME)) as string[];
    const numberOf = (field: string): number => Number(fields[fields.indexOf(field) + 1]);
    if (numberOf('num-slaves') === 1 && numberOf('num-other-sentinels') === WATCHERS - 1) break;
    await pause(20);
  }
  client.disconnect();
}
