import type { AcquireOptions, Lease, Lock, Locks, ReleaseOutcome } from '../../lock/index.ts';
import { LockError } from '../../lock/index.ts';
import { RESERVED_MS } from '../../stores/index.ts';
import type { Text } from '../recipe.ts';
import type { Client, Held } from './client.ts';

/** Tasks that use one lock, in one or more processes that each run the library. */
export interface Scenario {
  readonly name: string;
  readonly about: Text;
  /** The key of the lock in the store, and its number of slots. */
  readonly key: string;
  readonly slots: number;
  /** Whether the locks of each process end with a session. */
  readonly hasSessions?: boolean;
  readonly clients: readonly (readonly Task[])[];
}

export interface Task {
  readonly run: (client: Client) => Promise<Ending>;
  /** The allowed endings of a run without faults and delays. */
  readonly calm: readonly Ending[];
  /** The allowed endings of any run. */
  readonly any: readonly Ending[];
}

/** The outcome of the release, or the code of the error before it. */
export type Ending = ReleaseOutcome | LockError['code'];

const LEASE_MS = 3000;
const WORK_MS = 1000;
const SHORT_WORK_MS = 300;
/** When the waiter sends its third request: two leases and 2 ms after its first. */
const THIRD_REQUEST_MS = 2 * LEASE_MS + 2;
const ENDLESS = Number.POSITIVE_INFINITY;
const READERS = 2 ** 30;

interface UseSettings {
  readonly permits?: number;
  readonly workMs?: number;
  readonly options?: AcquireOptions;
  /** The allowed endings. A task that waits without limit is always served, unless its own process crashes. */
  readonly calm?: readonly Ending[];
  readonly any?: readonly Ending[];
}

const SERVED: readonly Ending[] = ['released', 'not-held', 'unknown'];

/** Acquires the lock, works, and releases it. */
function use(lock: (locks: Locks) => Lock, settings: UseSettings = {}): Task {
  const {
    permits = 1,
    workMs = WORK_MS,
    options = {},
    calm = ['released'],
    any = SERVED,
  } = settings;
  return task(calm, any, async (client) => {
    const lease = await lock(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS, ...options });
    return work(client, lease, permits, workMs);
  });
}

async function work(
  client: Client,
  lease: Lease,
  permits: number,
  workMs: number,
): Promise<Ending> {
  const held = client.enter(lease, permits);
  await client.sleep(workMs);
  return client.release(held);
}

/** Runs the task several times, until an ending is not one of `calm`. */
function again(times: number, { run, calm, any }: Task): Task {
  return task(calm, any, async (client) => {
    let ending: Ending = calm[0]!;
    for (let time = 0; time < times && calm.includes(ending); time++) ending = await run(client);
    return ending;
  });
}

/** Starts the task after this time. */
function after(delayMs: number, { run, ...task }: Task): Task {
  return {
    ...task,
    async run(client) {
      await client.sleep(delayMs);
      return run(client);
    },
  };
}

/** Starts the task after 1 ms, when the other tasks have sent their first request. */
function soon(task: Task): Task {
  return after(1, task);
}

function task(
  calm: readonly Ending[],
  any: readonly Ending[],
  body: (client: Client) => Promise<Ending>,
): Task {
  const run = (client: Client): Promise<Ending> =>
    body(client).catch((error: unknown) => {
      if (error instanceof LockError) return error.code;
      throw error;
    });
  return { calm, any, run };
}

const mutex = (locks: Locks): Lock => locks.mutex('foo');
const read = (locks: Locks): Lock => locks.readWrite('foo').read;
const write = (locks: Locks): Lock => locks.readWrite('foo').write;
const semaphore =
  (take: number) =>
  (locks: Locks): Lock =>
    locks.semaphore('foo', 2, { permits: take });

const unrenewed = use(mutex, {
  workMs: 3000,
  options: { lease: 4 * RESERVED_MS, renew: false },
});

/** Does not renew, and works until its signal aborts. */
const untilSignalled = task(['not-held'], SERVED, async (client) => {
  const lease = await mutex(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS, renew: false });
  const held = client.enter(lease, 1);
  await signalled(held);
  return client.release(held);
});

function signalled(held: Held): Promise<void> {
  held.isSignalled = false;
  return new Promise((resolve) => {
    held.lease.signal.addEventListener('abort', () => {
      held.isSignalled = true;
      resolve();
    });
    if (held.lease.signal.aborted) {
      held.isSignalled = true;
      resolve();
    }
  });
}

/** Aborts its own signal after 700 ms of waiting. */
const aborting = task(['aborted', 'released'], [...SERVED, 'aborted'], async (client) => {
  const controller = new AbortController();
  client.clock.setTimer(700, () => controller.abort());
  const { signal } = controller;
  const lease = await mutex(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS, signal });
  return work(client, lease, 1, WORK_MS);
});

const timingOut = use(mutex, {
  options: { wait: 600 },
  calm: ['released', 'timeout'],
  any: [...SERVED, 'timeout', 'unavailable'],
});

/** Closes the library while it holds the lock, or waits for it. */
const closing = task(
  ['aborted', 'released', 'not-held'],
  [...SERVED, 'aborted'],
  async (client) => {
    client.clock.setTimer(500, () => void client.close());
    const lease = await mutex(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS });
    return work(client, lease, 1, WORK_MS);
  },
);

/** Transfers its lease to another process. */
const transferring = task(['not-held'], SERVED, async (client) => {
  const lease = await mutex(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS });
  const held = client.enter(lease, 1);
  await client.sleep(500);
  client.leave(held);
  if (lease.isHeld) {
    client.shared.set('transfer', lease.transfer());
    client.mayLeaveLeases = true;
  }
  return client.release(held);
});

const adopting = task(
  ['released'],
  [...SERVED, 'not-held', 'unavailable', 'lost'],
  async (client) => {
    for (let tries = 0; !client.shared.has('transfer'); tries++) {
      if (tries === 50) return 'not-held';
      await client.sleep(200);
    }
    const lease = await client.locks.adopt(client.shared.get('transfer')!);
    return work(client, lease, 1, WORK_MS);
  },
);

/** Resolves after this time, or when the signal aborts. */
function sleepUntil(client: Client, durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = client.clock.setTimer(durationMs, resolve);
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

/** Holds a lock that another client may steal. */
const robbed = task(['released', 'not-held'], SERVED, async (client) => {
  const lease = await mutex(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS });
  const held = client.enter(lease, 1);
  void signalled(held);
  await sleepUntil(client, WORK_MS, lease.signal);
  return client.release(held);
});

/** Steals the lock while another client works. */
const stealing = task(['released'], SERVED, async (client) => {
  const options = { lease: LEASE_MS, wait: ENDLESS, steal: true, reason: 'the lab' };
  const lease = await mutex(client.locks).acquire(options);
  return work(client, lease, 1, SHORT_WORK_MS);
});

/** Works until another client waits for the lock, or for the whole time. */
const polite = (lock: (locks: Locks) => Lock): Task =>
  task(['released'], SERVED, async (client) => {
    const lease = await lock(client.locks).acquire({ lease: LEASE_MS, wait: ENDLESS });
    const held = client.enter(lease, 1);
    await sleepUntil(client, 2 * WORK_MS, client.watch(held));
    // The work that a polite holder still finishes.
    await client.sleep(1);
    return client.release(held);
  });

/** A job that runs once in `keepForMs`: takes the lock if it is free, works, and leaves it taken. */
const oncePerTick = (keepForMs: number, options: AcquireOptions): Task =>
  task(['kept', 'timeout'], [...SERVED, 'kept', 'timeout', 'unavailable'], async (client) => {
    const requestedMs = client.clock.wallMs();
    const keepFor = { requestedMs, durationMs: keepForMs };
    const lease = await mutex(client.locks).acquire({
      lease: LEASE_MS,
      keepFor: keepForMs,
      ...options,
    });
    const held = client.enter(lease, 1, keepFor);
    await client.sleep(SHORT_WORK_MS);
    return client.release(held);
  });

const MUTEX = { key: 'lock:{foo}', slots: 1 } as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'mutex',
    about: { en: 'Two processes take turns.', zh: '两个进程轮流持锁。' },
    ...MUTEX,
    clients: [[use(mutex)], [use(mutex)]],
  },
  {
    name: 'mutex-three',
    about: { en: 'Three processes take turns.', zh: '三个进程轮流持锁。' },
    ...MUTEX,
    clients: [[use(mutex)], [use(mutex)], [use(mutex)]],
  },
  {
    name: 'mutex-tasks',
    about: {
      en: 'Two tasks of one process and one of another take turns.',
      zh: '一个进程的两个任务与另一个进程轮流持锁。',
    },
    ...MUTEX,
    clients: [[use(mutex), use(mutex)], [use(mutex)]],
  },
  {
    name: 'mutex-renewed',
    about: {
      en: 'The work takes longer than the lease, and ends when the waiter repeats its request.',
      zh: '工作时间超过租约，结束时等待者正好重新发出请求。',
    },
    ...MUTEX,
    clients: [[soon(use(mutex))], [use(mutex, { workMs: THIRD_REQUEST_MS })]],
  },
  {
    name: 'mutex-reserved',
    about: {
      en: 'Leases without renewal, longer than the reservation for the next waiter.',
      zh: '租约不续期，且比为下一个客户端预留的时间更长。',
    },
    ...MUTEX,
    clients: Array.from({ length: 3 }, () => [unrenewed]),
  },
  {
    name: 'mutex-signalled',
    about: {
      en: 'No holder renews; each works until its signal aborts.',
      zh: '都不续期，一直工作到信号触发为止。',
    },
    ...MUTEX,
    clients: [[untilSignalled], [untilSignalled]],
  },
  {
    name: 'mutex-timeouts',
    about: {
      en: 'One process holds, one waits with a timeout, one aborts by its signal.',
      zh: '一个持锁，一个限时等待，一个用信号放弃。',
    },
    ...MUTEX,
    clients: [[use(mutex)], [timingOut], [aborting]],
  },
  {
    name: 'mutex-closing',
    about: {
      en: 'A process closes the library while it holds the lock or waits for it.',
      zh: '进程在持锁或等待时关闭本库。',
    },
    ...MUTEX,
    clients: [[closing], [use(mutex)], [closing]],
  },
  {
    name: 'mutex-adopted',
    about: {
      en: 'A lease is transferred from one process to another while a third waits.',
      zh: '租约从一个进程转交给另一个，第三个在等待。',
    },
    ...MUTEX,
    clients: [[transferring], [adopting], [use(mutex)]],
  },
  {
    name: 'mutex-stolen',
    about: {
      en: 'Three processes take turns, and a fourth steals the lock twice.',
      zh: '三个进程轮流持锁，第四个两次强行取走锁。',
    },
    ...MUTEX,
    clients: [[robbed], [robbed], [robbed], [again(2, after(500, stealing))]],
  },
  {
    name: 'mutex-polite',
    about: {
      en: 'Each holder releases the lock early when another process waits.',
      zh: '有别的进程等待时，持有者提前释放。',
    },
    ...MUTEX,
    clients: [[polite(mutex)], [after(300, polite(mutex))], [after(301, polite(mutex))]],
  },
  {
    name: 'semaphore-polite',
    about: {
      en: 'Two permits; each holder releases its permit early when another process waits.',
      zh: '两个许可，有别的进程等待时，持有者提前释放。',
    },
    key: 'semaphore:{foo}',
    slots: 2,
    clients: [
      [polite(semaphore(1))],
      [soon(polite(semaphore(1)))],
      [after(300, use(semaphore(2), { permits: 2 }))],
    ],
  },
  {
    name: 'mutex-kept',
    about: {
      en: 'Jobs that start one after the other, of which one runs in each 5 s, and a process that waits.',
      zh: '任务先后启动，每 5 秒只运行一个；另有一个进程在等待。',
    },
    ...MUTEX,
    clients: [
      [oncePerTick(5000, { wait: 0 })],
      [after(400, oncePerTick(5000, { wait: 0 }))],
      [after(4000, oncePerTick(5000, { wait: 0 }))],
      [soon(use(mutex))],
    ],
  },
  {
    name: 'mutex-kept-briefly',
    about: {
      en: 'Jobs that keep the lock for 600 ms, and wait for it.',
      zh: '任务让锁保持占用 600 毫秒，并等待它。',
    },
    ...MUTEX,
    clients: [0, 1, 50].map((delayMs) => [after(delayMs, oncePerTick(600, { wait: ENDLESS }))]),
  },
  {
    name: 'mutex-crowd',
    about: {
      en: 'Two tasks of each of four processes take turns, several times.',
      zh: '四个进程各有两个任务，多次轮流持锁。',
    },
    ...MUTEX,
    clients: Array.from({ length: 4 }, () => [again(3, use(mutex)), again(2, use(mutex))]),
  },
  {
    name: 'mutex-sessions',
    about: {
      en: 'Three processes take turns, and their locks end with their sessions.',
      zh: '三个进程轮流持锁，锁随各自的会话结束。',
    },
    ...MUTEX,
    hasSessions: true,
    clients: [[use(mutex)], [use(mutex)], [use(mutex)]],
  },
  {
    name: 'semaphore-sessions',
    about: {
      en: 'Two permits and three processes, whose permits end with their sessions.',
      zh: '两个许可、三个进程，许可随各自的会话结束。',
    },
    key: 'semaphore:{foo}',
    slots: 2,
    hasSessions: true,
    clients: [[use(semaphore(1))], [use(semaphore(2), { permits: 2 })], [use(semaphore(1))]],
  },
  {
    name: 'read-write',
    about: { en: 'Two read, one writes.', zh: '两个读者，一个写者。' },
    key: 'rw:{foo}',
    slots: READERS,
    clients: [[use(read)], [use(write, { permits: READERS })], [use(read)]],
  },
  {
    name: 'semaphore',
    about: {
      en: 'Two permits; one process takes both, one works for longer than its lease.',
      zh: '两个许可，其中一个进程取两个，另一个的工作时间超过租约。',
    },
    key: 'semaphore:{foo}',
    slots: 2,
    clients: [
      [use(semaphore(1), { workMs: 4000 })],
      [use(semaphore(2), { permits: 2 })],
      [use(semaphore(1))],
    ],
  },
];
