import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, spawnRealRedis, stopProcess } from './real-redis.ts';

/** A Redis Cluster of masters on the loopback. */
export interface RealCluster {
  readonly masters: readonly ClusterMaster[];
  stop(): Promise<void>;
}

export interface ClusterMaster {
  readonly port: number;
  readonly id: string;
  /** A connection to this master alone, for what the tests do behind the back of the store. */
  readonly client: Redis;
  stop(): Promise<void>;
}

const SLOTS = 16384;

export async function startRealCluster(size = 3): Promise<RealCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'));
  const nodes = await Promise.all(Array.from({ length: size }, () => startNode(folder)));
  await shareSlots(nodes);
  return {
    masters: nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Moves a slot with all its keys, as redis-cli --cluster reshard does. `act` runs after the first key. */
export async function moveSlot(
  slot: number,
  [from, to]: readonly [ClusterMaster, ClusterMaster],
  act: () => Promise<void>,
): Promise<void> {
  await to.client.cluster('SETSLOT', slot, 'IMPORTING', from.id);
  await from.client.cluster('SETSLOT', slot, 'MIGRATING', to.id);
  const keys = (await from.client.cluster('GETKEYSINSLOT', slot, 1000)) as string[];
  const [first, ...others] = keys.sort();
  await from.client.migrate('127.0.0.1', to.port, first!, 0, 5000);
  await act();
  await from.client.migrate('127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...others);
  for (const { client } of [to, from]) await client.cluster('SETSLOT', slot, 'NODE', to.id);
}

interface StartedNode extends ClusterMaster {
  readonly busPort: number;
}

async function startNode(folder: string): Promise<StartedNode> {
  const [port, busPort] = [await freePort(), await freePort()];
  const place = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder];
  const cluster = ['--cluster-enabled', 'yes', '--cluster-port', `${busPort}`];
  const file = ['--cluster-config-file', `${port}.conf`, '--cluster-node-timeout', '2000'];
  const process = await spawnRealRedis(...place, ...cluster, ...file);
  const client = new Redis(port, '127.0.0.1');
  const stop = async (): Promise<void> => {
    client.disconnect();
    await stopProcess(process);
  };
  return { port, busPort, client, id: String(await client.cluster('MYID')), stop };
}

async function shareSlots(nodes: readonly StartedNode[]): Promise<void> {
  const share = Math.ceil(SLOTS / nodes.length);
  for (const [index, { client }] of nodes.entries()) {
    const last = Math.min(SLOTS, share * (index + 1)) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', share * index, last);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  const [first, ...others] = nodes;
  for (const { port, busPort } of others) {
    await first!.client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  }
  for (const { client } of nodes) await whole(client, nodes.length);
}

/** Nodes learn of each other by gossip, and a master waits two seconds before it serves. */
async function whole(client: Redis, size: number): Promise<void> {
  for (;;) {
    const info = String(await client.cluster('INFO'));
    if (info.includes('cluster_state:ok') && info.includes(`cluster_size:${size}`)) return;
    await pause(20);
  }
}
