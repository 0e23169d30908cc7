import { expect, it, onTestFinished } from 'vitest';
import { elapse } from '../../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { Locks } from '../../lock/index.ts';
import { LIBRARY_SCRIPTS } from '../library-scripts.ts';
import { forceLock } from '../lists/lock-list.ts';
import { engineRunner } from './engine-runner.ts';
import { RedisStore } from './redis-store.ts';

let clock: VirtualClock;
let engine: Engine;

function openEngine(): void {
  clock = virtualClock();
  engine = createEngine({
    clock,
    random: seededRandom(1),
    settings: { 'lock-history-size': '1mb' },
    lockRole: { scripts: LIBRARY_SCRIPTS, keyPrefixes: [], channelPrefixes: [] },
  });
  onTestFinished(() => engine.close());
}

function open(clientId: string): Locks {
  const options = { clock, clientId, requestTimeoutMs: 5000 };
  return new Locks({ store: new RedisStore(engineRunner(engine), options), clock });
}

function run(...argv: string[]): unknown {
  const session = engine.session();
  const reply = execute(session, argv);
  session.close();
  return reply;
}

/** The events of a lock: its type, the client and whether there is a fence. */
function eventsOf(key: string): string[] {
  const reply = run('HOLDFAST.HISTORY', 'KEY', key) as [
    number,
    number,
    string,
    string,
    string,
    number,
  ][];
  return reply.map(([, , type, , token, fence]) => {
    return `${type} ${token.split('.')[0]}${fence > 0 ? ' fence' : ''}`;
  });
}

it('reports a grant and a release of each kind of lock', async () => {
  openEngine();
  const locks = open('one');
  await (await locks.mutex('a').acquire()).release();
  await (await locks.semaphore('a', 2).acquire()).release();
  await (await locks.readWrite('a').write.acquire()).release();
  await (await locks.all(['b', 'c']).acquire()).release();
  for (const key of ['lock:{a}', 'semaphore:{a}', 'rw:{a}', 'lock:{b}', 'lock:{c}']) {
    expect(eventsOf(key)).toEqual(['granted one fence', 'released one']);
  }
});

it('reports waiters, hand-overs and waiters that leave', async () => {
  openEngine();
  const [one, two, three] = [open('one'), open('two'), open('three')];
  const first = await one.mutex('a').acquire();
  const second = two.mutex('a').acquire();
  await elapse(clock, 10);
  const third = three.mutex('a').acquire({ wait: 50 });
  const refused = expect(third).rejects.toThrow('stayed busy');
  await elapse(clock, 100);
  await refused;
  await first.release();
  await elapse(clock, 10);
  await (await second).release();
  expect(eventsOf('lock:{a}')).toEqual([
    'granted one fence',
    'waiting two',
    'waiting three',
    'left three',
    'released one',
    'handed-over two fence',
    'released two',
  ]);
});

it.each(['mutex', 'semaphore'] as const)('reports a lease of a %s that ends', async (kind) => {
  openEngine();
  const locks = open('one');
  const lock = kind === 'mutex' ? locks.mutex('a') : locks.semaphore('a', 2);
  await lock.acquire({ lease: 1000, renew: false });
  await elapse(clock, 5000);
  await (await lock.acquire()).release();
  expect(eventsOf(`${kind === 'mutex' ? 'lock' : kind}:{a}`)).toEqual([
    'granted one fence',
    'expired one',
    'granted one fence',
    'released one',
  ]);
});

it('reports theft, transfer and forced release', async () => {
  openEngine();
  const [one, two] = [open('one'), open('two')];
  await one.mutex('a').acquire();
  const stolen = await two.mutex('a').acquire({ steal: true, reason: 'test' });
  const adopted = await one.adopt(await stolen.transfer());
  const script = async (text: string, keys: readonly string[], args: readonly string[]) =>
    run('EVAL', text, String(keys.length), ...keys, ...args);
  const note = { host: 'h', pid: 1, user: 'u', reason: 'r' };
  await forceLock(script, { kind: 'mutex', nameBytes: 'a' }, note);
  expect(adopted.fence).toBeGreaterThan(0);
  expect(eventsOf('lock:{a}')).toEqual([
    'granted one fence',
    'stolen one',
    'stole two fence',
    'transferred two',
    'adopted one fence',
    'forced one',
  ]);
});

it('ignores events of scripts that are not of the library', () => {
  openEngine();
  run('EVAL', "redis.holdfast_event('granted', 'lock:{a}', 'x.1', '5')", '0');
  expect(eventsOf('lock:{a}')).toEqual([]);
});

it('drops the events of a script that is stopped, wherever that happens', () => {
  openEngine();
  const outcomes = new Set<string>();
  for (let steps = 1; steps < 8000; steps += 31) {
    run('FLUSHALL');
    run('CONFIG', 'SET', 'script-budget-steps', String(steps));
    const before = engine.lockHistory.nextId;
    // The second lock has a queue, which takes more steps.
    run('ZADD', 'lock:{b}:queue', '1', '1 1000 two.1 []');
    const args = ['acquire', 'one.1', '1000', 'queue', 'one.2', '1000'];
    run('EVAL', LIBRARY_SCRIPTS[0]!, '2', 'lock:{a}', 'lock:{b}', ...args);
    const isHeld = run('EXISTS', 'lock:{a}') === 1;
    expect(engine.lockHistory.nextId > before).toBe(isHeld);
    outcomes.add(String(isHeld));
  }
  expect(outcomes.size).toBe(2);
});

it.each([
  ['HOLDFAST.HISTORY ALL COUNT', 'syntax error'],
  ['HOLDFAST.HISTORY ALL COUNT -1', 'whole number'],
  ['HOLDFAST.HISTORY ALL COUNT 10001', 'up to 10000'],
  ['HOLDFAST.HISTORY ALL AFTER x', 'whole number'],
  ['HOLDFAST.HISTORY KEY a SINCE 1', 'syntax error'],
])('%s is refused: %s', (line, message) => {
  openEngine();
  expect(run(...line.split(' '))).toMatchObject({
    message: expect.stringContaining(message),
  });
});
