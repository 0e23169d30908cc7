import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Clock, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import { parseEventClasses } from '../src/engine/notifications.ts';
import type { Session } from '../src/engine/session.ts';
import { encode, type Reply } from '../src/resp/index.ts';
import { readCommandDocs } from './differential/command-docs.ts';
import { FURNITURE, GIFTS, WAITS } from './differential/furniture.ts';
import { type Argv, commandFrom } from './differential/generators.ts';
import { filled, generatedNames } from './differential/steps.ts';
import { newSeed } from './new-seed.ts';

/**
 * A script that its budget stops leaves nothing: whatever commands it called, all keys with their
 * contents, forms, deadlines and order are as before, nobody was told or served, and nothing that
 * comes later goes otherwise than in an engine where the script never ran.
 *
 * HOLDFAST_UNDO_RUNS sets how many scripts are tried, HOLDFAST_SEED repeats a run.
 */
const { HOLDFAST_UNDO_RUNS = '400', HOLDFAST_SEED = newSeed() } = process.env;
const RUNS = Number(HOLDFAST_UNDO_RUNS);
const DATABASES = [0, 1, 2];
/** Some keys end this soon; a script may begin after that and before anybody has looked. */
const SOON_MS = 500;

/** Calls the commands of ARGV, each after its number of words. */
const CALL_ALL = `
  local at = 1
  while at <= #ARGV do
    local count = tonumber(ARGV[at])
    redis.pcall(unpack(ARGV, at + 1, at + count))
    at = at + count + 1
  end`;

const CALL_ALL_FOR_EVER = `${CALL_ALL} while true do end`;
const UNDONE = 'Everything it wrote was undone';

interface Case {
  readonly furniture: readonly (readonly Argv[])[];
  readonly waits: readonly Argv[];
  readonly watched: readonly string[];
  readonly calls: readonly Argv[];
  readonly isLate: boolean;
  readonly after: readonly Argv[];
  /** What a transaction does before and after the script. */
  readonly around: readonly [readonly Argv[], readonly Argv[]];
}

it(`undoes ${RUNS} random scripts`, { timeout: 60_000 + RUNS * 100 }, async () => {
  const calls = await anyCommand();
  const cases: fc.Arbitrary<Case> = fc.record({
    furniture: fc.tuple(...DATABASES.map(() => furnishing)),
    waits: fc.array(fc.constantFrom(...WAITS), { maxLength: 3 }),
    watched: fc.subarray(['s1', 'h1', 'l1', 't1', 'z1', 'none']),
    calls: fc.array(calls, { minLength: 1, maxLength: 25, size: 'max' }),
    isLate: fc.boolean(),
    after: fc.array(
      calls.filter(([name]) => name !== 'spop'),
      { maxLength: 15, size: 'max' },
    ),
    around: fc.tuple(gifts, gifts),
  });
  const options = { numRuns: RUNS, seed: Number(HOLDFAST_SEED) };
  fc.assert(fc.property(cases, undoes), options);
  fc.assert(fc.property(cases, undoesInTransaction), options);
});

function undoes(tried: Case): void {
  const house = new House(tried);
  const before = house.state();
  const late = tried.isLate ? SOON_MS + 1 : 0;
  const reply = house.laterBy(late, () => house.run(CALL_ALL_FOR_EVER, tried.calls));
  expect(reply).toContain(UNDONE);
  expect(house.state()).toEqual(before);

  const untouched = new House(tried);
  for (const each of [house, untouched]) each.run(CALL_ALL, tried.after);
  expect(house.state()).toEqual(untouched.state());
  for (const each of [house, untouched]) each.clock.advance(1e10);
  expect(house.state()).toEqual(untouched.state());
}

/** The script alone is undone, not the transaction around it. */
function undoesInTransaction(tried: Case): void {
  const [before, after] = tried.around;
  const house = new House(tried);
  const reply = house.transact([...before, evaluation(CALL_ALL_FOR_EVER, tried.calls), ...after]);
  expect(reply).toContain(UNDONE);
  const untouched = new House(tried);
  untouched.transact([...before, ...after]);
  expect(house.state()).toEqual(untouched.state());
}

function evaluation(script: string, calls: readonly Argv[]): Argv {
  return ['EVAL', script, '0', ...calls.flatMap((argv) => [`${argv.length}`, ...argv])];
}

/** An engine with furniture, those who wait, who watch and who listen. */
class House {
  readonly clock: VirtualClock = virtualClock();
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #watcher: Session;
  readonly #heard: string[] = [];
  #laterMs = 0;

  constructor({ furniture, waits, watched }: Case) {
    this.#engine = createEngine({
      clock: this.#shiftedClock(),
      random: seededRandom(1),
      settings: { 'script-budget-steps': '50000' },
    });
    this.#session = this.#newSession();
    for (const [database, commands] of furniture.entries()) {
      for (const argv of [['SELECT', `${database}`], ...commands]) this.#say(argv);
    }
    this.#say(['SELECT', '0']);
    this.#watcher = this.#newSession();
    if (watched.length > 0) execute(this.#watcher, ['WATCH', ...watched]);
    this.#engine.eventBits = parseEventClasses('KEAmn');
    execute(this.#newSession(), ['PSUBSCRIBE', '*']);
    execute(this.#newSession(), ['SSUBSCRIBE', 'news', 'sport']);
    for (const argv of waits) execute(this.#newSession(), argv);
    this.#heard.length = 0;
  }

  run(script: string, calls: readonly Argv[]): string {
    return this.#say(evaluation(script, calls));
  }

  transact(commands: readonly Argv[]): string {
    for (const argv of [['MULTI'], ...commands]) this.#say(argv);
    return this.#say(['EXEC']);
  }

  /** Acts as if some time had passed and no timer had come yet. */
  laterBy<Result>(durationMs: number, act: () => Result): Result {
    this.#laterMs = durationMs;
    const result = act();
    this.#laterMs = 0;
    return result;
  }

  /** All that can be seen from outside, in order. Looking causes events, which do not count. */
  state(): unknown {
    const heard = [...this.#heard];
    const state = {
      heard,
      waiting: this.#engine.blocking.count,
      bytes: this.#engine.memory.data.bytes,
      isWatchBroken: this.#watcher.watchBroken,
      databases: DATABASES.map((database) => this.#databaseState(database)),
    };
    this.#heard.length = heard.length;
    return state;
  }

  #databaseState(database: number): unknown {
    this.#say(['SELECT', `${database}`]);
    const keys = this.#walk((cursor) => ['SCAN', cursor, 'COUNT', '3']);
    const state = {
      size: this.#say(['DBSIZE']),
      volatile: this.#engine.database(database).volatileSize,
      firstDeadline: this.#engine.database(database).firstDeadline(),
      keys: keys.map((key) => [key, ...this.#keyState(key)]),
    };
    this.#say(['SELECT', '0']);
    return state;
  }

  #keyState(key: string): string[] {
    const type = this.#say(['TYPE', key]).slice(1, -2);
    const looks = [
      ['OBJECT', 'ENCODING', key],
      ['PEXPIRETIME', key],
      ['MEMORY', 'USAGE', key],
      ...LOOKS[type]!(key),
    ];
    return looks.map((argv) => this.#say(argv));
  }

  /** What a scan visits, in its order. */
  #walk(step: (cursor: string) => Argv): string[] {
    const found: string[] = [];
    let cursor = '0';
    do {
      const [next, names] = execute(this.#session, step(cursor)) as [string, string[]];
      found.push(...names);
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  #say(argv: Argv): string {
    return encode(execute(this.#session, argv) as Reply, 2);
  }

  #newSession(): Session {
    const hear = (reply: Reply): unknown => this.#heard.push(encode(reply, 2));
    return this.#engine.session({ push: hear, resume: hear, close() {} });
  }

  #shiftedClock(): Clock {
    const { clock } = this;
    return { ...clock, monotonicMs: () => clock.monotonicMs() + this.#laterMs };
  }
}

const LOOKS: Readonly<Record<string, (key: string) => readonly Argv[]>> = {
  string: (key) => [['GET', key]],
  list: (key) => [
    ['LRANGE', key, '0', '-1'],
    ['LLEN', key],
  ],
  hash: (key) => [
    ['HGETALL', key],
    ['HSCAN', key, '0', 'COUNT', '7'],
  ],
  set: (key) => [
    ['SMEMBERS', key],
    ['SSCAN', key, '0', 'COUNT', '7'],
  ],
  zset: (key) => [
    ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
    ['ZSCAN', key, '0', 'COUNT', '1000'],
    ['ZREVRANGEBYSCORE', key, '+inf', '-inf', 'LIMIT', '1', '3'],
  ],
};

const gifts = fc.array(fc.constantFrom(...GIFTS), { maxLength: 4 });

/** Furniture, some of it grown so much that it is kept in another form, some of it about to end. */
const furnishing: fc.Arbitrary<Argv[]> = fc
  .tuple(
    fc.subarray([...FURNITURE]),
    fc.array(filled, { maxLength: 2 }),
    fc.subarray(['s1', 's2', 'h2', 'l1', 't2', 'z2']),
    fc.nat(12),
  )
  .map(([furniture, large, ending, more]) => [
    ...large.flat(),
    ...furniture,
    ...Array.from({ length: more }, (_, at) => ['SET', `more${at}`, 'x']),
    ...ending.map((key, at) => ['PEXPIRE', key, `${SOON_MS - at}`]),
  ]);

/** Commands of all families, as the engine itself describes them. */
async function anyCommand(): Promise<fc.Arbitrary<Argv>> {
  const session = createEngine({ clock: virtualClock() }).session();
  const ask = async (...argv: string[]): Promise<Reply> => execute(session, argv) as Reply;
  const docs = await readCommandDocs({ ask });
  const named = generatedNames(docs).map((name) => commandFrom(docs.get(name)!));
  const some = filled.map(([argv]) => argv!);
  return fc.oneof({ weight: 20, arbitrary: fc.oneof(...named) }, { weight: 1, arbitrary: some });
}
