// Bugs in the library above the stores, and in the memory store.
import { mutant, mutantOf, rare } from './mutant.js';

const ATTEMPT = 'src/lock/attempt.ts';
const LEASE = 'src/lock/store-lease.ts';
const CORE = 'src/lock/core.ts';
const GROUP = 'src/lock/group-lock.ts';
const MEMORY = 'src/lock/memory-store.ts';
const FEATURES_TEST = 'src/stores/lock-features.test.ts';
const LOCK_TEST = 'src/lock/lock.test.ts';
const GROUP_TEST = 'src/lock/group-lock.test.ts';
const LOOSE_END_TEST = 'src/lock/loose-end.test.ts';
const REDIS_STORE_TEST = 'src/stores/redis/redis-store.test.ts';
const HAND_OVER_TEST = 'src/stores/redis/hand-over.test.ts';
const GRAPH = 'src/lock/wait-graph.ts';
const NESTED = 'src/lock/nested-wait.ts';
const GRAPH_TEST = 'src/lock/wait-graph.test.ts';
const PROCESSES_TEST = 'src/stores/redis/wait-graph.test.ts';

export const LOCK_MUTANTS = [
  mutant(
    'lease: counted from the reply',
    ATTEMPT,
    'this.#accept({ fence, sentMs: this.#sentMs, sentWallMs: this.#sentWallMs });',
    'this.#accept({ fence, sentMs: this.core.clock.monotonicMs(), sentWallMs: this.core.clock.wallMs() });',
  ),
  mutant(
    'lease: a grant that comes too late is accepted',
    ATTEMPT,
    'if (isInTime && tookMs < safeMs(this.request.leaseMs)) this.#granted',
    'if (isInTime) this.#granted',
    [LOCK_TEST],
  ),
  mutant(
    'lease: the holder is notified after its end',
    LEASE,
    'leaseMs * (1 - DRIFT) - DRIFT_MS',
    'leaseMs * (1 + 10 * DRIFT)',
  ),
  mutant('reservation: not confirmed', ATTEMPT, 'if (isReserved) lease.renew();', ''),
  mutant(
    'attempt: has no wait timeout and is not ended by close()',
    ATTEMPT,
    '      this.core.addAttempt(this);\n',
    '',
    [LOOSE_END_TEST],
  ),
  mutant(
    'attempt: sent though its signal has aborted or the library is closed',
    ATTEMPT,
    '  throwIfAborted(core, request.name, options);\n  if (isObserved',
    '  if (isObserved',
    [LOCK_TEST],
  ),
  mutant(
    'attempt: a grant after the wait timeout is accepted',
    ATTEMPT,
    'const isInTime = this.waitMs === 0 || waitedMs <= this.waitMs;',
    'const isInTime = true;',
    [LOCK_TEST],
  ),
  mutant(
    'attempt: a request that is granted after its end is not released',
    ATTEMPT,
    'if (!lease?.isTransferred || isLater) this.core.releaseUnused(this.request);',
    '',
  ),
  mutant(
    'attempt: gives up and stays in the queue',
    ATTEMPT,
    '      READY.then(() => this.core.releaseUnused(this.request));\n',
    '',
  ),
  mutant(
    'attempt: close() does not wait for the reply to one that gave up',
    ATTEMPT,
    '      this.core.track(replied, this.request.name);\n',
    '      void replied;\n',
    [LOOSE_END_TEST],
  ),
  mutant(
    'attempt: a lease that was given away is released by a late reply',
    ATTEMPT,
    'if (!lease?.isTransferred || isLater) this.core.releaseUnused(this.request);',
    'this.core.releaseUnused(this.request);',
    [LOOSE_END_TEST],
  ),
  mutant(
    'attempt: an event while a request is under way is forgotten',
    ATTEMPT,
    'if (this.#isPending) this.#mustRetry = true;',
    'if (this.#isPending) return;',
    [HAND_OVER_TEST],
  ),
  mutant(
    'attempt: a lease is not checked when a late request failed',
    ATTEMPT,
    'if (result === undefined || (',
    'if ((result !== undefined && ',
    [LOOSE_END_TEST],
  ),
  mutant(
    'attempt: a lease is not checked when a late reply to a repeated request says busy',
    ATTEMPT,
    "if (result === undefined || (result.type === 'busy' && isRepeated)) lease.renew();",
    'if (result === undefined) lease.renew();',
    [REDIS_STORE_TEST],
  ),
  mutant(
    'lease: a stolen one that was made longer stays in the queue',
    LEASE,
    'releaseUnused(this.#granted)',
    'releaseUnused(this.request)',
    [REDIS_STORE_TEST],
  ),
  mutant(
    'release: not sent again when the store did not answer',
    'src/lock/release.ts',
    'retry(core, endsInMs, ',
    'retry(core, 0, ',
    ['src/stores/redis/redis-store.test.ts'],
  ),
  mutant(
    'release: the worker renews a lease that was released',
    'src/lock/watchdog.ts',
    '    this.#worker?.drop(lease);\n',
    '',
    ['test/worker-renewal.test.ts'],
  ),
  mutantOf('renewal: goes on after the release', [
    [LEASE, '    this.#core.watchdog.drop(this);\n', ''],
    [
      LEASE,
      'if (!this.isHeld) return;\n    const { clock, store, watchdog } = this.#core;',
      'const { clock, store, watchdog } = this.#core;',
    ],
  ]),
  mutant(
    'renewal: the reply that the lease is not held is ignored',
    LEASE,
    "(isOurs ? this.#renewed(sent) : this.#lose('stolen'))",
    'this.#renewed(sent)',
    ['src/lock/store-lease.test.ts'],
  ),
  mutant(
    'renewal: counted from its reply',
    LEASE,
    '    this.sentMs = ms;\n    this.#sentWallMs = wallMs;\n',
    '    this.sentMs = this.#core.clock.monotonicMs();\n    this.#sentWallMs = this.#core.clock.wallMs();\n',
    ['src/lock/store-lease.test.ts'],
  ),
  mutant(
    'renewal: a lease is in two timer queues',
    'src/lock/timer-queue.ts',
    'item.unschedule();\n    item.timerQueue = this;',
    'item.timerQueue = this;',
    ['src/lock/timer-queue.test.ts'],
  ),
  mutant(
    'transfer: the giver goes on holding',
    LEASE,
    '    this.#finish(new NotHeldError(this.name));\n    return transferText',
    '    return transferText',
  ),
  mutant(
    'close: leases are not released',
    CORE,
    'await Promise.all(leases.map((lease) => lease.release()));',
    '',
  ),
  mutant(
    'run: starts its callback with a lease that was lost',
    'src/lock/lock.ts',
    'if (lease.isHeld) return lease;',
    'return lease;',
    [LOCK_TEST],
  ),
  mutant(
    'all: a lock that was lost while others were waited for is not asked for again',
    GROUP,
    'if (!(error instanceof LockLostError)) throw error;',
    'throw error;',
    [GROUP_TEST],
  ),
  mutant(
    'all: one lock that stays busy leaves the others held',
    GROUP,
    'await Promise.all(members.map((member) => member.release()));\n    return null;',
    'return null;',
    [GROUP_TEST],
  ),
  mutant(
    'deadlock: not noticed',
    'src/lock/run-context.ts',
    "return isShort(core, request, (holder) => stuck.has(holder)) ? 'cycle' : undefined;",
    'return undefined;',
    ['src/lock/run-context.test.ts'],
  ),
  mutant(
    'memory: a request passes the waiters',
    MEMORY,
    'return this.#queue.first !== undefined;',
    'return false;',
    ['src/lock/memory-store.test.ts'],
  ),
  mutant(
    'memory: leases do not end',
    MEMORY,
    'if (holder.deadlineMs <= nowMs) ended',
    'if (holder.deadlineMs < 0) ended',
    ['src/lock/memory-store.test.ts'],
  ),
  mutant(
    'keepFor: the lock is released',
    LEASE,
    'if (this.#end === undefined && this.#keptMs > 0) return this.#keep();',
    '',
    [FEATURES_TEST],
  ),
  rare(
    'mutex-kept',
    mutant(
      'keepFor: counted from the release',
      LEASE,
      'return this.#options.keepForMs - this.#heldMs();',
      'return this.#options.keepForMs;',
    ),
  ),
  rare(
    'mutex-kept',
    mutant(
      'keepFor: released when its reply was lost',
      LEASE,
      '      isKept = leaseMs > 0;\n',
      '      isKept = leaseMs > 0 && !isKept;\n',
    ),
  ),
  rare(
    'mutex-kept',
    mutant(
      'keepFor: counted anew when its reply was lost',
      LEASE,
      '      const leaseMs = this.#keptMs;\n      isKept',
      '      const leaseMs = isKept ? this.#options.keepForMs : this.#keptMs;\n      isKept',
    ),
  ),
  mutant(
    'contended: aborts after the release',
    LEASE,
    '    if (this.#contended !== undefined) this.#core.store.unwatch?.(this.request);\n',
    '',
    [FEATURES_TEST],
  ),
  mutant(
    'extend: a longer lease is forgotten at the next renewal',
    LEASE,
    'if (leaseMs > this.request.leaseMs) this.request = { ...this.request, leaseMs };',
    '',
    [FEATURES_TEST],
  ),
  mutant(
    'attempt: connecting counts as waiting',
    CORE,
    'const connectMs = this.#unconnected === undefined ? 0 : MAX_CONNECT_MS;',
    'const connectMs = 0;',
    ['src/stores/redis/redis-store.test.ts'],
  ),
  mutant(
    'extend: a shorter renewal counts with the longer lease',
    LEASE,
    '    this.confirmedMs = leaseMs;\n    return true;',
    '    this.confirmedMs = this.request.leaseMs;\n    return true;',
    ['src/stores/redis/redis-store.test.ts'],
  ),
  mutant(
    'deadlock between processes: reported after one read',
    GRAPH,
    'const confirmed = cycleOf(second, owner);',
    'const confirmed = cycleOf(first, owner);',
    [GRAPH_TEST],
  ),
  mutant(
    'deadlock between processes: every member that finds it fails',
    NESTED,
    'if (cycle?.victim === this.#request.owner) this.#onDeadlock(cycle);',
    'if (cycle) this.#onDeadlock(cycle);',
    [PROCESSES_TEST],
  ),
  mutant(
    'deadlock between processes: holders that can release count as stuck',
    GRAPH,
    'if (held.has(leaseId(id, owner))) left -= permits;',
    'left -= permits;',
    [PROCESSES_TEST],
  ),
  mutant(
    'deadlock between processes: the member that should fail is not notified',
    NESTED,
    '      await this.#store.checkWait(this.#request, cycle.victim);\n',
    '',
    [PROCESSES_TEST],
  ),
  mutant(
    'deadlock between processes: requests in front are ignored',
    GRAPH,
    'return left < waiter.permits || left < waiter.aheadPermits;',
    'return left < waiter.permits;',
    [PROCESSES_TEST],
  ),
  mutant(
    'deadlock between processes: waiters of dead clients count',
    'src/stores/redis/wait-script.ts',
    'if leftOf[alive] > ${PASSED_OVER_MS} then',
    'if leftOf[alive] > 0 then',
    [PROCESSES_TEST],
  ),
];
