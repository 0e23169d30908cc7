import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { etcdStore } from '../src/stores/etcd/etcd-store.ts';
import { conform } from './conform.ts';
import { type EtcdCluster, startEtcd } from './real-etcd.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

/** A lease of the suite lasts 2 s, etcd's minimum, and a wake-up has 100 ms to arrive. */
const SLOWNESS = withinMs(5);

const SKIPS = {
  'takes several locks or none, and returns the same grant to a repeated request':
    'it raises a fence above the revision of etcd, which is the fence: see the test of acquireAll below',
};

vi.setConfig({ maxConcurrency: 100 });

describe.concurrent.each([1, 3])('locks on %i members of etcd', (count) => {
  let cluster: EtcdCluster;
  beforeAll(async () => {
    cluster = await startEtcd(count);
  });
  afterAll(() => cluster.stop());

  conform(
    (name) => ({
      open: async () =>
        inSlowMotion(etcdStore(cluster.endpoints, { prefix: `${name}/` }), SLOWNESS),
      elapse: (durationMs) => pause(durationMs * SLOWNESS),
    }),
    SKIPS,
  );
});
