import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocks } from '../src/index.ts';
import { type Ended, runCli } from './cli-process.ts';
import { startEtcd } from './real-etcd.ts';
import { startRealPostgres } from './real-postgres.ts';

/** A quorum is not here: new servers vote only after the longest lease, which an address cannot shorten. */
const STORES = {
  async postgres() {
    const server = await startRealPostgres();
    return { url: server.url, stop: () => server.stop() };
  },
  async etcd() {
    const cluster = await startEtcd(1);
    return { url: `etcd://${cluster.endpoints.join(',')}`, stop: () => cluster.stop() };
  },
};

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])('the command line on %s', (name) => {
  let store: { readonly url: string; stop(): Promise<void> };

  beforeAll(async () => {
    store = await STORES[name]();
  });
  afterAll(() => store.stop());

  const cli = (...args: string[]): Promise<Ended> =>
    runCli(args, { environment: { HOLDFAST_STORE: store.url, PATH: process.env['PATH'] ?? '' } });

  it('runs a command while it holds the lock', async () => {
    expect(await cli('run', 'deploy', '--', 'true')).toMatchObject({ code: 0, errors: '' });
    expect(await cli('run', 'deploy', '--', 'sh', '-c', 'exit 3')).toMatchObject({ code: 3 });
  });

  it('lists, shows and releases locks', async () => {
    await using locks = createLocks(store.url);
    const lease = await locks.mutex('order:42').acquire({ label: 'ship', lease: '1m' });
    await locks.semaphore('pool', 3).acquire({ lease: '1m' });
    expect((await cli('ls', '--quiet')).output).toBe('order:42\npool\n');
    expect((await cli('ls', 'order:*', '--quiet')).output).toBe('order:42\n');
    const { code, output } = await cli('show', 'order:42', '--json');
    expect([code, JSON.parse(output)]).toMatchObject([
      0,
      { free: false, locks: [{ kind: 'mutex', holders: [{ label: 'ship', fence: lease.fence }] }] },
    ]);
    expect(await cli('release', 'order:42')).toMatchObject({ code: 2 });
    const forced = await cli('release', 'order:42', '--force', '--reason', 'test');
    expect(forced).toMatchObject({ code: 0 });
    expect(forced.output).toContain('was taken from');
    expect(await cli('show', 'order:42')).toMatchObject({ code: 1 });
  });

  it('says that the store keeps no values, and no history', async () => {
    await using locks = createLocks(store.url);
    expect(() => locks.cache('k', { fresh: '1s' }, () => 1)).toThrow(/keeps locks only/);
    expect(await cli('history')).toMatchObject({ code: 2 });
  });
});
