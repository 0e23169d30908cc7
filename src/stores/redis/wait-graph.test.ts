import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { elapse, gate, settle } from '../../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { DeadlockError, type Lock, Locks, LockTimeoutError } from '../../lock/index.ts';
import { type RunScript, readLocks, scanLocks } from '../lists/lock-list.ts';
import { engineRunner } from './engine-runner.ts';
import type { KeyOptions } from './lock-keys.ts';
import { RedisStore } from './redis-store.ts';
import { WAIT_SCRIPT } from './wait-script.ts';

/** The locks of one process, on the engine that all share. */
interface Process {
  readonly locks: Locks;
  /** The arguments of each call of the lock script. */
  readonly calls: string[][];
  losesMessages: boolean;
  /** Its requests get no reply any more. */
  die(): void;
}

let clock: VirtualClock;
let engine: Engine;
let processes: Process[];

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  processes = [];
});

afterEach(async () => {
  await Promise.all(processes.map(({ locks }) => locks.close()));
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

function start(clientId: string, keys: KeyOptions = {}): Process {
  const runner = engineRunner(engine);
  let isDead = false;
  const scripts: typeof runner = {
    ...runner,
    async run(script, keys, args) {
      if (isDead) throw new Error('dead');
      started.calls.push([...args]);
      return runner.run(script, keys, args);
    },
    listen: (channel, onMessage, onGap) =>
      runner.listen(channel, (text) => started.losesMessages || onMessage(text), onGap),
  };
  const store = new RedisStore(scripts, { clock, clientId, requestTimeoutMs: 2000, keys });
  const random = seededRandom(processes.length);
  const started: Process = {
    locks: new Locks({ store, clock, random }),
    calls: [],
    losesMessages: false,
    die() {
      isDead = true;
    },
  };
  processes.push(started);
  return started;
}

function startThree(): [Locks, Locks, Locks] {
  return [start('p1').locks, start('p2').locks, start('p3').locks];
}

type Result = 'done' | 'deadlock' | 'timeout' | 'failed' | 'waiting';

interface Task {
  result: Result;
  error: Error | undefined;
}

/** Holds the first lock, and requests the second one inside its callback when the gate opens. */
function nest(outer: Lock, inner: Lock, go: Promise<void>, wait: string | number = '1h'): Task {
  const task: Task = { result: 'waiting', error: undefined };
  const options = { wait: wait as '1h' };
  const nested = outer.run(async () => {
    await go;
    await inner.run(() => {}, options);
  }, options);
  nested.then(
    () => {
      task.result = 'done';
    },
    (error: Error) => {
      task.error = error;
      if (error instanceof DeadlockError) task.result = 'deadlock';
      else task.result = error instanceof LockTimeoutError ? 'timeout' : 'failed';
    },
  );
  return task;
}

/** The results, in any order. */
function resultsOf(...tasks: readonly Task[]): Result[] {
  return tasks.map(({ result }) => result).sort();
}

async function open({ open: go }: { open(): void }): Promise<void> {
  await settle();
  go();
  await settle();
}

describe('a deadlock between processes', () => {
  it('of two mutexes in opposite order is reported to one process within 200 ms', async () => {
    const [one, two] = startThree();
    const go = gate();
    const first = nest(one.mutex('a'), one.mutex('b'), go.opened);
    const second = nest(two.mutex('b'), two.mutex('a'), go.opened);
    await open(go);
    await elapse(clock, 200);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
    const { pid } = process;
    expect(second.error?.message).toMatch(
      new RegExp(
        `^waiting for lock 'a' would never end: \\S+ pid ${pid} holds 'b' and waits for 'a'; ` +
          `\\S+ pid ${pid} holds 'a' and waits for 'b'\\. Take locks in one order`,
      ),
    );
  });

  it('is reported to the same process if that one waits first, within 300 ms', async () => {
    const [one, two] = startThree();
    const [early, late] = [gate(), gate()];
    const second = nest(two.mutex('b'), two.mutex('a'), early.opened);
    const first = nest(one.mutex('a'), one.mutex('b'), late.opened);
    await open(early);
    await elapse(clock, 5200, 104);
    await open(late);
    await elapse(clock, 300);
    expect([first.result, second.result]).toEqual(['done', 'deadlock']);
  });

  it('is reported within 1.5 s if the message to that process is lost', async () => {
    const [one, two] = startThree();
    processes[1]!.losesMessages = true;
    const [early, late] = [gate(), gate()];
    const second = nest(two.mutex('b'), two.mutex('a'), early.opened);
    const first = nest(one.mutex('a'), one.mutex('b'), late.opened);
    await open(early);
    await elapse(clock, 5200, 104);
    await open(late);
    await elapse(clock, 300);
    expect(resultsOf(first, second)).toEqual(['waiting', 'waiting']);
    await elapse(clock, 1500);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('of three processes is reported to one of them', async () => {
    const [one, two, three] = startThree();
    const go = gate();
    const tasks = [
      nest(one.mutex('a'), one.mutex('b'), go.opened),
      nest(two.mutex('b'), two.mutex('c'), go.opened),
      nest(three.mutex('c'), three.mutex('a'), go.opened),
    ];
    await open(go);
    await elapse(clock, 400);
    expect(resultsOf(...tasks)).toEqual(['deadlock', 'done', 'done']);
  });

  it('is not reported to a process that waits for a member and blocks none', async () => {
    const [one, two, three] = startThree();
    const go = gate();
    const outside = nest(three.mutex('c'), three.mutex('a'), go.opened);
    const first = nest(one.mutex('a'), one.mutex('b'), go.opened);
    const second = nest(two.mutex('b'), two.mutex('a'), go.opened);
    await open(go);
    await elapse(clock, 400);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
    expect(outside.result).toBe('done');
  });

  it('of a reader, a writer and a mutex is reported', async () => {
    const [one, two] = startThree();
    const go = gate();
    const first = nest(one.readWrite('book').read, one.mutex('m'), go.opened);
    const second = nest(two.mutex('m'), two.readWrite('book').write, go.opened);
    await open(go);
    await elapse(clock, 300);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('is found through a writer that waits in front of a reader', async () => {
    const [one, two, three] = startThree();
    const [go, later] = [gate(), gate()];
    const first = nest(one.readWrite('book').read, one.mutex('m'), go.opened);
    const second = nest(two.mutex('m'), two.readWrite('book').read, later.opened);
    await settle();
    const writer = three.readWrite('book').write.run(() => 'written');
    await open(go);
    await open(later);
    await elapse(clock, 400);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
    expect(await writer).toBe('written');
  });

  it('is not reported while a holder of a semaphore outside of it can release', async () => {
    const [one, two, three] = startThree();
    const [go, end] = [gate(), gate()];
    const first = nest(one.semaphore('s', 2), one.mutex('m'), go.opened);
    const second = nest(two.mutex('m'), two.semaphore('s', 2), go.opened);
    const outside = three.semaphore('s', 2).run(() => end.opened);
    await open(go);
    await elapse(clock, 5000);
    expect(resultsOf(first, second)).toEqual(['waiting', 'waiting']);
    await open(end);
    await outside;
    await elapse(clock, 100);
    expect(resultsOf(first, second)).toEqual(['done', 'done']);
  });

  it('is reported when all holders of a semaphore are part of it', async () => {
    const [one, two, three] = startThree();
    const go = gate();
    const tasks = [
      nest(one.semaphore('s', 2), one.mutex('m'), go.opened),
      nest(two.mutex('m'), two.semaphore('s', 2), go.opened),
      nest(three.semaphore('s', 2), three.mutex('m'), go.opened),
    ];
    await open(go);
    await elapse(clock, 400);
    expect(resultsOf(...tasks)).toEqual(['deadlock', 'done', 'done']);
  });

  it('of callbacks that each hold a permit and request two of three is reported', async () => {
    const [one, two] = startThree();
    const go = gate();
    const permits = 2;
    const first = nest(one.semaphore('s', 3), one.semaphore('s', 3, { permits }), go.opened);
    const second = nest(two.semaphore('s', 3), two.semaphore('s', 3, { permits }), go.opened);
    await open(go);
    await elapse(clock, 300);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('with a group of all() is reported', async () => {
    const [one, two] = startThree();
    const go = gate();
    const first = nest(one.all(['a', 'b']), one.mutex('c'), go.opened);
    const second = nest(two.mutex('c'), two.all(['b', 'd']), go.opened);
    await open(go);
    await elapse(clock, 300);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
  });

  it('is reported once when two of its members are in one process', async () => {
    const [one, two] = startThree();
    const go = gate();
    const tasks = [
      nest(one.mutex('a'), one.mutex('b'), go.opened),
      nest(two.mutex('b'), two.mutex('c'), go.opened),
      nest(one.mutex('c'), one.mutex('a'), go.opened),
    ];
    await open(go);
    await elapse(clock, 400);
    expect(resultsOf(...tasks)).toEqual(['deadlock', 'done', 'done']);
  });

  it('is not reported for a candidate that was started inside a callback', async () => {
    const [one, two] = startThree();
    const go = gate();
    const results: string[] = [];
    one.elect('job', async ({ signal }) => {
      await go.opened;
      const nested = one.mutex('a').run(() => 'done', { wait: '1h' });
      results.push(await nested.catch(({ code }) => code));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await settle();
    const done = gate();
    const holder = two.mutex('a').run(async () => {
      two.elect('job', () => {});
      await done.opened;
    });
    await open(go);
    await elapse(clock, 5000);
    expect(results).toEqual([]);
    await open(done);
    await holder;
    await elapse(clock, 100);
    expect(results).toEqual(['done']);
  });

  it('is reported to a process whose key function rejects the name of another lock of a member', async () => {
    const key = (name: string): string => {
      if (name === 'a' || name === 'b') return `lock:{${name}}`;
      throw new Error(`no such lock: ${name}`);
    };
    const [few, all] = [start('z', { key }).locks, start('m').locks];
    const [go, done] = [gate(), gate()];
    const first = nest(few.mutex('a'), few.mutex('b'), go.opened);
    let second: Task | undefined;
    const outer = all.mutex('outer').run(async () => {
      second = nest(all.mutex('b'), all.mutex('a'), go.opened);
      await done.opened;
    });
    await open(go);
    await elapse(clock, 300);
    expect([first.result, second?.result]).toEqual(['deadlock', 'done']);
    await open(done);
    await outer;
  });

  it('within one process is reported at once, and not again', async () => {
    const { locks, calls } = start('one');
    const go = gate();
    const first = nest(locks.mutex('a'), locks.mutex('b'), go.opened);
    const second = nest(locks.mutex('b'), locks.mutex('a'), go.opened);
    await open(go);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
    await elapse(clock, 3000);
    expect(verbsOf(calls)).not.toContain('holds');
  });

  it('is not reported when a member timed out before', async () => {
    const [one, two] = startThree();
    const [early, late] = [gate(), gate()];
    const first = nest(one.mutex('a'), one.mutex('b'), early.opened, 1000);
    const second = nest(two.mutex('b'), two.mutex('a'), late.opened);
    await open(early);
    await elapse(clock, 995);
    await open(late);
    await elapse(clock, 2000);
    expect([first.result, second.result]).toEqual(['timeout', 'done']);
  });

  it('is not reported when a member is dead: its lease ends', async () => {
    const [one, two] = startThree();
    const [early, late] = [gate(), gate()];
    const dead = nest(one.mutex('b'), one.mutex('a'), early.opened);
    const alive = nest(two.mutex('a'), two.mutex('b'), late.opened);
    await open(early);
    await elapse(clock, 2000);
    processes[0]!.die();
    await elapse(clock, 2500);
    await open(late);
    await elapse(clock, 2000);
    expect(alive.result).toBe('waiting');
    await elapse(clock, 30_000, 100);
    expect([dead.result, alive.result]).toEqual(['waiting', 'done']);
  });

  it('is reported although other programs wrote what they like into the record', async () => {
    const [one, two] = startThree();
    const go = gate();
    const first = nest(one.mutex('a'), one.mutex('b'), go.opened);
    const second = nest(two.mutex('b'), two.mutex('a'), go.opened);
    await open(go);
    const session = engine.session();
    for (const [index, text] of ['', 'null', '[1,[2]]', '[["mutex",1,2,3]]'].entries()) {
      execute(session, ['HSET', 'lock:{a}:holds', `1 ${index} x.1 ["h",1,""]`, text]);
      execute(session, ['ZADD', 'lock:{a}:queue', `${index + 10}`, `1 ${index} x.1 ["h",1,""]`]);
    }
    execute(session, ['SET', 'lock:{a}:queue:x', '', 'PX', '10000']);
    await elapse(clock, 300);
    expect(resultsOf(first, second)).toEqual(['deadlock', 'done']);
    session.close();
  });
});

function verbsOf(calls: readonly string[][]): string[] {
  return calls
    .flatMap((args) => args.filter((_, index) => index % 3 === 0))
    .map((text) => text.split(' ')[0]!);
}

describe('an operator', () => {
  it('reads which leases a waiter holds, and sees no lock more', async () => {
    const [one, two] = startThree();
    const go = gate();
    nest(one.mutex('锁'), one.mutex('b'), go.opened);
    const lease = await two.mutex('b').acquire();
    const waiting = two.mutex('b').acquire();
    await open(go);
    await elapse(clock, 200);
    const session = engine.session();
    const run: RunScript = async (text, keys, args) =>
      execute(session, ['EVAL', text, String(keys.length), ...keys, ...args]);
    const { lock } = (await readLocks(run, 'b'))[0]!;
    const heldNames = [Buffer.from('锁').toString('latin1')];
    expect(lock.waiters).toHaveLength(2);
    expect(lock.waiters[0]).not.toHaveProperty('holds');
    expect(lock.waiters[1]).toMatchObject({ holds: ['p1.0'], heldNames });
    const listed: string[] = [];
    for await (const { locks } of scanLocks(run))
      listed.push(...locks.map((each) => each.nameBytes));
    expect(listed.sort()).toEqual(['b', ...heldNames].sort());
    session.close();
    await lease.release();
    await (await waiting).release();
  });
});

describe('the cost', () => {
  it('of a wait outside of a callback: only the requests that it needs', async () => {
    const [one, two] = [start('one'), start('two')];
    const lease = await one.locks.mutex('a').acquire();
    const waiting = two.locks.mutex('a').acquire();
    await elapse(clock, 3000);
    expect(new Set(verbsOf(two.calls))).toEqual(new Set(['queue', 'refresh']));
    expect(two.calls[0]).toEqual(['queue', expect.stringMatching(/^two\.0 \["/), '30000']);
    await lease.release();
    await (await waiting).release();
  });

  it('of a nested wait of less than 100 ms: nothing more', async () => {
    const [one, two] = [start('one'), start('two')];
    const lease = await one.locks.mutex('b').acquire();
    const go = gate();
    const task = nest(two.locks.mutex('a'), two.locks.mutex('b'), go.opened);
    await open(go);
    await elapse(clock, 90);
    await lease.release();
    await elapse(clock, 1000);
    expect(task.result).toBe('done');
    expect(verbsOf(two.calls)).not.toContain('holds');
  });

  it('of a nested wait without a deadlock: two requests a second', async () => {
    const [one, two] = [start('one'), start('two')];
    const lease = await one.locks.mutex('b').acquire();
    const go = gate();
    nest(two.locks.mutex('a'), two.locks.mutex('b'), go.opened);
    await open(go);
    await elapse(clock, 10_000, 100);
    const verbs = verbsOf(two.calls).filter((verb) => verb === 'holds' || verb === 'nested');
    expect(verbs).toHaveLength(20);
    await lease.release();
  });

  it('of a nested wait whose record is a key of another type: no further request for the lock', async () => {
    const [one, two] = [start('one'), start('two')];
    const lease = await one.locks.mutex('b').acquire();
    const session = engine.session();
    execute(session, ['SET', 'lock:{b}:holds', 'not a hash']);
    const go = gate();
    const task = nest(two.locks.mutex('a'), two.locks.mutex('b'), go.opened);
    await open(go);
    await elapse(clock, 10_000, 100);
    const verbs = verbsOf(two.calls);
    expect(verbs.filter((verb) => verb === 'holds')).toHaveLength(10);
    // One for each of the two locks.
    expect(verbs.filter((verb) => verb === 'queue')).toHaveLength(2);
    await lease.release();
    await settle();
    expect(task.result).toBe('done');
    session.close();
  });

  it('of records that another program wrote: neither long nor many ones are read', async () => {
    const session = engine.session();
    const [short, long] = ['1 30000 x.1 ["h",1,""]', '1 30000 x.2 ["h",1,""]'];
    execute(session, ['ZADD', 'lock:{a}:queue', '1', short, '2', long]);
    execute(session, ['SET', 'lock:{a}:queue:x', '', 'PX', '10000']);
    execute(session, ['HSET', 'lock:{a}:holds', short, '[]', long, ' '.repeat(200_000)]);
    const nested = async (): Promise<unknown> => {
      return engineRunner(engine).run(WAIT_SCRIPT, ['lock:{a}'], ['nested', 'y.', '0']);
    };
    expect(await nested()).toEqual([[], [['x.1 ["h",1,""]', 1, 0, '[]']], 1]);
    for (let count = 0; count < 200; count++) {
      execute(session, ['HSET', 'lock:{a}:holds', `field ${count}`, '']);
    }
    expect(await nested()).toEqual([[], [], 1]);
    session.close();
  });

  it('in memory: at most 128 waiters of a lock are recorded, and old records make room', async () => {
    const holder = start('holder').locks;
    const lease = await holder.mutex('busy').acquire();
    const session = engine.session();
    for (let index = 0; index < 128; index++) {
      execute(session, ['HSET', 'lock:{busy}:holds', `1 1 old.${index} []`, '[]']);
    }
    const go = gate();
    const tasks = Array.from({ length: 140 }, (_, index) => {
      const { locks } = start(`w${index}`);
      return nest(locks.mutex(`outer${index}`), locks.mutex('busy'), go.opened);
    });
    await open(go);
    await elapse(clock, 3000, 30);
    const fields = execute(session, ['HKEYS', 'lock:{busy}:holds']) as string[];
    expect(fields).toHaveLength(128);
    expect(fields.filter((field) => field.includes('old.'))).toEqual([]);
    await lease.release();
    await elapse(clock, 1000);
    expect(new Set(resultsOf(...tasks))).toEqual(new Set(['done']));
    await elapse(clock, 10_000);
    expect(execute(session, ['EXISTS', 'lock:{busy}:holds'])).toBe(0);
    session.close();
  });
});
