import { expect, it } from 'vitest';
import { type Random, seededRandom } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import { type AppendLog, bootOf, LogError, openLog } from '../src/log/index.ts';
import { readManifest } from '../src/log/manifest-file.ts';
import { loadLog, type Recovery } from '../src/log/recovery.ts';
import { newSeed } from './new-seed.ts';
import { type CrashKind, SimulatedDisk } from './simulated-disk.ts';
import { StepClock } from './step-clock.ts';

/**
 * A server writes, rewrites its log and restarts on a simulated disk. After every step of the disk (write, sync, rename,
 * remove) it crashes in every way. What a new server loads is the state after some unit of work, never half of one; no unit is
 * missing whose reply was sent (with `always`; with any mode if only the process was killed); damage is reported.
 *
 * HOLDFAST_RECOVERIES sets the number of recoveries.
 */
const { HOLDFAST_RECOVERIES = '30000', HOLDFAST_SEED = newSeed() } = process.env;
const RECOVERIES = Number(HOLDFAST_RECOVERIES);
const KINDS: readonly CrashKind[] = [
  'killed',
  'nothing',
  'prefix',
  'torn',
  'reordered',
  'bit flip',
];
const UNITS = 30;
/** More than a slice of a rewrite writes. */
const KEYS = 20;

it.each(['always', 'everysec'] as const)(
  `${RECOVERIES / 2} crashes with appendfsync %s`,
  { timeout: 120_000 + RECOVERIES * 3 },
  async (mode) => {
    const random = seededRandom(Number(HOLDFAST_SEED));
    const counts = { recoveries: 0, damaged: 0, torn: 0 };
    while (counts.recoveries < RECOVERIES / 2) {
      const scene = new Scene(mode, random, counts);
      await scene.run();
    }
    // The test would prove nothing if damage and torn ends did not occur.
    expect(counts.damaged).toBeGreaterThan(RECOVERIES / 200);
    expect(counts.torn).toBeGreaterThan(RECOVERIES / 200);
  },
);

class Scene {
  readonly #mode: 'always' | 'everysec';
  readonly #random: Random;
  readonly #counts: { recoveries: number; damaged: number; torn: number };
  readonly #clock = new StepClock();
  readonly #boot = bootOf('1'.repeat(32), () => this.#clock.monotonicMs());
  /** The state after each unit of work: the first is that of an empty engine. */
  readonly #states: string[] = [''];
  /** Units whose replies were sent. */
  #acknowledged = 0;
  #disk = new SimulatedDisk();
  #failure: unknown;
  #engine!: Engine;
  /** Creating an engine takes longer than loading a short log. */
  readonly #loaded = this.#newEngine();
  #log!: AppendLog;

  constructor(
    mode: 'always' | 'everysec',
    random: Random,
    counts: { recoveries: number; damaged: number; torn: number },
  ) {
    this.#mode = mode;
    this.#random = random;
    this.#counts = counts;
  }

  async run(): Promise<void> {
    this.#clock.tickMs = 1;
    await this.#start();
    for (let unit = 1; unit <= UNITS; unit++) {
      await this.#unit(unit);
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#random.next() < 0.1) this.#log.rewrite();
      if (this.#random.next() < 0.1) await this.#restart();
    }
    await this.#pass();
  }

  async #start(): Promise<void> {
    this.#disk.onStep = (step) => this.#crash(step);
    this.#disk.wait = () => this.#clock.turn();
    this.#engine = this.#newEngine();
    this.#engine.settings.put('appendfsync', this.#mode);
    const opening = openLog({
      engine: this.#engine,
      disk: this.#disk,
      clock: this.#clock,
      random: this.#random,
      boot: this.#boot,
    });
    this.#log = (await this.#clock.until(opening)).log;
  }

  /** Ends in order, or by a kill that leaves the files to the next server. */
  async #restart(): Promise<void> {
    if (this.#random.next() < 0.5) {
      await this.#clock.until(this.#log.close());
    } else {
      await this.#pass();
      this.#engine.changes.isOn = false;
      // A killed process sends no reply.
      this.#log.onSettled = () => {};
    }
    const disk = this.#disk.crash('killed', this.#random);
    this.#disk.onStep = () => {};
    this.#disk = disk;
    await this.#start();
  }

  /** Changes several keys in one transaction; `unit` tells which it was. */
  async #unit(unit: number): Promise<void> {
    const session = this.#engine.session();
    const key = `key${unit % KEYS}`;
    const earlier = `key${(unit + 9) % KEYS}`;
    const commands = [
      ['SET', 'unit', `${unit}`],
      ['SET', key, 'x'.repeat(Math.floor(this.#random.next() * 300)), 'PX', '100000'],
      ['SET', earlier, `${unit}`],
      ['RPUSH', 'list', `${unit}`],
      ['HSET', 'hash', key, `${unit}`],
      ...(unit % 4 === 0 ? [['LPOP', 'list']] : []),
      ...(unit % 7 === 0 ? [['DEL', 'key1', 'hash']] : []),
    ];
    for (const argv of [['MULTI'], ...commands, ['EXEC']]) execute(session, argv);
    this.#states.push(stateOf(this.#engine));
    const needed = this.#log.commit();
    const acknowledge = (): void => {
      if (this.#log.settled < needed || unit <= this.#acknowledged) return;
      this.#acknowledged = unit;
      this.#crash('a reply');
    };
    acknowledge();
    this.#log.onSettled = acknowledge;
    await this.#pass();
  }

  async #pass(): Promise<void> {
    if (this.#random.next() < 0.1) await this.#clock.advance(1000);
    const turns = Math.floor(this.#random.next() * 4);
    for (let turn = 0; turn < turns; turn++) await this.#clock.step();
  }

  #crash(step: string): void {
    for (const kind of KINDS) {
      this.#counts.recoveries++;
      const disk = this.#disk.crash(kind, this.#random);
      try {
        this.#check(disk, kind, `${kind} after ${step}`);
      } catch (error) {
        // The log would take it for an error of the disk.
        this.#failure ??= error;
      }
    }
  }

  #check(disk: SimulatedDisk, kind: CrashKind, place: string): void {
    const engine = this.#loaded;
    engine.database(0).flush();
    let recovery: Recovery;
    try {
      recovery = loadLog(disk, readManifest(disk), this.#boot, engine, this.#clock);
    } catch (error) {
      if (!(error instanceof LogError && kind === 'bit flip'))
        throw new Error(place, { cause: error });
      this.#counts.damaged++;
      return;
    }
    if (recovery.tornAt !== undefined) this.#counts.torn++;
    const state = stateOf(engine);
    const unit = this.#states.indexOf(state);
    if (unit < 0) throw new Error(`${place}: half a unit of work:\n${state}`);
    const mustHave = kind === 'killed' || this.#mode === 'always' ? this.#acknowledged : 0;
    const isReported = kind === 'bit flip' && recovery.tornAt !== undefined;
    if (unit < mustHave && !isReported) {
      throw new Error(`${place}: unit ${mustHave} was acknowledged, but ${unit} is the last`);
    }
  }

  #newEngine(): Engine {
    return createEngine({ clock: this.#clock, random: seededRandom(1) });
  }
}

function stateOf(engine: Engine): string {
  const session = engine.session();
  const keys = [...(execute(session, ['KEYS', '*']) as string[])].sort();
  return keys.map((key) => `${key} ${valueText(engine, key)}`).join('\n');
}

function valueText(engine: Engine, key: string): string {
  const value = engine.database(0).peek(key)!;
  const hasEnd = engine.database(0).deadline(key) !== Number.POSITIVE_INFINITY;
  if (typeof value === 'string') return `${value} ${hasEnd}`;
  if (value.type === 'list') return value.slice(0, value.size).join();
  if (value.type === 'hash')
    return value
      .fields()
      .map((field) => `${field}=${value.get(field)}`)
      .sort()
      .join();
  return '';
}
