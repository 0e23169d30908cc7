import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import type { Session } from '../src/engine/session.ts';
import { type AppendLog, bootOf, openLog } from '../src/log/index.ts';
import { encode, type Reply } from '../src/resp/index.ts';
import { CALL_ALL, CALL_ALL_FOR_EVER, evaluation } from './call-all-script.ts';
import { readCommandDocs } from './differential/command-docs.ts';
import { type Argv, commandFrom } from './differential/generators.ts';
import { BLOCKING_COMMANDS, INITIAL_DATA } from './differential/initial-data.ts';
import { filled, generatedNames } from './differential/steps.ts';
import { newSeed } from './new-seed.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { StepClock } from './step-clock.ts';

/**
 * Whatever commands clients send, an engine that loads the log has the same keys, values and deadlines: also if the log
 * is rewritten meanwhile, slice by slice, at any time. HOLDFAST_REPLAY_RUNS sets the number of runs.
 */
const { HOLDFAST_REPLAY_RUNS = '250', HOLDFAST_SEED = newSeed() } = process.env;
const RUNS = Number(HOLDFAST_REPLAY_RUNS);
const DATABASES = [0, 1, 2];

type Step =
  | { readonly kind: 'command'; readonly argv: Argv }
  | { readonly kind: 'transaction'; readonly commands: readonly Argv[] }
  /** A script that is stopped at its end, or not. */
  | { readonly kind: 'script'; readonly commands: readonly Argv[]; readonly isStopped: boolean }
  | { readonly kind: 'block'; readonly argv: Argv }
  | { readonly kind: 'rewrite' }
  /** Lets slices of the rewrite run. */
  | { readonly kind: 'turns'; readonly count: number }
  | { readonly kind: 'time'; readonly durationMs: number };

it(`${RUNS} random histories give the same state after a restart`, {
  timeout: 60_000 + RUNS * 400,
}, async () => {
  const command = await anyCommand();
  const commands = fc.array(command, { minLength: 1, maxLength: 6 });
  const steps: fc.Arbitrary<Step> = fc.oneof(
    { weight: 12, arbitrary: command.map((argv) => ({ kind: 'command' as const, argv })) },
    {
      weight: 2,
      arbitrary: commands.map((each) => ({ kind: 'transaction' as const, commands: each })),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('script' as const),
        commands,
        isStopped: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...BLOCKING_COMMANDS)
        .map((argv) => ({ kind: 'block' as const, argv })),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'rewrite' as const }) },
    {
      weight: 8,
      arbitrary: fc.constantFrom(1, 2, 3, 30).map((count) => ({ kind: 'turns' as const, count })),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(1, 700)
        .map((durationMs) => ({ kind: 'time' as const, durationMs })),
    },
  );
  const histories = fc.array(steps, { minLength: 20, maxLength: 120, size: 'max' });
  const property = fc.asyncProperty(histories, survives);
  await fc.assert(property, { numRuns: RUNS, seed: Number(HOLDFAST_SEED), endOnFailure: false });
});

async function survives(history: readonly Step[]): Promise<void> {
  const clock = new StepClock();
  const server = await Server.start(new SimulatedDisk(), clock);
  for (const argv of INITIAL_DATA) server.run(argv);
  for (let at = 0; at < MORE_KEYS; at++) server.run(['SET', `more${at}`, 'x']);
  clock.tickMs = TICK_MS;
  for (const step of history) await server.take(step);
  clock.tickMs = 0;
  await server.settle();
  const before = server.state();
  const disk = server.disk.crash('killed', seededRandom(1));
  const after = await Server.start(disk, server.clock);
  expect(after.state()).toEqual(before);
}

/** More keys than a slice of a rewrite writes. */
const MORE_KEYS = 30;
const TICK_MS = 1;

class Server {
  readonly disk: SimulatedDisk;
  readonly clock: StepClock;
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #log: AppendLog;

  private constructor(disk: SimulatedDisk, clock: StepClock, engine: Engine, log: AppendLog) {
    this.disk = disk;
    this.clock = clock;
    this.#engine = engine;
    this.#log = log;
    this.#session = engine.session();
  }

  static async start(disk: SimulatedDisk, clock: StepClock): Promise<Server> {
    disk.wait = () => clock.turn();
    const engine = createEngine({
      clock,
      random: seededRandom(1),
      settings: { 'script-budget-steps': '50000', 'auto-aof-rewrite-percentage': '0' },
    });
    const opening = openLog({
      engine,
      disk,
      clock,
      random: seededRandom(2),
      boot: bootOf('1'.repeat(32), () => clock.monotonicMs() + 5_000),
    });
    const { log } = await clock.until(opening);
    return new Server(disk, clock, engine, log);
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'command':
        this.run(step.argv);
        break;
      case 'transaction':
        for (const argv of [['MULTI'], ...step.commands, ['EXEC']]) this.run(argv);
        break;
      case 'script':
        this.run(evaluation(step.isStopped ? CALL_ALL_FOR_EVER : CALL_ALL, step.commands));
        break;
      case 'block':
        execute(this.#engine.session(), step.argv);
        break;
      case 'rewrite':
        this.#log.rewrite();
        break;
      case 'turns':
        for (let turn = 0; turn < step.count; turn++) await this.clock.step();
        break;
      case 'time':
        await this.clock.advance(step.durationMs);
        break;
    }
    this.#log.commit();
  }

  /** With `always`, a turn may wait for the sync of the turn before. */
  async settle(): Promise<void> {
    while (this.#log.commit() > this.#log.settled) await this.clock.step();
  }

  run(argv: Argv): string {
    const outcome = execute(this.#session, argv);
    return typeof outcome === 'symbol' ? '' : encode(outcome as Reply, 2);
  }

  /** The keys with their values and deadlines, in no order. Expires what is due first, in both engines alike. */
  state(): unknown {
    this.run(['RESET']);
    const databases = DATABASES.map((database) => this.#databaseState(database));
    this.#log.commit();
    return databases;
  }

  #databaseState(database: number): unknown {
    this.run(['SELECT', `${database}`]);
    const keys = [...(execute(this.#session, ['KEYS', '*']) as string[])].sort();
    return keys.map((key) => [key, this.run(['PEXPIRETIME', key]), ...this.#values(key)]);
  }

  #values(key: string): string[] {
    const type = this.run(['TYPE', key]).slice(1, -2);
    const reply = execute(this.#session, READS[type]!(key));
    if (type === 'set' || type === 'hash') return [type, JSON.stringify(sorted(reply, type))];
    // As in Redis, a sorted set that was large keeps a score of -0. The log makes a small one, which has 0.
    return [type, encode(reply as Reply, 2).replaceAll('$2\r\n-0\r\n', '$1\r\n0\r\n')];
  }
}

function sorted(reply: unknown, type: 'set' | 'hash'): unknown {
  if (type === 'set') return [...(reply as { members: string[] }).members].sort();
  return [...(reply as { entries: [string, string][] }).entries].map(String).sort();
}

const READS: Readonly<Record<string, (key: string) => Argv>> = {
  string: (key) => ['GET', key],
  list: (key) => ['LRANGE', key, '0', '-1'],
  hash: (key) => ['HGETALL', key],
  set: (key) => ['SMEMBERS', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
};

async function anyCommand(): Promise<fc.Arbitrary<Argv>> {
  const session = createEngine({ clock: virtualClock() }).session();
  const request = async (...argv: string[]): Promise<Reply> => execute(session, argv) as Reply;
  const docs = await readCommandDocs({ request });
  const named = generatedNames(docs).map((name) => commandFrom(docs.get(name)!));
  const some = filled.map(([argv]) => argv!);
  const extra = fc.constantFrom<Argv>(
    ['SWAPDB', '0', '1'],
    ['FLUSHDB'],
    ['SELECT', '1'],
    ['SELECT', '0'],
    ['PEXPIRE', 'l1', '300'],
    ['PEXPIRE', 'h1', '300'],
    ['SPOP', 't1', '2'],
    ['SPOP', 't2', '3'],
    ['APPEND', 's2', 'more'],
    ['APPEND', 'new', ''],
    ['SETRANGE', 's3', '9', 'x'],
    ['LINSERT', 'l1', 'BEFORE', 'a', 'x'],
    ['LSET', 'l1', '-1', 'y'],
    ['LREM', 'l1', '-1', 'a'],
    ['LMOVE', 'l1', 'l1', 'LEFT', 'RIGHT'],
    // The last keys move to the slots of these: a rewrite may meet them twice.
    ['DEL', 'more0', 'more1', 'more2', 'more3'],
    ['RPUSH', 'late', 'a', 'b'],
    ['LMOVE', 'l1', 'l2', 'LEFT', 'RIGHT'],
  );
  return fc.oneof(
    { weight: 20, arbitrary: fc.oneof(...named) },
    { weight: 1, arbitrary: some },
    { weight: 8, arbitrary: extra },
  );
}
