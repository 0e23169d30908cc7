import { seededRandom } from '../src/clock/index.ts';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { type AppendLog, bootOf, openLog } from '../src/log/index.ts';
import type { Recovery } from '../src/log/recovery.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { StepClock } from './step-clock.ts';

export const BOOT = '1'.repeat(32);
export const OTHER_BOOT = '2'.repeat(32);

/** An engine with its log. */
export interface LoggedEngine {
  readonly engine: Engine;
  readonly log: AppendLog;
  readonly recovery: Recovery;
  /** Runs a command in a turn of its own. */
  run(...argv: string[]): unknown;
}

/** A simulated disk, and the servers that use it one after the other. Turns and time pass only by calls. */
export class LogScene {
  disk = new SimulatedDisk();
  readonly clock = new StepClock();
  readonly reports: string[] = [];
  readonly fatal: string[] = [];

  async start(bootId = BOOT): Promise<LoggedEngine> {
    const { disk, clock } = this;
    const engine = createEngine({ clock, random: seededRandom(1) });
    disk.wait = () => clock.turn();
    const { log, recovery } = await clock.until(
      openLog({
        engine,
        disk,
        clock,
        random: seededRandom(2),
        boot: bootOf(bootId, () => clock.monotonicMs() + 77_000),
        report: (message) => this.reports.push(message),
        onFatal: (message) => this.fatal.push(message),
      }),
    );
    const session = engine.session();
    return {
      engine,
      log,
      recovery,
      run(...argv) {
        const reply = execute(session, argv);
        log.commit();
        return reply;
      },
    };
  }

  /** The process is killed, and another starts. */
  restart(bootId = BOOT): Promise<LoggedEngine> {
    this.disk = this.disk.crash('killed', seededRandom(1));
    return this.start(bootId);
  }

  /** The machine crashes: what was not synced is lost. Then a server starts. */
  crash(bootId = OTHER_BOOT): Promise<LoggedEngine> {
    this.disk = this.disk.crash('nothing', seededRandom(1));
    return this.start(bootId);
  }

  async turns(count = 30): Promise<void> {
    for (let turn = 0; turn < count; turn++) await this.clock.step();
  }
}
