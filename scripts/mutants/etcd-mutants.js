// Bugs in the locks on etcd.
import { mutant, mutantOf } from './mutant.js';

const STORE = 'src/stores/etcd/etcd-store.ts';
const REQUESTS = 'src/stores/etcd/etcd-requests.ts';
const ENTRIES = 'src/stores/etcd/own-entries.ts';
const WATCHER = 'src/stores/etcd/queue-watcher.ts';
const ACQUISITIONS = 'src/stores/etcd/acquisitions.ts';
const TAKEOVERS = 'src/stores/etcd/takeovers.ts';
const RENEWALS = 'src/stores/etcd/renewals.ts';
const ENTRY = 'src/stores/etcd/entry.ts';
const QUEUE = 'src/stores/etcd/lock-queue.ts';
const LEASE = 'src/stores/etcd/shared-lease.ts';
const CLIENT = 'src/stores/etcd/etcd-client.ts';
const WATCH = 'src/stores/etcd/watch-stream.ts';
const CONFORMANCE = 'test/etcd-store.test.ts';
const FEATURES = 'test/etcd-features.test.ts';
const LEASE_TEST = 'src/stores/etcd/shared-lease.test.ts';
const QUEUE_TEST = 'src/stores/etcd/lock-queue.test.ts';
const CODEC_TEST = 'src/stores/etcd/protobuf.test.ts';

export const ETCD_MUTANTS = [
  mutant(
    'etcd: the fence of a waiter is the revision at which it entered the queue',
    WATCHER,
    '    this.#entries.hold(own, reply.header.revision, sentMs);\n    return true;',
    '    this.#entries.hold(own, reply.header.revision, sentMs, modRevision);\n    return true;',
    [FEATURES],
  ),
  mutant(
    'etcd: a waiter is confirmed although the front has changed',
    WATCHER,
    'compare: [isUnchanged(own.key, modRevision), queue.keys.frontUnchangedSince(revision)],',
    'compare: [isUnchanged(own.key, modRevision)],',
    [CONFORMANCE],
  ),
  mutant(
    'etcd: an adopted lock goes to the end of the queue',
    TAKEOVERS,
    'const own = this.#entries.add({ ...request, permits: giver.permits }, giver.place);',
    'const own = this.#entries.add({ ...request, permits: giver.permits });',
    [CONFORMANCE],
  ),
  mutantOf(
    'etcd: put events count as deletions',
    [
      [WATCHER, 'if (type === DELETE) this.#keyDeleted', 'if (type <= DELETE) this.#keyDeleted'],
      [WATCH, 'filters: [filter]', 'filters: []'],
    ],
    [CONFORMANCE],
  ),
  mutant(
    'etcd: zeros of repeated fields are not encoded',
    'src/stores/etcd/protobuf.ts',
    'for (const each of given as unknown[]) writer.field(field, each);',
    'for (const each of (given as unknown[]).filter(Boolean)) writer.field(field, each);',
    [CODEC_TEST],
  ),
  mutant(
    'etcd: a request that does not wait passes over the waiters',
    ACQUISITIONS,
    'compare: [keys.unchangedSince(revision)],\n        success: [this.#entries.put(own, lease)],',
    'compare: [],\n        success: [this.#entries.put(own, lease)],',
    [CONFORMANCE],
  ),
  mutant(
    'etcd: an entry is admitted if its own permits fit',
    ENTRY,
    'if (sum > entry.slots) break;',
    'if (entry.permits > entry.slots) break;',
    [CONFORMANCE],
  ),
  mutant(
    'etcd: a lease that is over by the clock of its process is not ended',
    ENTRIES,
    "if (own.state !== 'held' && own.state !== 'kept') {",
    "if (own.state !== 'kept') {",
    [CONFORMANCE],
  ),
  mutant(
    'etcd: a renewal without a TTL counts as a success',
    LEASE,
    'if (ttl <= 0 && isLed) {',
    'if (ttl < 0 && isLed) {',
    [LEASE_TEST],
  ),
  mutant(
    'etcd: a renewal counts although the leader was replaced',
    LEASE,
    'if (isLed && ttl > 0) {',
    'if (ttl > 0) {',
    [LEASE_TEST],
  ),
  mutant(
    'etcd: an acquisition does not renew a lease that ends too early for it',
    REQUESTS,
    '          lease.ensure(sentMs + leaseMs),\n        ]);\n        return { reply, lease };',
    '        ]);\n        return { reply, lease };',
    [FEATURES],
  ),
  mutant(
    'etcd: the lease of a request with an unknown outcome is still renewed',
    LEASE,
    '    this.#isAbandoned = true;',
    '    this.#isAbandoned = false;',
    [LEASE_TEST, FEATURES],
  ),
  mutant(
    'etcd: the key of a request with an unknown outcome is used again',
    REQUESTS,
    '    this.#doubtCount++;\n    lease?.abandon();',
    '    lease?.abandon();',
    [FEATURES],
  ),
  mutant(
    'etcd: a repeated release does not see that the lock was released by force',
    STORE,
    ' || (mark?.modRevision ?? 0) > fence',
    '',
    [CONFORMANCE],
  ),
  mutant(
    'etcd: an entry whose deletion arrived before the reply is added',
    QUEUE,
    'if (isUnknown && !isDeleted) this.#add(entry);',
    'if (isUnknown) this.#add(entry);',
    [QUEUE_TEST],
  ),
  mutant(
    'etcd: a watch starts with the present after a lost connection',
    WATCH,
    'startRevision: nextRevision,',
    'startRevision: 0 * nextRevision,',
    [FEATURES],
  ),
  mutant(
    'etcd: events that were compacted are not made up for',
    WATCH,
    '      watch.listener.gap();\n',
    '',
    [FEATURES],
  ),
  mutant(
    'etcd: an expired token is used again',
    CLIENT,
    '      this.#login = undefined;\n      this.#metadata = undefined;',
    '',
    [FEATURES],
  ),
  mutant(
    'etcd: a kept lock ends with the leases of its process',
    RENEWALS,
    'const lease = await this.#requests.leases.alone(request.leaseMs);',
    'const lease = own.lease!;',
    [FEATURES],
  ),
];
