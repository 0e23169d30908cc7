import { describe, expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import { scriptOf } from '../../client/index.ts';
import { type Random, seededRandom, virtualClock } from '../../clock/index.ts';
import { createEngine, execute } from '../../engine/index.ts';
import { engineRunner } from './engine-runner.ts';
import { channelOf, LUA_KEYS } from './lock-keys.ts';
import { LOCK_SCRIPT } from './lock-script.ts';

const FAST_PATH = "if operation == 'acquire' or operation == 'queue' then";
/** The script without its fast path: `general` handles every request. */
const GENERAL_SCRIPT = LOCK_SCRIPT.replace(FAST_PATH, `if true then\n  else${FAST_PATH}`);

const SEED = process.env['HOLDFAST_SEED'] ?? newSeed();
const RUNS = 10;
const STEPS = 120;
const NAMES = ['lock:{a}', 'lock:{b}'];
const CLIENTS = ['own', 'other'];
const TOKENS = CLIENTS.flatMap((client) => [1, 2, 3].map((id) => `${client}.${id} ["",0,""]`));
const OFTEN = ['queue', 'queue', 'queue', 'acquire', 'release', 'release', 'release', 'extend'];
const SELDOM = ['force', 'adopt :own.2 ["",0,""]', 'all 1 7', 'refresh', 'released', 'detach'];
const OPERATIONS = [...OFTEN, ...OFTEN, ...SELDOM];
/** The ids of sessions, or none. Session s1 ends after the last step of each run. */
const SESSIONS = [undefined, undefined, 's1', 's2'];

/** A foreign client, between two requests: `take` sets the holder key, `end` deletes it, `lose` deletes the fence. */
const FOREIGN_ACTION = scriptOf(`
  if ARGV[1] == 'take' then return redis.call('SET', KEYS[1], 'foreign [4711]', 'NX', 'PX', 4000) end
  return redis.call('DEL', KEYS[1] .. (ARGV[1] == 'lose' and ':fence' or ''))`);

/** All keys with their values and TTLs. */
const DUMP = scriptOf(`
  local READ = { string = { 'GET' }, hash = { 'HGETALL' }, zset = { 'ZRANGE', '0', '-1', 'WITHSCORES' } }
  local keys, found = redis.call('KEYS', '*'), {}
  table.sort(keys)
  for _, key in ipairs(keys) do
    local command, first, last, scores = unpack(READ[redis.call('TYPE', key).ok])
    local value
    if scores then value = redis.call(command, key, first, last, scores) else value = redis.call(command, key) end
    found[#found + 1] = { key, redis.call('PTTL', key), value }
  end
  return found`);

/** A server with one of the scripts and a virtual clock. */
function openWorld(text: string) {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  const runner = engineRunner(engine);
  const script = scriptOf(text);
  const messages: string[] = [];
  return {
    clock,
    messages,
    async open() {
      for (const channel of CLIENTS.map(channelOf)) {
        const onMessage = (message: string): void => void messages.push(`${channel}: ${message}`);
        await runner.listen(channel, onMessage, () => {});
      }
    },
    run: (keys: readonly string[], args: readonly string[]) =>
      runner.run(script, [...keys], [...args]),
    dump: () => runner.run(DUMP, [], []),
    foreign: (key: string, action: string) => runner.run(FOREIGN_ACTION, [key], [action]),
    inspect: (key: string) => runner.run(script, [key], ['inspect', '', '0']),
    async close() {
      await runner.close();
      engine.close();
    },
  };
}

interface Call {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly passMs: number;
}

function drawCall(random: Random, fences: ReadonlyMap<string, string>): Call {
  const pick = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random.next() * items.length)]!;
  const token = pick(TOKENS);
  const keys: string[] = [];
  const args: string[] = [];
  for (let count = random.next() < 0.3 ? 3 : 1; count > 0; count--) {
    const operation = pick(OPERATIONS);
    const key = pick(NAMES);
    keys.push(key);
    const fence = fences.get(`${key} ${token}`) ?? '0';
    args.push(operation, token, operation === 'released' ? fence : pick(['30000', '1000']));
  }
  const session = pick(SESSIONS);
  if (session !== undefined) args.push(session);
  return { keys, args, passMs: pick([0, 0, 0, 1, 100, 1500, 4000, 11_000, 31_000]) };
}

describe('isToken', () => {
  const isToken = (token: string): unknown => {
    const engine = createEngine({ clock: virtualClock(), random: seededRandom(1) });
    const session = engine.session();
    execute(session, ['CONFIG', 'SET', 'script-budget-steps', '100000']);
    const reply = execute(session, ['EVAL', `${LUA_KEYS} return isToken(ARGV[1])`, '0', token]);
    engine.close();
    return reply;
  };

  it.each([
    ['a token', 1, 'c.1 ["host",1,"label"]'],
    ['a token whose label contains the end of a token', 1, 'c.1 ["host",1,",\\"] [\\"",1,"]"]'],
    ['a token without label', null, 'c.1 ["host",1]'],
    ['a token without owner', null, '["host",1,"label"]'],
    ['a token and a space', null, 'c.1 ["host",1,"label"] '],
    ['a token of more than 8192 bytes', null, `c.1 ["host",1,"${'x'.repeat(8192)}"]`],
  ])('of %s returns %s', (_, reply, token) => {
    expect(isToken(token)).toBe(reply);
  });

  it('takes linear time for long values', () => {
    expect(isToken(`c.1 ["${'",1,"'.repeat(1600)}`)).toBe(null);
    expect(isToken(`c.1 ["${'",1,"'.repeat(1600)}"]`)).toBe(1);
    expect(isToken(`${'x '.repeat(4000)}"]`)).toBe(null);
  });
});

describe('the lock script', () => {
  it(`gives the same replies and keys with and without its fast path (seed ${SEED})`, async () => {
    expect(GENERAL_SCRIPT).not.toBe(LOCK_SCRIPT);
    const random = seededRandom(Number(SEED));
    for (let run = 0; run < RUNS; run++) {
      const worlds = [openWorld(LOCK_SCRIPT), openWorld(GENERAL_SCRIPT)] as const;
      for (const world of worlds) {
        await world.open();
        for (const session of ['s1', 's2']) await world.run([], [session, 'open']);
      }
      const fences = new Map<string, string>();
      for (let step = 0; step < STEPS; step++) {
        const { keys, args, passMs } = drawCall(random, fences);
        const action = random.next() < 0.1 ? ['take', 'end', 'lose'][step % 3]! : undefined;
        const seen = [];
        for (const world of worlds) {
          if (action !== undefined) await world.foreign(NAMES[step % 2]!, action);
          const replies = await world.run(keys, args);
          world.clock.advance(passMs);
          seen.push({ replies, keys: await world.dump() });
        }
        expect(seen[0], `${keys} ${args}`).toEqual(seen[1]);
        expect(worlds[0].messages).toEqual(worlds[1].messages);
        const { replies } = seen[0]!;
        if (keys.length === 1 && typeof replies === 'number' && replies > 1)
          fences.set(`${keys[0]} ${args[1]}`, String(replies));
      }
      const exits = worlds.map(async (world) => ({
        left: await world.run([], ['s1', 'exit']),
        keys: await world.dump(),
      }));
      const [fast, general] = await Promise.all(exits);
      expect(fast).toEqual(general);
      for (const world of worlds) await world.close();
    }
  });

  it('returns one reply for each request of a call, also after a hand-over', async () => {
    const world = openWorld(LOCK_SCRIPT);
    await world.open();
    await world.run(['lock:{a}'], ['acquire', TOKENS[0]!, '30000']);
    await world.run(['lock:{a}'], ['queue', TOKENS[1]!, '30000']);
    const args = ['release', TOKENS[0]!, '30000', 'acquire', TOKENS[2]!, '30000'];
    const [released, fence, served] = (await world.run(
      ['lock:{a}', 'lock:{b}'],
      args,
    )) as unknown[];
    expect(released).toBe(1);
    expect(fence).toBeGreaterThan(1);
    expect(served).toEqual([TOKENS[1], expect.anything()]);
    await world.close();
  });

  it('refuses requests of a session that has ended, and changes nothing', async () => {
    const world = openWorld(LOCK_SCRIPT);
    for (const session of ['s1', 's2']) await world.run([], [session, 'open']);
    await world.run(['lock:{a}'], ['acquire', TOKENS[0]!, '30000', 's1']);
    expect(await world.run([], ['s1', 'exit'])).toBe('OK');
    const before = await world.dump();
    for (const operation of ['acquire', 'queue', 'release', 'extend', 'inspect']) {
      const args = [operation, TOKENS[0]!, '30000', 's1'];
      expect(await world.run(['lock:{a}'], args)).toBe('NOSESSION');
    }
    expect(await world.dump()).toEqual(before);
    await world.run(['lock:{a}'], ['acquire', TOKENS[1]!, '30000', 's2']);
    expect(await world.inspect('lock:{a}')).toEqual([
      [[TOKENS[1], 1, expect.anything(), 30_000, 0, 'string']],
      [],
    ]);
    await world.close();
  });

  it('returns AGAIN until all locks of a session are released, 500 in a call', async () => {
    const world = openWorld(LOCK_SCRIPT);
    const keys = Array.from({ length: 1200 }, (_, index) => `lock:{${index}}`);
    await world.run([], ['s1', 'open']);
    for (const [index, key] of keys.entries()) {
      await world.run([key], ['acquire', `own.${index} ["",0,""]`, '30000', 's1']);
    }
    const replies = [];
    do replies.push(await world.run([], ['s1', 'exit']));
    while (replies.at(-1) === 'AGAIN' && replies.length < 10);
    expect(replies).toEqual(['AGAIN', 'AGAIN', 'OK']);
    for (const key of keys) expect(await world.inspect(key)).toEqual([[], []]);
    await world.close();
  });
});
