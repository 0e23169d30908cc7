import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newSeed } from '../../test/new-seed.ts';
import { type Random, seededRandom, virtualClock } from '../clock/index.ts';
import { createEngine, execute } from '../engine/index.ts';
import { engineRunner } from './engine-runner.ts';
import { channelOf, prefixOf, toArgs } from './lock-call.ts';
import { LOCK_SCRIPT } from './lock-script.ts';
import { IS_OURS } from './lock-script-line.ts';

/** The same script without the shorter ways that it has for a mutex. */
const LONG_WAY = LOCK_SCRIPT.replace(
  "if verb == 'ask' or verb == 'line' then",
  "if verb ~= 'also' then\n  elseif verb == 'ask' or verb == 'line' then",
).replace('line.verbs = {', 'line.verbs = {} local unused = {');

const SEED = process.env['HOLDFAST_SEED'] ?? newSeed();
const RUNS = 25;
const STEPS = 120;
const NAMES = ['lock:{a}', 'lock:{b}'];
const CLIENTS = ['own', 'other'];
const TOKENS = [
  'own.1 ["",0,""]',
  'own.2 ["",0,""]',
  'own.3 ["",0,""]',
  'other.1 ["",0,""]',
  'other.2 ["",0,""]',
  'other.3 ["",0,""]',
];
const OFTEN = ['line', 'line', 'line', 'ask', 'release', 'release', 'release', 'extend'];
const SELDOM = ['force', 'adopt :own.2 ["",0,""]', 'all 1 7'];
const VERBS = [...OFTEN, ...OFTEN, ...SELDOM];

/** What strangers may do between two requests: end a lock, take one, or lose what helps it. */
const STRANGERS = {
  text: `
    if ARGV[1] == 'take' then return redis.call('SET', KEYS[1], 'stranger [4711]', 'NX', 'PX', 4000) end
    return redis.call('DEL', KEYS[1] .. (ARGV[1] == 'lose' and ':fence' or ''))`,
  sha: '',
};

/** What has no mark although somebody waits for the lock; and strangers that have one. */
const UNMARKED = {
  text: `
    local found = {}
    for _, key in ipairs(KEYS) do
      local holder, fence = redis.call('GET', key), redis.call('GET', key .. ':fence')
      local isWaitedFor = redis.call('EXISTS', key .. ':queue') == 1
      if isWaitedFor and fence and not string.find(fence, '^%+') then found[#found + 1] = fence end
      if isWaitedFor and holder and string.find(holder, '^o') then found[#found + 1] = holder end
      if holder and string.find(holder, 'stranger', 2, true) then found[#found + 1] = holder end
    end
    return found`,
  sha: '',
};

const ALL_PLACES = {
  text: "local keys = redis.call('KEYS', '*:queue:*') table.sort(keys) return keys",
  sha: '',
};

/** A store with one of the scripts, whose clock stands still unless moved. */
function openWorld(text: string) {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  const runner = engineRunner(engine);
  const script = { text, sha: createHash('sha1').update(text).digest('hex') };
  const messages: string[] = [];
  return {
    clock,
    messages,
    async open() {
      for (const channel of CLIENTS.map(channelOf)) {
        await runner.listen(
          channel,
          (message) => messages.push(`${channel}: ${message}`),
          () => {},
        );
      }
    },
    run: (keys: string[], args: string[]) => runner.run(script, keys, args),
    places: () => runner.run(ALL_PLACES, [], []),
    unmarked: () => runner.run(UNMARKED, NAMES, []),
    strangers: (key: string, act: string) => runner.run(STRANGERS, [key], [act]),
    shown: (key: string) => runner.run(script, [key], ['none', 'show', '', '0']),
    async close() {
      await runner.close();
      engine.close();
    },
  };
}

interface Request {
  readonly keys: string[];
  readonly clientId: string;
  readonly words: string[];
  readonly passMs: number;
}

function drawRequest(random: Random, fences: ReadonlyMap<string, string>): Request {
  const pick = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random.next() * items.length)]!;
  const token = pick(TOKENS);
  const keys: string[] = [];
  const clientId = token.split('.')[0]!;
  const words: string[] = [];
  for (let count = random.next() < 0.3 ? 3 : 1; count > 0; count--) {
    const verb = pick(VERBS);
    const key = pick(NAMES);
    keys.push(key);
    const number = verb === 'release' ? (fences.get(`${key} ${token}`) ?? '0') : '30000';
    words.push(verb, token, number);
  }
  return { keys, clientId, words, passMs: pick([0, 0, 0, 1, 100, 4000, 6000, 31_000, 45_000]) };
}

describe('the form of a token', () => {
  const isOurs = (token: string): unknown => {
    const engine = createEngine({ clock: virtualClock(), random: seededRandom(1) });
    const session = engine.session();
    execute(session, ['CONFIG', 'SET', 'script-budget-steps', '100000']);
    const text = `local token = ARGV[1]${IS_OURS}`;
    const reply = execute(session, ['EVAL', text, '0', token]);
    engine.close();
    return reply;
  };

  it.each([
    ['c.1 ["host",1,"label"]', 1],
    ['c.1 ["host",1,",\\"] [\\"",1,"]"]', 1],
    ['c.1 ["host",1]', null],
    ['["host",1,"label"]', null],
    ['c.1 ["host",1,"label"] ', null],
    [`c.1 ["host",1,"${'x'.repeat(8192)}"]`, null],
  ])('is seen: %s', (token, reply) => {
    expect(isOurs(token)).toBe(reply);
  });

  it('is not looked for in the square of the length', () => {
    expect(isOurs(`c.1 ["${'",1,"'.repeat(1600)}`)).toBe(null);
    expect(isOurs(`c.1 ["${'",1,"'.repeat(1600)}"]`)).toBe(1);
    expect(isOurs(`${'x '.repeat(4000)}"]`)).toBe(null);
  });
});

describe('the lock script', () => {
  it('has shorter ways to leave out', () => {
    expect(LONG_WAY).toContain("if verb ~= 'also' then");
    expect(LONG_WAY).toContain('local unused');
  });

  it(`does by its shorter ways what it does by the long one (seed ${SEED})`, async () => {
    const random = seededRandom(Number(SEED));
    for (let run = 0; run < RUNS; run++) {
      const worlds = [openWorld(LOCK_SCRIPT), openWorld(LONG_WAY)] as const;
      for (const world of worlds) await world.open();
      const fences = new Map<string, string>();
      for (let step = 0; step < STEPS; step++) {
        const { keys, clientId, words, passMs } = drawRequest(random, fences);
        const act = random.next() < 0.1 ? ['take', 'end', 'lose'][step % 3]! : undefined;
        const inShort = toArgs(prefixOf(clientId), words);
        const inFull = [channelOf(clientId), ...words];
        const told = [];
        for (const [world, args] of [[worlds[0], inShort] as const, [worlds[1], inFull] as const]) {
          if (act !== undefined) await world.strangers(NAMES[step % 2]!, act);
          const replies = await world.run([...keys], args);
          expect(await world.unmarked()).toEqual([]);
          world.clock.advance(passMs);
          const shown = await Promise.all(NAMES.map(world.shown));
          told.push({ replies, shown, places: await world.places() });
        }
        expect(told[0], `${keys} ${inShort}`).toEqual(told[1]);
        expect(worlds[0].messages).toEqual(worlds[1].messages);
        const { replies } = told[0]!;
        if (keys.length === 1 && typeof replies === 'number' && replies > 1)
          fences.set(`${keys[0]} ${words[1]}`, String(replies));
      }
      for (const world of worlds) await world.close();
    }
  });

  it('answers each request of a call for itself, also after a hand-over', async () => {
    const world = openWorld(LOCK_SCRIPT);
    await world.open();
    const run = (keys: string[], words: string[]): Promise<unknown> =>
      world.run(keys, toArgs(prefixOf('own'), words));
    await run(['lock:{a}'], ['ask', 'own.1 ["",0,""]', '30000']);
    await run(['lock:{a}'], ['line', 'own.2 ["",0,""]', '30000']);
    const requests = ['release', 'own.1 ["",0,""]', '0', 'ask', 'own.3 ["",0,""]', '30000'];
    const [released, fence, served] = (await run(['lock:{a}', 'lock:{b}'], requests)) as unknown[];
    expect(released).toBe(1);
    expect(fence).toBeGreaterThan(1);
    expect(served).toEqual(['own.2 ["",0,""]', expect.anything()]);
    await world.close();
  });
});
