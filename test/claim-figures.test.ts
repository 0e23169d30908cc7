import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { explore } from '../src/lab/index.ts';
import { CLAIMS, chanceText } from '../src/lab/report/index.ts';
import { type EngineClient, startEngineClient } from './engine-client.ts';
import { closeMemoryLocks, openMemoryLocks } from './memory-locks.ts';
import { startRealCluster } from './real-cluster.ts';
import { startRealRedis } from './real-redis.ts';
import { settle } from './virtual-time.ts';

// The numbers that the page on the documents prints. Each test computes them and compares them with both texts.

function expectFigure(number: number, en: readonly string[], zh: readonly string[]): void {
  const figure = CLAIMS[number - 1]!.evidence.find(({ kind }) => kind === 'figure');
  if (figure?.kind !== 'figure') throw new Error(`claim ${number} has no figure`);
  for (const part of en) expect(figure.text.en).toContain(part);
  for (const part of zh) expect(figure.text.zh).toContain(part);
}

const LOCK = 'lock.foo';
const TIMEOUT_MS = 10_000;

/** An engine on which clients take the lock by time stamps, in milliseconds. */
class Stage {
  readonly #client: EngineClient = startEngineClient();

  say(command: string): unknown {
    return this.#client.send(command);
  }

  nowMs(): number {
    return this.#client.clock.wallMs();
  }

  passes(durationMs: number): void {
    this.#client.clock.advance(durationMs);
  }

  /** When the lock ends, as the clients read it. */
  endMs(): number {
    return Number(this.say(`GET ${LOCK}`));
  }

  /** A holder that crashed: its time has passed. The time that the clients find. */
  leaveExpired(): string {
    const end = String(this.nowMs() - 1);
    this.say(`SET ${LOCK} ${end}`);
    return end;
  }

  /** Whether the client has the lock, by equality with the time that it found. */
  takesOver(found: string, newEndMs = this.nowMs() + TIMEOUT_MS): boolean {
    return this.say(`GETSET ${LOCK} ${newEndMs}`) === found;
  }

  /** A whole attempt: SETNX, GET, and GETSET only if the time has passed. */
  tries(): boolean {
    if (this.say(`SETNX ${LOCK} ${this.nowMs() + TIMEOUT_MS}`) === 1) return true;
    const found = String(this.say(`GET ${LOCK}`));
    return Number(found) < this.nowMs() && this.takesOver(found);
  }
}

/** How much later the winner’s lock ends after a loser that is so late. */
function movedBy(latenessMs: number): number {
  const stage = new Stage();
  const found = stage.leaveExpired();
  expect(stage.takesOver(found)).toBe(true);
  const promised = stage.endMs();
  stage.passes(latenessMs);
  expect(stage.takesOver(found)).toBe(false);
  return stage.endMs() - promised;
}

/** How long the winner’s lock lasts after a loser that was paused between its computation and GETSET. */
function leftAfterPause(pauseMs: number): number {
  const stage = new Stage();
  const found = stage.leaveExpired();
  const computed = stage.nowMs() + TIMEOUT_MS;
  stage.passes(pauseMs);
  expect(stage.takesOver(found)).toBe(true);
  expect(stage.takesOver(found, computed)).toBe(false);
  return stage.endMs() - stage.nowMs();
}

describe('the losers of GETSET', () => {
  it('claim 54: one client wins in every order', () => {
    const clients = ['1', '2', '3', '4', '5', '6'];
    const all = orders(clients);
    for (const order of all) {
      const stage = new Stage();
      const found = stage.leaveExpired();
      const winners = order.filter((client) =>
        stage.takesOver(found, stage.nowMs() + TIMEOUT_MS + Number(client)),
      );
      expect(winners).toEqual([order[0]]);
    }
    expectFigure(
      54,
      [`all ${all.length} orders`],
      [`${all.length} 种`, `${clients.length} 个客户端`],
    );
  });

  function orders(items: readonly string[]): string[][] {
    if (items.length === 0) return [[]];
    return items.flatMap((first) =>
      orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
    );
  }

  it('claim 56: five late losers move the end by the lateness of the last one', () => {
    const stage = new Stage();
    const found = stage.leaveExpired();
    expect(stage.takesOver(found)).toBe(true);
    const promised = stage.endMs();
    for (let loser = 1; loser <= 5; loser++) {
      stage.passes(100);
      expect(stage.takesOver(found)).toBe(false);
    }
    const moved = stage.endMs() - promised;
    for (let loser = 1; loser <= 5; loser++) expect(stage.tries()).toBe(false);
    const after = stage.endMs() - promised - moved;
    expectFigure(
      56,
      [`moved the end by ${moved} ms in all`, `moved it by ${after} ms`],
      [`总共推迟 ${moved} 毫秒`, `再次尝试时推迟 ${after} 毫秒`],
    );
  });

  it('claim 57: the error is as large as the lateness', () => {
    const [usual, paused] = [movedBy(2), movedBy(8000)];
    expectFigure(
      57,
      [`moves the end by ${usual} ms`, `moves it by ${paused} ms`],
      [`推迟 ${usual} 毫秒`, `推迟 ${paused} 毫秒`],
    );
  });

  it('claim 48: a loser that computed its time before a pause makes the lock end early', () => {
    const leftS = leftAfterPause(8000) / 1000;
    expectFigure(
      48,
      [`end ${TIMEOUT_MS / 1000 - leftS} s early: after ${leftS} s`],
      [`提前 ${TIMEOUT_MS / 1000 - leftS} 秒到期`, `而是 ${leftS} 秒`],
    );
  });

  it('claim 75: the lock ends late or early by the length of the pause', () => {
    const lateS = movedBy(8000) / 1000;
    const earlyS = (TIMEOUT_MS - leftAfterPause(8000)) / 1000;
    expectFigure(
      75,
      [`ends ${lateS} s late`, `${earlyS} s early`],
      [`推迟 ${lateS} 秒`, `提前 ${earlyS} 秒`],
    );
  });

  it('claim 103: after a pause of 8 s the lock of the winner ends after 2 s', () => {
    const leftS = leftAfterPause(8000) / 1000;
    expectFigure(103, [`ends after ${leftS} s`], [`${leftS} 秒后就到期`]);
  });

  it('claim 73: a late GETSET wins by the one rule and loses by the other', () => {
    const { send: say } = startEngineClient();
    say(`SET ${LOCK} 100`);
    say(`GETSET ${LOCK} 210`);
    const now = 340;
    const returned = say(`GETSET ${LOCK} ${now + 10}`);
    expect([Number(returned) < now, returned === '100']).toEqual([true, false]);
    expectFigure(73, [`at ${now}`, `returns ${returned}`], [`${now} 时`, `取回 ${returned}`]);
  });

  it('claim 107: a GETSET after the release blocks all for a whole timeout', () => {
    const stage = new Stage();
    const found = stage.leaveExpired();
    expect(stage.takesOver(found)).toBe(true);
    stage.say(`DEL ${LOCK}`);
    expect(stage.takesOver(found)).toBe(false);
    let waitedMs = 0;
    for (; !stage.tries(); waitedMs++) stage.passes(1);
    // In the last millisecond the time has not passed yet: it is equal.
    expect(waitedMs).toBe(TIMEOUT_MS + 1);
    const waitedS = Math.floor(waitedMs / 1000);
    expectFigure(107, [`waits for ${waitedS} s`], [`要等 ${waitedS} 秒`]);
  });
});

describe('whole seconds', () => {
  const TIMEOUT_S = TIMEOUT_MS / 1000;
  const RULES = {
    '<=': (end: number, now: number) => end <= now,
    '<': (end: number, now: number) => end < now,
  };

  /** The shortest and the longest lease, over all fractions of the second in which it is taken. */
  function leaseRange(rule: keyof typeof RULES, added: number): { en: string; zh: string } {
    const leases = Array.from({ length: 1000 }, (_, startMs) => {
      const end = Math.floor(startMs / 1000) + TIMEOUT_S + added;
      let nowMs = startMs;
      while (!RULES[rule](end, Math.floor(nowMs / 1000))) nowMs++;
      return (nowMs - startMs) / 1000;
    });
    const [shortest, longest] = [Math.min(...leases), Math.max(...leases)];
    return { en: `${shortest} to ${longest} s`, zh: `${shortest}～${longest} 秒` };
  }

  const [equalBare, equalOne] = [leaseRange('<=', 0), leaseRange('<=', 1)];
  const [smallerBare, smallerOne] = [leaseRange('<', 0), leaseRange('<', 1)];

  it('claim 12: what the 1 adds to a lease', () => {
    expectFigure(
      12,
      [
        `<=: the lease lasts ${equalBare.en} without the 1, and ${equalOne.en} with it`,
        `<: ${smallerBare.en} without, and ${smallerOne.en} with it`,
      ],
      [
        `<= 判断：不加 1 时锁持续 ${equalBare.zh}，加 1 时 ${equalOne.zh}`,
        `< 判断：不加 1 时 ${smallerBare.zh}，加 1 时 ${smallerOne.zh}`,
      ],
    );
  });

  it('claim 72: the 1 and the test < together', () => {
    expectFigure(72, [`lasts ${smallerOne.en}`], [`持续 ${smallerOne.zh}`]);
  });

  it('claim 100: how <= and < differ', () => {
    expectFigure(
      100,
      [`${equalOne.en} by <=`, `${smallerOne.en} by <`],
      [`用 <= 判断，锁持续 ${equalOne.zh}`, `用 < 判断，持续 ${smallerOne.zh}`],
    );
  });
});

describe('locks in virtual time', () => {
  let scene: ReturnType<typeof openMemoryLocks>;
  beforeEach(() => {
    scene = openMemoryLocks();
  });
  afterEach(() => closeMemoryLocks(scene));

  /** How long it takes until all requests have done their work under the lock that `nameOf` says. */
  async function timeFor(requests: number, nameOf: (request: number) => string): Promise<number> {
    const { locks, clock } = scene;
    const start = clock.monotonicMs();
    let left = requests;
    const work = Array.from({ length: requests }, (_, request) =>
      locks.mutex(nameOf(request)).run(
        () =>
          new Promise<void>((resolve) => {
            clock.setTimer(20, resolve);
          }),
        { wait: Number.POSITIVE_INFINITY },
      ),
    );
    for (const each of work) void each.then(() => left--);
    await settle();
    while (left > 0) {
      clock.advance(20);
      await settle();
    }
    return clock.monotonicMs() - start;
  }

  it('claim 30: one lock for all against one for each item', async () => {
    const one = await timeFor(100, () => 'orders');
    const each = await timeFor(100, (request) => `order:${request % 10}`);
    expectFigure(
      30,
      [`${one} ms with one lock, ${each} ms with a lock`],
      [`${one} 毫秒`, `${each} 毫秒`],
    );
  });

  it('claim 80: loads with and without a lock', async () => {
    const loads = { bare: 0, locked: 0 };
    const cached = new Map<string, string>();
    async function load(kind: keyof typeof loads): Promise<void> {
      if (cached.has(kind)) return;
      loads[kind]++;
      await settle();
      cached.set(kind, 'value');
    }
    const requests = Array.from({ length: 200 });
    await Promise.all(requests.map(() => load('bare')));
    await Promise.all(requests.map(() => scene.locks.mutex('price').run(() => load('locked'))));
    expectFigure(
      80,
      [`${loads.bare} loads without a lock, ${loads.locked} load with`],
      [`加载 ${loads.bare} 次`, `只加载 ${loads.locked} 次`],
    );
  });
});

describe('an end that is refreshed', () => {
  it('claim 87: a lock by MULTI outlives its holder by an hour, one by SET does not', () => {
    const { send: say, clock } = startEngineClient();
    say('SET other anna NX EX 10');
    say('SET lock anna NX EX 10');
    for (let passed = 0; passed < 3600; passed += 9) {
      clock.advance(9000);
      for (const command of ['MULTI', 'SETNX lock ben', 'EXPIRE lock 10']) say(command);
      expect(say('EXEC')).toEqual([0, 1]);
      if (passed === 0) expect(say('EXISTS other')).toBe(1);
      if (passed === 9) expect(say('EXISTS other')).toBe(0);
    }
    expect(say('GET lock')).toBe('anna');
    expectFigure(87, ['an hour later'], ['一小时后']);
  });
});

describe('redis-server itself', () => {
  /** The fields of COMMAND DOCS for one command. */
  async function docsOf(client: Redis, command: string): Promise<Map<string, unknown>> {
    const [, fields] = (await client.call('COMMAND', 'DOCS', command)) as [string, unknown[]];
    return new Map(
      Array.from({ length: fields.length / 2 }, (_, at) => [
        String(fields[2 * at]),
        fields[2 * at + 1],
      ]),
    );
  }

  async function withRedis(ask: (client: Redis) => Promise<void>): Promise<void> {
    const redis = await startRealRedis();
    const client = new Redis(redis.port, redis.host);
    try {
      await ask(client);
    } finally {
      client.disconnect();
      await redis.stop();
    }
  }

  it('claim 6: dates the options of SET', () =>
    withRedis(async (client) => {
      const history = (await docsOf(client, 'set')).get('history') as [string, string][];
      const [version, change] = history.find(([, text]) => text.includes('`NX`'))!;
      for (const option of ['EX', 'PX', 'NX', 'XX']) expect(change).toContain(`\`${option}\``);
      expectFigure(6, [`to ${version}`], [`始于 ${version}`]);
    }));

  it('claim 9: deprecates GETSET, and none of SETNX, SETEX, PSETEX', () =>
    withRedis(async (client) => {
      const since = (await docsOf(client, 'getset')).get('deprecated_since');
      for (const command of ['setnx', 'setex', 'psetex']) {
        const docs = await docsOf(client, command);
        expect([docs.has('doc_flags'), docs.has('deprecated_since')]).toEqual([false, false]);
      }
      expectFigure(9, [`GETSET is deprecated since ${since}`], [`GETSET 自 ${since} 起弃用`]);
    }));

  it('claim 89: refuses values as KEYS in a cluster', async () => {
    const cluster = await startRealCluster(1);
    try {
      const { client } = cluster.masters[0]!;
      const script = (value: string) => `return redis.call('setnx', KEYS[1], ${value})`;
      const asKeys = client.eval(script('KEYS[2]'), 2, 'lock', 'token');
      await expect(asKeys).rejects.toThrow(/^CROSSSLOT /);
      const returned = await client.eval(script('ARGV[1]'), 1, 'lock', 'token');
      expectFigure(89, ['CROSSSLOT', `returns ${returned}`], ['CROSSSLOT', `返回 ${returned}`]);
    } finally {
      await cluster.stop();
    }
  });
});

describe('the search', () => {
  it('claim 24: how likely each way to release removes the lock of another client', () => {
    const chances = ['set-nx-ex-del', 'set-nx-px-get-del', 'set-nx-px-lua-del'].map((recipe) => {
      const { world, verdicts } = explore(recipe, { checks: ['foreign-release'] });
      expect(world).toMatchObject({ clients: 3, crashes: 1, pauses: 1 });
      return chanceText(verdicts[0]!.failing!.chance);
    });
    expectFigure(24, chances, chances);
    expect(chances).toEqual(['4.3 %', '0.56 %', '0 %']);
  });
});
