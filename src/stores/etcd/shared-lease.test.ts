import { describe, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../../clock/index.ts';
import type { EtcdClient, Member } from './etcd-client.ts';
import { LEASE_KEEP_ALIVE } from './etcd-messages.ts';
import { LeaseEndedError, SharedLeases } from './shared-lease.ts';

/** A client whose member replies with these raft terms: to the renewal, and to the read after it. */
function fakeClient(): {
  client: EtcdClient;
  requests: string[];
  terms: { before: number; renewal: number; read: number };
  ttl: { seconds: number };
} {
  const requests: string[] = [];
  const terms = { before: 2, renewal: 2, read: 2 };
  const ttl = { seconds: 4 };
  const member = {
    connection: {
      get raftTerm() {
        return terms.before;
      },
    },
    async call({ path }: { path: string }) {
      const isRenewal = path === LEASE_KEEP_ALIVE.path;
      requests.push(isRenewal ? 'renew' : 'read');
      const raftTerm = isRenewal ? terms.renewal : terms.read;
      return { header: { revision: 1, raftTerm }, ttl: ttl.seconds };
    },
  };
  const client = {
    isClosed: false,
    run: (work: (each: Member) => Promise<unknown>) => work(member as unknown as Member),
    call: async () => void requests.push('grant'),
  };
  return { client: client as unknown as EtcdClient, requests, terms, ttl };
}

async function open(client: EtcdClient) {
  const clock = virtualClock();
  const leases = new SharedLeases(client, clock, seededRandom(1), 'probe');
  return { clock, leases, lease: await leases.of(3000) };
}

describe('a shared lease', () => {
  it('has a TTL a second longer than its requests, in whole seconds from 2 on', async () => {
    const { lease, leases } = await open(fakeClient().client);
    expect(lease.ttlMs).toBe(4000);
    expect((await leases.of(2001)).ttlMs).toBe(4000);
    expect((await leases.of(10)).ttlMs).toBe(2000);
    expect(await leases.of(3000)).toBe(lease);
    expect(Number.isSafeInteger(lease.id)).toBe(true);
  });

  it('is renewed only when a request needs it', async () => {
    const { client, requests } = fakeClient();
    const { clock, lease } = await open(client);
    await lease.ensure(clock.monotonicMs() + 3000);
    expect(requests).toEqual(['grant']);
    clock.advance(1500);
    await lease.ensure(clock.monotonicMs() + 3000);
    expect(requests).toEqual(['grant', 'renew', 'read']);
    expect(lease.aliveUntilMs).toBe(clock.monotonicMs() + 4000);
  });

  it.each([
    ['before the renewal', { before: 1 }],
    ['after the renewal', { read: 3 }],
  ])('is not extended by a leader that was replaced %s', async (_, changed) => {
    const { client, terms } = fakeClient();
    const { clock, lease } = await open(client);
    const { aliveUntilMs } = lease;
    clock.advance(1500);
    Object.assign(terms, changed);
    await expect(lease.ensure(clock.monotonicMs() + 3000)).rejects.toThrow('leader');
    expect(lease.aliveUntilMs).toBe(aliveUntilMs);
  });

  it('has ended when a renewal succeeds without a TTL', async () => {
    const { client, ttl } = fakeClient();
    const { clock, lease, leases } = await open(client);
    ttl.seconds = 0;
    clock.advance(1500);
    await expect(lease.ensure(clock.monotonicMs() + 3000)).rejects.toThrow(LeaseEndedError);
    expect(await leases.of(3000)).not.toBe(lease);
  });

  it('is replaced after it was abandoned', async () => {
    const { lease, leases } = await open(fakeClient().client);
    lease.abandon();
    expect(await leases.of(3000)).not.toBe(lease);
  });
});
