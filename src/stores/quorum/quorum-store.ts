import {
  type Address,
  Client,
  type ClientOptions,
  parseAddress,
  type ScriptRunner,
} from '../../client/index.ts';
import { systemClock, systemRandom } from '../../clock/index.ts';
import { type Duration, durationMs, LockArgumentError, type LockStore } from '../../lock/index.ts';
import { ClientRunner } from '../clients/client-runner.ts';
import { type IoredisClient, ioredisLink, isIoredis } from '../clients/ioredis-link.ts';
import { linkRunner } from '../clients/link-runner.ts';
import { isNodeRedis, type NodeRedisClient, nodeRedisLink } from '../clients/node-redis-link.ts';
import { QuorumLocks } from './quorum-locks.ts';
import { QuorumNode } from './quorum-node.ts';
import { MIN_NODES, parseQuorumUrl } from './quorum-url.ts';

/**
 * Mutexes on a majority of independent Redis servers, without replication between them. The loss of a minority of servers
 * loses no lock. A node is a client of ioredis or node-redis with one connection, which stays the caller's, or an
 * address. All programs list the same nodes in the same order.
 *
 * Two clients can hold a lock at once if a process stalls, or if clocks run apart by more than 1 %: guard the resource by
 * the fence. A client that requests a lock after it was granted always gets a larger fence, unless a majority of nodes
 * loses its data.
 *
 * @throws LockArgumentError if there are fewer than three nodes, or one is neither a client nor an address.
 * @example
 * const store = quorumStore([new Redis(7001), new Redis(7002), new Redis(7003)], { maxLease: '10s' });
 * const locks = createLocks({ store, defaults: { lease: '10s' } });
 */
export function quorumStore(
  nodes: readonly (IoredisClient | NodeRedisClient | string)[],
  options: QuorumStoreOptions = {},
): LockStore {
  if (!Array.isArray(nodes)) throw new LockArgumentError('', NODES);
  checkOptions(options);
  return storeOn(nodes.map(runnerOf), options);
}

export interface QuorumStoreOptions {
  /**
   * The longest lease. A node that has restarted does not vote for this time, since leases from before may still run.
   * The first acquisition waits for it too, if all servers are new. Use the same in every program. Default 30 s.
   */
  readonly maxLease?: Duration;
  /** How long one request may take. Default 1 s. */
  readonly requestTimeout?: Duration;
}

/** A store at `redis+quorum://[user:password@]host[:port],host[:port],…[/database]`; `rediss+quorum://` for TLS. */
export function quorumUrlStore(
  url: string,
  { tls, ...options }: QuorumStoreOptions & Pick<ClientOptions, 'tls'> = {},
  clientId?: string,
): LockStore {
  const nodes = parseQuorumUrl(url).map((address) => addressRunner(address, tls));
  return storeOn(nodes, options, clientId);
}

interface LabelledRunner {
  readonly label: string;
  readonly scripts: ScriptRunner;
}

function storeOn(
  runners: readonly LabelledRunner[],
  options: QuorumStoreOptions,
  clientId = Buffer.from(systemRandom.bytes(12)).toString('base64url'),
): LockStore {
  if (runners.length < MIN_NODES) throw new LockArgumentError('', NODES);
  const { maxLease = '30s', requestTimeout = '1s' } = options;
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  const maxLeaseMs = durationMs(maxLease, 'maxLease', '', { leastMs: 1 });
  if (maxLeaseMs > MAX_LEASE_MS) {
    throw new LockArgumentError('', `maxLease is at most a day; got ${String(maxLease)}`);
  }
  const settings = { clock: systemClock, clientId, requestTimeoutMs };
  const nodes = runners.map(({ label, scripts }) => new QuorumNode(label, scripts, settings));
  return new QuorumLocks(nodes, { ...settings, random: systemRandom, maxLeaseMs });
}

/** Shorter than the TTL of a fence. */
const MAX_LEASE_MS = 86_400_000;

const NODES =
  'quorumStore needs a list of three or more nodes, each on a server of its own: clients of ioredis new Redis() or ' +
  'node-redis createClient(), or addresses such as redis://host:6379. Five survive the loss of two.';

function runnerOf(node: IoredisClient | NodeRedisClient | string, index: number): LabelledRunner {
  if (typeof node === 'string') return addressRunner(parseAddress(node), undefined);
  const label = `node ${index + 1}`;
  const link = isObject(node) && linkOf(node);
  if (!link)
    throw new LockArgumentError('', `${label} is neither a client nor an address. ${NODES}`);
  if (link.plain === undefined) {
    throw new LockArgumentError('', `${label} is a cluster or a pool. ${NODES}`);
  }
  return { label, scripts: linkRunner(link) };
}

function linkOf(client: object): ReturnType<typeof ioredisLink> | undefined {
  if (isNodeRedis(client)) return nodeRedisLink(client);
  return isIoredis(client) ? ioredisLink(client) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function addressRunner(address: Address, tls: ClientOptions['tls']): LabelledRunner {
  return { label: address.label, scripts: new ClientRunner(new Client(address, { tls })) };
}

/** Throws for an unknown option: a misspelt `maxLease` would keep a restarted node out for another time. */
function checkOptions(options: object): void {
  for (const name in options) {
    if (name === 'maxLease' || name === 'requestTimeout') continue;
    throw new LockArgumentError(
      '',
      `quorumStore does not know '${name}'. Its options are maxLease and requestTimeout.`,
    );
  }
}
