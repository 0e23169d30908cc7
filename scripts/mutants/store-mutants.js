// Bugs in the client side of the Redis store.
import { mutant, mutantOf, rare } from './mutant.js';

const STORE = 'src/stores/redis/redis-store.ts';
const WAITERS = 'src/stores/redis/lock-waiters.ts';
const STORE_TEST = 'src/stores/redis/redis-store.test.ts';
const HAND_OVER_TEST = 'src/stores/redis/hand-over.test.ts';
const WAITERS_TEST = 'src/stores/redis/lock-waiters.test.ts';

export const STORE_MUTANTS = [
  mutantOf('reservation: counted from the message, not from when the waiter was in the queue', [
    [
      WAITERS,
      'const sentMs = queuedAt.sentMs - earlierMs;',
      'const sentMs = this.#clock.monotonicMs() - earlierMs;',
    ],
    [
      WAITERS,
      'const sentWallMs = queuedAt.sentWallMs - earlierMs;',
      'const sentWallMs = this.#clock.wallMs() - earlierMs;',
    ],
  ]),
  rare(
    'mutex-reserved',
    mutant(
      'reservation: counted as a whole lease',
      WAITERS,
      'const earlierMs = Math.max(0, request.leaseMs - RESERVED_MS);',
      'const earlierMs = 0;',
    ),
  ),
  mutant(
    'reservation: accepted by a waiter that asked twice',
    WAITERS,
    'if (!isFirst || queuedAt === undefined) {',
    'if (queuedAt === undefined) {',
    [HAND_OVER_TEST],
  ),
  mutant(
    'reservation: a message that overtakes the reply is lost',
    WAITERS,
    '    if (!isFirst || queuedAt === undefined) {',
    '    if (queuedAt === undefined) return;\n    if (!isFirst) {',
    [HAND_OVER_TEST],
  ),
  mutant('refresh: not sent', WAITERS, '    this.#refreshIn(waiter.lock, freeInMs);\n', ''),
  mutant(
    'refresh: put off by each new waiter',
    WAITERS,
    'if (lock.timerQueue === undefined || atMs < lock.dueMs) this.#refreshes.add(lock, atMs);',
    'this.#refreshes.add(lock, atMs);',
    [WAITERS_TEST],
  ),
  mutant(
    'refresh: the loss of a place is ignored',
    WAITERS,
    '    else if (isQueued) this.#retry(waiter);\n',
    '',
    [WAITERS_TEST],
  ),
  mutant(
    'subscription: messages before it was open are not made up for',
    STORE,
    'this.#subscribing.then(refreshAll, (error',
    'this.#subscribing.then(IGNORE, (error',
    [WAITERS_TEST],
  ),
  mutant(
    'subscription: messages in a gap are not made up for',
    STORE,
    'this.scripts.listen(this.#channel, onMessage, refreshAll)',
    'this.scripts.listen(this.#channel, onMessage, IGNORE)',
    [WAITERS_TEST],
  ),
  rare(
    'mutex-stolen',
    mutant(
      'steal: the message to the former holder is ignored',
      STORE,
      '    else if (message !== undefined) this.#onLost(message.reason, message.owner);\n',
      '',
    ),
  ),
  mutant(
    'store: waiters that were served by a reply are not notified',
    STORE,
    'if (batch.lossCount === this.#lossCount) this.#waiters.served(each, batch.times);',
    '',
  ),
  mutant(
    'store: requests have no timeout',
    STORE,
    'this.#calls.add(batch, batch.times.sentMs);',
    'this.#calls.add(batch, Number.MAX_SAFE_INTEGER);',
  ),
  mutant(
    'store: a grant whose reply came after the timeout is forgotten',
    STORE,
    '      if (fence > 0) onLate?.(fence, times);\n',
    '',
    [STORE_TEST],
  ),
  mutant(
    'store: one key that is no lock fails the requests beside it',
    STORE,
    'const parts = isWrongType(error) && !batch.isOver ? groupsOf(batch.calls) : [];',
    'const parts: PendingCall[][] = [];',
    [STORE_TEST],
  ),
  mutant(
    'release: not asked for again with its fence',
    STORE,
    'if (wasHeld) resolve(true);',
    'if (wasHeld || fence > 0) resolve(wasHeld);',
    [STORE_TEST],
  ),
  mutant(
    'batch: a full one is not sent',
    'src/client/batcher.ts',
    '    if (batch !== undefined) this.#send(batch);\n',
    '',
    [STORE_TEST],
  ),
];
