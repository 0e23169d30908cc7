import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Clock, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import { parseEventClasses } from '../src/engine/notifications.ts';
import type { Session } from '../src/engine/session.ts';
import { encode, type Reply } from '../src/resp/index.ts';
import { CALL_ALL, CALL_ALL_FOR_EVER, evaluation } from './call-all-script.ts';
import { readCommandDocs } from './differential/command-docs.ts';
import { type Argv, commandFrom } from './differential/generators.ts';
import { BLOCKING_COMMANDS, INITIAL_DATA, SERVING_COMMANDS } from './differential/initial-data.ts';
import { filled, generatedNames } from './differential/steps.ts';
import { newSeed } from './new-seed.ts';

/**
 * A script that its budget stops is rolled back completely. Whatever commands it called, all keys have their earlier
 * contents, encodings, deadlines and order, no message was sent, no blocked client was served, and later commands have
 * the same results as in an engine in which the script never ran.
 *
 * HOLDFAST_UNDO_RUNS sets the number of scripts, HOLDFAST_SEED repeats a run.
 */
const { HOLDFAST_UNDO_RUNS = '150', HOLDFAST_SEED = newSeed() } = process.env;
const RUNS = Number(HOLDFAST_UNDO_RUNS);
const DATABASES = [0, 1, 2];
/** Some keys expire this soon. A script may begin after that and before the expiry timer fires. */
const SOON_MS = 500;

const UNDONE = 'Everything it wrote was undone';

interface Case {
  readonly initialData: readonly (readonly Argv[])[];
  readonly waits: readonly Argv[];
  readonly watched: readonly string[];
  readonly calls: readonly Argv[];
  readonly isLate: boolean;
  readonly after: readonly Argv[];
  /** The commands of a transaction before and after the script. */
  readonly around: readonly [readonly Argv[], readonly Argv[]];
}

it(`rolls back ${RUNS} random scripts`, { timeout: 60_000 + RUNS * 100 }, async () => {
  const calls = await anyCommand();
  const cases: fc.Arbitrary<Case> = fc.record({
    initialData: fc.tuple(...DATABASES.map(() => databaseData)),
    waits: fc.array(fc.constantFrom(...BLOCKING_COMMANDS), { maxLength: 3 }),
    watched: fc.subarray(['s1', 'h1', 'l1', 't1', 'z1', 'none']),
    calls: fc.array(calls, { minLength: 1, maxLength: 25, size: 'max' }),
    isLate: fc.boolean(),
    after: fc.array(
      calls.filter(([name]) => name !== 'spop'),
      { maxLength: 15, size: 'max' },
    ),
    around: fc.tuple(servingCommands, servingCommands),
  });
  const options = { numRuns: RUNS, seed: Number(HOLDFAST_SEED) };
  fc.assert(fc.property(cases, rollsBack), options);
  fc.assert(fc.property(cases, rollsBackInTransaction), options);
});

function rollsBack(tried: Case): void {
  const tested = new TestedEngine(tried);
  const before = tested.state();
  const late = tried.isLate ? SOON_MS + 1 : 0;
  const reply = tested.laterBy(late, () => tested.run(CALL_ALL_FOR_EVER, tried.calls));
  expect(reply).toContain(UNDONE);
  expect(tested.state()).toEqual(before);

  const untouched = new TestedEngine(tried);
  for (const each of [tested, untouched]) each.run(CALL_ALL, tried.after);
  expect(tested.state()).toEqual(untouched.state());
  for (const each of [tested, untouched]) each.clock.advance(1e10);
  expect(tested.state()).toEqual(untouched.state());
}

/** Only the script is rolled back, not the transaction around it. */
function rollsBackInTransaction(tried: Case): void {
  const [before, after] = tried.around;
  const tested = new TestedEngine(tried);
  const reply = tested.transact([...before, evaluation(CALL_ALL_FOR_EVER, tried.calls), ...after]);
  expect(reply).toContain(UNDONE);
  const untouched = new TestedEngine(tried);
  untouched.transact([...before, ...after]);
  expect(tested.state()).toEqual(untouched.state());
}

/** An engine with initial data, blocked clients, a client with WATCH and subscribers. */
class TestedEngine {
  readonly clock: VirtualClock = virtualClock();
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #watcher: Session;
  readonly #messages: string[] = [];
  #laterMs = 0;

  constructor({ initialData, waits, watched }: Case) {
    this.#engine = createEngine({
      clock: this.#shiftedClock(),
      random: seededRandom(1),
      settings: { 'script-budget-steps': '50000' },
    });
    this.#session = this.#newSession();
    for (const [database, commands] of initialData.entries()) {
      for (const argv of [['SELECT', `${database}`], ...commands]) this.#run(argv);
    }
    this.#run(['SELECT', '0']);
    this.#watcher = this.#newSession();
    if (watched.length > 0) execute(this.#watcher, ['WATCH', ...watched]);
    this.#engine.eventBits = parseEventClasses('KEAmn');
    execute(this.#newSession(), ['PSUBSCRIBE', '*']);
    execute(this.#newSession(), ['SSUBSCRIBE', 'news', 'sport']);
    for (const argv of waits) execute(this.#newSession(), argv);
    this.#messages.length = 0;
  }

  run(script: string, calls: readonly Argv[]): string {
    return this.#run(evaluation(script, calls));
  }

  transact(commands: readonly Argv[]): string {
    for (const argv of [['MULTI'], ...commands]) this.#run(argv);
    return this.#run(['EXEC']);
  }

  /** Calls `act` at a later time, before any timer has fired. */
  laterBy<Result>(durationMs: number, act: () => Result): Result {
    this.#laterMs = durationMs;
    const result = act();
    this.#laterMs = 0;
    return result;
  }

  /** The visible state, in order. The events of reading it are removed. */
  state(): unknown {
    const messages = [...this.#messages];
    const state = {
      messages,
      blocked: this.#engine.blocking.count,
      bytes: this.#engine.memory.data.bytes,
      isWatchBroken: this.#watcher.watchBroken,
      databases: DATABASES.map((database) => this.#databaseState(database)),
    };
    this.#messages.length = messages.length;
    return state;
  }

  #databaseState(database: number): unknown {
    this.#run(['SELECT', `${database}`]);
    const keys = this.#scanAll((cursor) => ['SCAN', cursor, 'COUNT', '3']);
    const state = {
      size: this.#run(['DBSIZE']),
      volatile: this.#engine.database(database).volatileSize,
      firstDeadline: this.#engine.database(database).firstDeadline(),
      keys: keys.map((key) => [key, ...this.#keyState(key)]),
    };
    this.#run(['SELECT', '0']);
    return state;
  }

  #keyState(key: string): string[] {
    const type = this.#run(['TYPE', key]).slice(1, -2);
    const reads = [
      ['OBJECT', 'ENCODING', key],
      ['PEXPIRETIME', key],
      ['MEMORY', 'USAGE', key],
      ...READS[type]!(key),
    ];
    return reads.map((argv) => this.#run(argv));
  }

  /** The elements of a scan, in its order. */
  #scanAll(step: (cursor: string) => Argv): string[] {
    const found: string[] = [];
    let cursor = '0';
    do {
      const [next, names] = execute(this.#session, step(cursor)) as [string, string[]];
      found.push(...names);
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  #run(argv: Argv): string {
    return encode(execute(this.#session, argv) as Reply, 2);
  }

  #newSession(): Session {
    const hear = (reply: Reply): unknown => this.#messages.push(encode(reply, 2));
    return this.#engine.session({ push: hear, resume: hear, close() {} });
  }

  #shiftedClock(): Clock {
    const { clock } = this;
    return { ...clock, monotonicMs: () => clock.monotonicMs() + this.#laterMs };
  }
}

const READS: Readonly<Record<string, (key: string) => readonly Argv[]>> = {
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

const servingCommands = fc.array(fc.constantFrom(...SERVING_COMMANDS), { maxLength: 4 });

/** Initial data with some large collections, and some keys that expire soon. */
const databaseData: fc.Arbitrary<Argv[]> = fc
  .tuple(
    fc.subarray([...INITIAL_DATA]),
    fc.array(filled, { maxLength: 2 }),
    fc.subarray(['s1', 's2', 'h2', 'l1', 't2', 'z2']),
    fc.nat(12),
  )
  .map(([initialData, large, ending, more]) => [
    ...large.flat(),
    ...initialData,
    ...Array.from({ length: more }, (_, at) => ['SET', `more${at}`, 'x']),
    ...ending.map((key, at) => ['PEXPIRE', key, `${SOON_MS - at}`]),
  ]);

/** Generates commands of all groups from the COMMAND DOCS of the engine. */
async function anyCommand(): Promise<fc.Arbitrary<Argv>> {
  const session = createEngine({ clock: virtualClock() }).session();
  const request = async (...argv: string[]): Promise<Reply> => execute(session, argv) as Reply;
  const docs = await readCommandDocs({ request });
  const named = generatedNames(docs).map((name) => commandFrom(docs.get(name)!));
  const some = filled.map(([argv]) => argv!);
  return fc.oneof({ weight: 20, arbitrary: fc.oneof(...named) }, { weight: 1, arbitrary: some });
}
