// Bugs in the store on memcached.
import { mutant, mutantOf } from './mutant.js';

const STORE = 'src/stores/memcached/memcached-store.ts';
const CLIENT = 'src/stores/memcached/meta-client.ts';
const ITEM = 'src/stores/memcached/lock-item.ts';
const QUEUE = 'src/stores/memcached/poll-queue.ts';
const STORE_TEST = 'test/memcached-store.test.ts';
const FAULTS_TEST = 'test/memcached-faults.test.ts';
const ITEM_TEST = 'src/stores/memcached/lock-item.test.ts';
const QUEUE_TEST = 'src/stores/memcached/poll-queue.test.ts';

export const MEMCACHED_MUTANTS = [
  mutantOf(
    'memcached: a cas number is used after a restart of the server',
    [
      [
        STORE,
        'grant?.item !== undefined && grant.item.connectionId === this.#client.connectionId',
        'grant?.item !== undefined',
      ],
      [
        CLIENT,
        'connectionId !== undefined && connectionId !== connection.id',
        'connectionId === -1',
      ],
    ],
    [FAULTS_TEST],
  ),
  mutant(
    'memcached: a release deletes whatever item there is',
    STORE,
    'deleteCommand(key, cas), connectionId',
    "deleteCommand(key, cas).replace(/ C.*/, ''), connectionId",
    [STORE_TEST],
  ),
  mutant(
    'memcached: a release does not compare the owner',
    STORE,
    'if (!isOwnedBy(item, owner)) return false;',
    '',
    [FAULTS_TEST],
  ),
  mutant(
    'memcached: a renewal does not compare the owner',
    STORE,
    'accepts: (item) => isOwnedBy(item, request.owner),',
    'accepts: () => true,',
    [STORE_TEST],
  ),
  mutant(
    'memcached: a second renewal at the same time counts as a loss',
    STORE,
    '      item = await this.#read(key);\n',
    '      return false;\n',
    [STORE_TEST],
  ),
  mutant(
    'memcached: a renewal shortens a lease',
    STORE,
    'this.#renew(request, ({ leftSeconds }) => Math.max(expirySeconds(request), leftSeconds))',
    'this.#renew(request, () => expirySeconds(request))',
    [STORE_TEST],
  ),
  mutant(
    'memcached: a grant is not recognised by its repeated request',
    STORE,
    'stealReason !== undefined || isOwnedBy(found, owner)',
    'stealReason !== undefined',
    [FAULTS_TEST],
  ),
  mutant(
    'memcached: a release whose reply was lost counts as not held',
    STORE,
    'const wasSent = grant?.isReleased ?? false;',
    'const wasSent = false;',
    [FAULTS_TEST],
  ),
  mutant(
    'memcached: a holder that lost the lock is not queued',
    STORE,
    '        if (waiter !== undefined) this.#polls.enter(key, owner, waiter);\n        this.#grants',
    '        this.#grants',
    [STORE_TEST],
  ),
  mutant(
    'memcached: an item ends before its lease',
    ITEM,
    'const CLOCK_ERROR_SECONDS = 2;',
    'const CLOCK_ERROR_SECONDS = 1;',
    [ITEM_TEST],
  ),
  mutant(
    'memcached: a long lease becomes a date of 1970',
    ITEM,
    'if (seconds <= MAX_EXPIRY_SECONDS) return seconds;',
    'return seconds;',
    [ITEM_TEST],
  ),
  mutant(
    'memcached: a name ends the command line',
    ITEM,
    'PLAIN.test(key) && key.length <= MAX_KEY_BYTES',
    'key.length <= MAX_KEY_BYTES',
    [ITEM_TEST],
  ),
  mutant(
    'memcached: every waiter polls',
    QUEUE,
    '    if (first === owner) {\n',
    '    if (first !== undefined) {\n',
    [QUEUE_TEST],
  ),
  mutant(
    'memcached: a process keeps the lock from others',
    QUEUE,
    'nowMs - lock.turnsFromMs <= MAX_TURNS_MS',
    'lock.waiters.size > 0',
    [QUEUE_TEST],
  ),
  mutant(
    'memcached: waiters are not notified of a failed poll',
    QUEUE,
    "    for (const { waiter } of others) waiter.notify({ type: 'failed', error });\n",
    '    void others;\n',
    [QUEUE_TEST],
  ),
  mutant(
    'memcached: a request without a reply hangs',
    CLIENT,
    'this.#timeouts.add(pending, nowMs);',
    '',
    [FAULTS_TEST],
  ),
  mutant(
    'memcached: a lease shows the fence 0',
    'src/lock/lease.ts',
    'if (fence > 0) return fence;',
    'return fence;',
    [STORE_TEST],
  ),
];
