import { beforeEach, describe, expect, it } from 'vitest';
import { SimulatedDisk } from '../../test/simulated-disk.ts';
import { StepClock } from '../../test/step-clock.ts';
import { seededRandom } from '../clock/index.ts';
import { createEngine, type Engine, execute } from '../engine/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { bootOf } from './boot.ts';
import { LogError } from './errors.ts';
import { FILE_LINE_BYTES } from './frame.ts';
import type { AppendLog } from './log.ts';
import { openLog } from './open-log.ts';

const BOOT = '1'.repeat(32);
const OTHER_BOOT = '2'.repeat(32);

let disk: SimulatedDisk;
let clock: StepClock;
let reports: string[];
let fatal: string[];

interface Server {
  readonly engine: Engine;
  readonly log: AppendLog;
  run(...argv: string[]): unknown;
}

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new StepClock();
  reports = [];
  fatal = [];
});

async function start(bootId = BOOT): Promise<Server> {
  const engine = createEngine({ clock, random: seededRandom(1) });
  disk.wait = () => clock.turn();
  const { log } = await clock.until(
    openLog({
      engine,
      disk,
      clock,
      random: seededRandom(2),
      boot: bootOf(bootId, () => clock.monotonicMs() + 77_000),
      report: (message) => reports.push(message),
      onFatal: (message) => fatal.push(message),
    }),
  );
  const session = engine.session();
  return {
    engine,
    log,
    run(...argv) {
      const reply = execute(session, argv);
      log.commit();
      return reply;
    },
  };
}

/** The process is killed, and another starts. */
function restart(bootId = BOOT): Promise<Server> {
  disk = disk.crash('killed', seededRandom(1));
  return start(bootId);
}

async function turns(count = 30): Promise<void> {
  for (let turn = 0; turn < count; turn++) await clock.step();
}

describe('deadlines after a restart', () => {
  it('are the same, whatever happens to the wall clock, while the machine runs', async () => {
    const before = await start();
    before.run('SET', 'lock', 'a', 'PX', '10000');
    await clock.advance(4000);
    clock.jumpWall(3_600_000);
    const after = await restart();
    expect(after.run('PTTL', 'lock')).toBe(6000);
    clock.jumpWall(-7_200_000);
    await clock.advance(5999);
    expect((await restart()).run('PTTL', 'lock')).toBe(1);
  });

  it('a lease gets its whole time after the machine was restarted', async () => {
    const before = await start();
    before.run('SET', 'lock', 'a', 'PX', '10000');
    await clock.advance(4000);
    before.run('SET', 'other', 'a', 'PX', '20000');
    const after = await restart(OTHER_BOOT);
    expect(after.run('PTTL', 'lock')).toBe(10_000);
    expect(after.run('PTTL', 'other')).toBe(20_000);
  });

  it('a key that expired before the crash does not come back', async () => {
    const before = await start();
    before.run('SET', 'lock', 'a', 'PX', '1000');
    await clock.advance(1000);
    await turns(1);
    expect((await restart(OTHER_BOOT)).run('EXISTS', 'lock')).toBe(0);
  });

  it('a key whose deadline passed while no server ran expires when the next one has started', async () => {
    (await start()).run('SET', 'lock', 'a', 'PX', '1000');
    await clock.advance(5000);
    const after = await restart();
    expect(after.run('EXISTS', 'lock')).toBe(0);
    await turns(1);
    expect((await restart(OTHER_BOOT)).run('EXISTS', 'lock')).toBe(0);
  });
});

describe('a write that fails', () => {
  it('refuses writes with MISCONF, serves reads, and goes on when the disk has space again', async () => {
    const server = await start();
    server.run('SET', 'a', '1');
    disk.fault = { kind: 'write', code: 'ENOSPC', partBytes: 40 };
    server.run('SET', 'b', '2');
    expect(server.run('SET', 'c', '3')).toEqual(
      new ErrorReply('MISCONF Errors writing to the AOF file: ENOSPC: simulated'),
    );
    expect(server.run('GET', 'b')).toBe('2');
    disk.fault = undefined;
    await clock.advance(1000);
    expect(server.run('SET', 'c', '3')).toMatchObject({ text: 'OK' });
    const after = await restart();
    expect(after.run('MGET', 'a', 'b', 'c')).toEqual(['1', '2', '3']);
    expect(reports.join()).toMatch(/cannot write the log.*the log can be written again/);
  });

  it('its replies wait until it has succeeded', async () => {
    const { engine, log } = await start();
    const session = engine.session();
    disk.fault = { kind: 'write', code: 'ENOSPC' };
    execute(session, ['SET', 'b', '2']);
    const number = log.commit();
    expect(number).toBeGreaterThan(log.settled);
    execute(session, ['GET', 'b']);
    expect(log.commit()).toBeLessThanOrEqual(log.settled);
    disk.fault = undefined;
    await clock.advance(1000);
    expect(log.settled).toBe(number);
  });

  it('refuses a transaction whose commands were queued before', async () => {
    const server = await start();
    for (const argv of [['MULTI'], ['SET', 'a', '1']]) server.run(...argv);
    disk.fault = { kind: 'write', code: 'ENOSPC' };
    const other = server.engine.session();
    execute(other, ['SET', 'b', '2']);
    server.log.commit();
    expect(String((server.run('EXEC') as ErrorReply).message)).toContain('MISCONF');
    expect(server.run('EXISTS', 'a')).toBe(0);
  });
});

describe('a sync that fails', () => {
  it('with always: is fatal, and no reply leaves any more', async () => {
    const server = await start();
    server.engine.settings.put('appendfsync', 'always');
    disk.fault = { kind: 'sync', code: 'EIO' };
    server.run('SET', 'a', '1');
    await turns();
    expect(fatal).toHaveLength(1);
    expect(server.log.settled).toBe(0);
    expect(server.run('SET', 'b', '1')).toBeInstanceOf(ErrorReply);
  });

  it('with everysec: refuses writes until the whole state is in new files', async () => {
    const server = await start();
    server.run('SET', 'a', '1');
    disk.fault = { kind: 'sync', code: 'EIO' };
    await clock.advance(1000);
    await turns();
    expect(server.run('SET', 'b', '1')).toBeInstanceOf(ErrorReply);
    disk.fault = undefined;
    await clock.advance(1000);
    await turns();
    expect(server.run('SET', 'b', '1')).toMatchObject({ text: 'OK' });
    expect(disk.names().some((name) => name.endsWith('.base.aof'))).toBe(true);
    expect((await restart()).run('MGET', 'a', 'b')).toEqual(['1', '1']);
  });
});

describe('damage', () => {
  /** Three frames; all but the last are known to be on the disk. */
  async function threeFrames(): Promise<{ name: string; ends: number[] }> {
    const server = await start();
    server.engine.settings.put('appendfsync', 'always');
    const [name] = disk.names().filter((each) => each.includes('incr')) as [string];
    const ends = [FILE_LINE_BYTES];
    for (const key of ['a', 'b', 'c']) {
      server.run('SET', key, 'value');
      await turns(2);
      ends.push(disk.size(name));
    }
    return { name, ends };
  }

  it('of a frame that was on the disk stops the start, with file, byte and frame', async () => {
    const { name, ends } = await threeFrames();
    disk = disk.crash('killed', seededRandom(1));
    disk.flip(name, ends[1]! + 100);
    const started = start();
    await expect(started).rejects.toThrow(LogError);
    await expect(started).rejects.toThrow(`${name}, byte ${ends[1]}, frame 2: the CRC is wrong`);
  });

  it('of the last frame is a torn end: it is cut and reported', async () => {
    const { name, ends } = await threeFrames();
    disk = disk.crash('killed', seededRandom(1));
    disk.flip(name, ends[2]! + 100);
    const server = await start();
    expect(server.run('EXISTS', 'a', 'b', 'c')).toBe(2);
    expect(disk.size(name)).toBe(ends[2]);
    expect(reports).toEqual([expect.stringContaining(`from byte ${ends[2]} of ${name} on`)]);
  });

  it('of the manifest, or a missing file, stops the start', async () => {
    const { name } = await threeFrames();
    const intact = disk;
    disk = intact.crash('killed', seededRandom(1));
    disk.flip('appendonly.aof.manifest', 8);
    await expect(start()).rejects.toThrow('its CRC is wrong');
    disk = intact.crash('killed', seededRandom(1));
    disk.remove(name);
    await expect(start()).rejects.toThrow(`the file ${name} is missing`);
    disk = intact.crash('killed', seededRandom(1));
    disk.remove('appendonly.aof.manifest');
    await expect(start()).rejects.toThrow('but no appendonly.aof.manifest');
  });
});

describe('a rewrite', () => {
  it('begins by itself when the log has grown to twice its size', async () => {
    const server = await start();
    server.engine.settings.put('auto-aof-rewrite-min-size', '10000');
    for (let at = 0; at < 300; at++) server.run('SET', 'key', 'x'.repeat(100));
    await clock.advance(1000);
    await turns();
    expect(server.log.status).toMatchObject({ isRewriting: false, rewrites: 1, lastRewrite: 'ok' });
    expect(server.log.status.currentBytes).toBeLessThan(1000);
    expect(disk.names().filter((name) => name.endsWith('.aof'))).toHaveLength(2);
    expect((await restart()).run('GET', 'key')).toBe('x'.repeat(100));
  });

  it('that fails leaves the log as it is', async () => {
    const server = await start();
    server.run('SET', 'key', 'value');
    server.log.rewrite();
    disk.fault = { kind: 'write', code: 'ENOSPC' };
    await turns();
    disk.fault = undefined;
    expect(server.log.status).toMatchObject({ isRewriting: false, lastRewrite: 'err' });
    server.run('SET', 'key', 'later');
    expect((await restart()).run('GET', 'key')).toBe('later');
  });

  it('is refused while another is under way', async () => {
    const server = await start();
    expect(server.run('BGREWRITEAOF')).toMatchObject({
      text: 'Background append only file rewriting started',
    });
    expect(String((server.run('BGREWRITEAOF') as ErrorReply).message)).toContain('in progress');
  });
});

it('close writes and syncs everything, and ends the log in order', async () => {
  const server = await start();
  execute(server.engine.session(), ['SET', 'a', '1']);
  await clock.until(Promise.all([server.log.close(), server.log.close()]));
  disk = disk.crash('nothing', seededRandom(1));
  expect((await start()).run('GET', 'a')).toBe('1');
});

it('with always, turns that end during a sync share the next one', async () => {
  const { engine, log } = await start();
  engine.settings.put('appendfsync', 'always');
  const session = engine.session();
  execute(session, ['SET', 'a', '1']);
  const first = log.commit();
  execute(session, ['SET', 'b', '1']);
  const second = log.commit();
  execute(session, ['SET', 'c', '1']);
  expect([second, log.commit()]).toEqual([first + 1, first + 1]);
  await turns(1);
  expect(log.settled).toBe(first);
  await turns(1);
  expect(log.settled).toBe(second);
});
