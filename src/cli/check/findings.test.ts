import { describe, expect, it } from 'vitest';
import type { ServerFacts } from './facts.ts';
import { serverFindings } from './findings.ts';

const FIT: ServerFacts = {
  memory: { text: 'maxmemory:0\r\nmaxmemory_policy:noeviction\r\n' },
  replication: { text: 'role:master\r\n' },
  cluster: { text: '' },
  clock: { offsetMs: 10, marginMs: 5 },
};

const found = (facts: Partial<ServerFacts>): string[] =>
  serverFindings({ ...FIT, ...facts })
    .filter(({ state }) => state !== 'ok')
    .map(({ check, state, message }) => `${check} ${state}: ${message}`);

describe('the findings about a server', () => {
  it('are none where it is fit', () => {
    expect(found({})).toEqual([]);
    expect(found({ cluster: { text: 'cluster_state:ok\r\n' } })).toEqual([]);
  });

  it.each<[string, Partial<ServerFacts>, RegExp]>([
    ['no role', { replication: { text: '' } }, /^role unknown: INFO replication has no role$/],
    ['a replica', { replication: { text: 'role:slave\r\n' } }, /^role warning: .* is a replica/],
    [
      'a cluster that is down',
      { cluster: { text: 'cluster_state:fail\r\ncluster_slots_ok:5\r\n' } },
      /^role warning: the cluster is down \(cluster_state fail, 5 of 16384/,
    ],
    [
      'no right to ask',
      { cluster: { refusal: 'NOPERM' } },
      /^role unknown: .*CLUSTER INFO: NOPERM/,
    ],
    [
      'a slow link',
      { clock: { offsetMs: 1500, marginMs: 1500 } },
      /^clock unknown: the server took 3\.0s to answer/,
    ],
    ['another clock', { clock: { offsetMs: 9e6, marginMs: 1500 } }, /^clock warning: .* ahead of/],
    [
      'a policy with control characters',
      { memory: { text: 'maxmemory_policy:\x1b[2J\r\n' } },
      /^eviction warning: maxmemory-policy is \\x1b\[2J\./,
    ],
  ])('name %s', (_, facts, finding) => {
    expect(found(facts)).toEqual([expect.stringMatching(finding)]);
  });
});
