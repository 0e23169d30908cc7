import { beforeEach, describe, expect, it } from 'vitest';
import { LogScene, OTHER_BOOT } from '../../test/log-scene.ts';
import { seededRandom } from '../clock/index.ts';
import { execute } from '../engine/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { LogError } from './errors.ts';
import { FILE_LINE_BYTES } from './frame.ts';

let scene: LogScene;

beforeEach(() => {
  scene = new LogScene();
});

describe('deadlines after a restart', () => {
  it('are the same, whatever happens to the wall clock, while the machine runs', async () => {
    const before = await scene.start();
    before.run('SET', 'lock', 'a', 'PX', '10000');
    await scene.clock.advance(4000);
    scene.clock.jumpWall(3_600_000);
    const after = await scene.restart();
    expect(after.run('PTTL', 'lock')).toBe(6000);
    scene.clock.jumpWall(-7_200_000);
    await scene.clock.advance(5999);
    expect((await scene.restart()).run('PTTL', 'lock')).toBe(1);
  });

  it('a lease gets its whole time after the machine was restarted', async () => {
    const before = await scene.start();
    before.run('SET', 'lock', 'a', 'PX', '10000');
    await scene.clock.advance(4000);
    before.run('SET', 'other', 'a', 'PX', '20000');
    const after = await scene.restart(OTHER_BOOT);
    expect(after.run('PTTL', 'lock')).toBe(10_000);
    expect(after.run('PTTL', 'other')).toBe(20_000);
  });

  it.each([
    ['LMOVE', 'list', 'list', 'LEFT', 'RIGHT'],
    ['RPOPLPUSH', 'list', 'list'],
  ])('%s of the only element keeps the deadline of its list', async (...argv) => {
    const before = await scene.start();
    before.run('RPUSH', 'list', 'a');
    before.run('PEXPIRE', 'list', '10000');
    expect(before.run(...argv)).toBe('a');
    const after = await scene.restart();
    expect([after.run('PTTL', 'list'), after.run('LRANGE', 'list', '0', '-1')]).toEqual([
      10_000,
      ['a'],
    ]);
  });

  it('a key that expired before the crash does not come back', async () => {
    const before = await scene.start();
    before.run('SET', 'lock', 'a', 'PX', '1000');
    await scene.clock.advance(1000);
    await scene.turns(1);
    expect((await scene.restart(OTHER_BOOT)).run('EXISTS', 'lock')).toBe(0);
  });

  it('a key whose deadline passed while no server ran expires when the next one has started', async () => {
    (await scene.start()).run('SET', 'lock', 'a', 'PX', '1000');
    await scene.clock.advance(5000);
    const after = await scene.restart();
    expect(after.run('EXISTS', 'lock')).toBe(0);
    await scene.turns(1);
    expect((await scene.restart(OTHER_BOOT)).run('EXISTS', 'lock')).toBe(0);
  });
});

describe('a write that fails', () => {
  it('refuses writes with MISCONF, serves reads, and goes on when the disk has space again', async () => {
    const server = await scene.start();
    server.run('SET', 'a', '1');
    scene.disk.fault = { kind: 'write', code: 'ENOSPC', partBytes: 40 };
    server.run('SET', 'b', '2');
    expect(server.run('SET', 'c', '3')).toEqual(
      new ErrorReply('MISCONF Errors writing to the AOF file: ENOSPC: simulated'),
    );
    expect(server.run('GET', 'b')).toBe('2');
    scene.disk.fault = undefined;
    await scene.clock.advance(1000);
    expect(server.run('SET', 'c', '3')).toMatchObject({ text: 'OK' });
    const after = await scene.restart();
    expect(after.run('MGET', 'a', 'b', 'c')).toEqual(['1', '2', '3']);
    expect(scene.reports.join()).toMatch(/cannot write the log.*the log can be written again/);
  });

  it('refuses the first write of a script, and serves scripts that only read', async () => {
    const server = await scene.start();
    const script = (text: string): unknown => server.run('EVAL', text, '1', 'a');
    server.run('SET', 'a', '1');
    scene.disk.fault = { kind: 'write', code: 'ENOSPC' };
    server.run('SET', 'b', '2');
    expect(script("return redis.call('GET', KEYS[1])")).toBe('1');
    const misconf = { message: expect.stringMatching(/^MISCONF .*ENOSPC/) };
    expect(script("redis.call('GET', KEYS[1]) return redis.call('DEL', KEYS[1])")).toMatchObject(
      misconf,
    );
    expect(script('#!lua\nreturn 1')).toMatchObject(misconf);
    for (const argv of [['MULTI'], ['EVAL', "return redis.call('DEL', KEYS[1])", '1', 'a']]) {
      server.run(...argv);
    }
    expect(server.run('EXEC')).toMatchObject([misconf]);
    expect(server.run('GET', 'a')).toBe('1');
  });

  it('its replies wait until it has succeeded', async () => {
    const { engine, log } = await scene.start();
    const session = engine.session();
    scene.disk.fault = { kind: 'write', code: 'ENOSPC' };
    execute(session, ['SET', 'b', '2']);
    const number = log.commit();
    expect(number).toBeGreaterThan(log.settled);
    execute(session, ['GET', 'b']);
    expect(log.commit()).toBeLessThanOrEqual(log.settled);
    scene.disk.fault = undefined;
    await scene.clock.advance(1000);
    expect(log.settled).toBe(number);
  });

  it('refuses a transaction whose commands were queued before', async () => {
    const server = await scene.start();
    for (const argv of [['MULTI'], ['SET', 'a', '1']]) server.run(...argv);
    scene.disk.fault = { kind: 'write', code: 'ENOSPC' };
    const other = server.engine.session();
    execute(other, ['SET', 'b', '2']);
    server.log.commit();
    expect(String((server.run('EXEC') as ErrorReply).message)).toContain('MISCONF');
    expect(server.run('EXISTS', 'a')).toBe(0);
  });
});

describe('a sync that fails', () => {
  it('with always: is fatal, and no reply leaves any more', async () => {
    const server = await scene.start();
    server.engine.settings.put('appendfsync', 'always');
    scene.disk.fault = { kind: 'sync', code: 'EIO' };
    server.run('SET', 'a', '1');
    await scene.turns();
    expect(scene.fatal).toHaveLength(1);
    expect(server.log.settled).toBe(0);
    expect(server.run('SET', 'b', '1')).toBeInstanceOf(ErrorReply);
  });

  it('with everysec: refuses writes until the whole state is in new files', async () => {
    const server = await scene.start();
    server.run('SET', 'a', '1');
    scene.disk.fault = { kind: 'sync', code: 'EIO' };
    await scene.clock.advance(1000);
    await scene.turns();
    expect(server.run('SET', 'b', '1')).toBeInstanceOf(ErrorReply);
    scene.disk.fault = undefined;
    await scene.clock.advance(1000);
    await scene.turns();
    expect(server.run('SET', 'b', '1')).toMatchObject({ text: 'OK' });
    expect(scene.disk.names().some((name) => name.endsWith('.base.aof'))).toBe(true);
    expect((await scene.restart()).run('MGET', 'a', 'b')).toEqual(['1', '1']);
  });
});

describe('damage', () => {
  /** Three frames; all but the last are known to be on the scene.disk. */
  async function threeFrames(): Promise<{ name: string; ends: number[] }> {
    const server = await scene.start();
    server.engine.settings.put('appendfsync', 'always');
    const [name] = scene.disk.names().filter((each) => each.includes('incr')) as [string];
    const ends = [FILE_LINE_BYTES];
    for (const key of ['a', 'b', 'c']) {
      server.run('SET', key, 'value');
      await scene.turns(2);
      ends.push(scene.disk.size(name));
    }
    return { name, ends };
  }

  it('of a frame that was on the disk stops the start, with file, byte and frame', async () => {
    const { name, ends } = await threeFrames();
    scene.disk = scene.disk.crash('killed', seededRandom(1));
    scene.disk.flip(name, ends[1]! + 100);
    const started = scene.start();
    await expect(started).rejects.toThrow(LogError);
    await expect(started).rejects.toThrow(`${name}, byte ${ends[1]}, frame 2: the CRC is wrong`);
  });

  it('of the last frame is a torn end: it is cut and reported', async () => {
    const { name, ends } = await threeFrames();
    scene.disk = scene.disk.crash('killed', seededRandom(1));
    scene.disk.flip(name, ends[2]! + 100);
    const server = await scene.start();
    expect(server.run('EXISTS', 'a', 'b', 'c')).toBe(2);
    expect(scene.disk.size(name)).toBe(ends[2]);
    expect(scene.reports).toEqual([expect.stringContaining(`from byte ${ends[2]} of ${name} on`)]);
  });

  it('of the manifest, or a missing file, stops the start', async () => {
    const { name } = await threeFrames();
    const intact = scene.disk;
    scene.disk = intact.crash('killed', seededRandom(1));
    scene.disk.flip('appendonly.aof.manifest', 8);
    await expect(scene.start()).rejects.toThrow('its CRC is wrong');
    scene.disk = intact.crash('killed', seededRandom(1));
    scene.disk.remove(name);
    await expect(scene.start()).rejects.toThrow(`the file ${name} is missing`);
    scene.disk = intact.crash('killed', seededRandom(1));
    scene.disk.remove('appendonly.aof.manifest');
    await expect(scene.start()).rejects.toThrow('but no appendonly.aof.manifest');
  });
});

describe('a rewrite', () => {
  it('begins by itself when the log has grown to twice its size', async () => {
    const server = await scene.start();
    server.engine.settings.put('auto-aof-rewrite-min-size', '10000');
    for (let at = 0; at < 300; at++) server.run('SET', 'key', 'x'.repeat(100));
    await scene.clock.advance(1000);
    await scene.turns();
    expect(server.log.status).toMatchObject({ isRewriting: false, rewrites: 1, lastRewrite: 'ok' });
    expect(server.log.status.currentBytes).toBeLessThan(1000);
    expect(scene.disk.names().filter((name) => name.endsWith('.aof'))).toHaveLength(2);
    expect((await scene.restart()).run('GET', 'key')).toBe('x'.repeat(100));
  });

  it('that fails leaves the log as it is', async () => {
    const server = await scene.start();
    server.run('SET', 'key', 'value');
    server.log.rewrite();
    scene.disk.fault = { kind: 'write', code: 'ENOSPC' };
    await scene.turns();
    scene.disk.fault = undefined;
    expect(server.log.status).toMatchObject({ isRewriting: false, lastRewrite: 'err' });
    server.run('SET', 'key', 'later');
    expect((await scene.restart()).run('GET', 'key')).toBe('later');
  });

  it('is refused while another is under way', async () => {
    const server = await scene.start();
    expect(server.run('BGREWRITEAOF')).toMatchObject({
      text: 'Background append only file rewriting started',
    });
    expect(String((server.run('BGREWRITEAOF') as ErrorReply).message)).toContain('in progress');
  });
});

it('close writes and syncs everything, and ends the log in order', async () => {
  const server = await scene.start();
  execute(server.engine.session(), ['SET', 'a', '1']);
  await scene.clock.until(Promise.all([server.log.close(), server.log.close()]));
  scene.disk = scene.disk.crash('nothing', seededRandom(1));
  expect((await scene.start()).run('GET', 'a')).toBe('1');
});

it('with always, turns that end during a sync share the next one', async () => {
  const { engine, log } = await scene.start();
  engine.settings.put('appendfsync', 'always');
  const session = engine.session();
  execute(session, ['SET', 'a', '1']);
  const first = log.commit();
  execute(session, ['SET', 'b', '1']);
  const second = log.commit();
  execute(session, ['SET', 'c', '1']);
  expect([second, log.commit()]).toEqual([first + 1, first + 1]);
  await scene.turns(1);
  expect(log.settled).toBe(first);
  await scene.turns(1);
  expect(log.settled).toBe(second);
});
