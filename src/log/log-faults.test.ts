import { beforeEach, describe, expect, it } from 'vitest';
import { LogScene, OTHER_BOOT } from '../../test/log-scene.ts';
import { execute } from '../engine/index.ts';

let scene: LogScene;

beforeEach(() => {
  scene = new LogScene();
});

describe('CONFIG SET appendfsync', () => {
  it('from no to always syncs earlier frames, so that replies to reads leave', async () => {
    const { log, run, engine } = await scene.start();
    run('CONFIG', 'SET', 'appendfsync', 'no');
    run('SET', 'a', '1');
    run('CONFIG', 'SET', 'appendfsync', 'always');
    execute(engine.session(), ['GET', 'a']);
    const number = log.commit();
    await scene.turns();
    expect(log.settled).toBe(number);
  });

  it('from always to everysec during a sync writes the changes that waited for it', async () => {
    const { log, run, engine } = await scene.start();
    engine.settings.put('appendfsync', 'always');
    scene.disk.wait = () => scene.turns(5);
    run('SET', 'a', '1');
    execute(engine.session(), ['SET', 'b', '1']);
    const number = log.commit();
    await scene.turns(1);
    // No client receives a reply, so that no turn ends with a commit.
    engine.settings.put('appendfsync', 'everysec');
    await scene.turns();
    expect(log.settled).toBe(number);
  });
});

describe('with always', () => {
  it('a frame that a rewrite has written before its new increment is synced at once', async () => {
    const { log, engine } = await scene.start();
    engine.settings.put('appendfsync', 'always');
    for (let at = 0; at < 1000; at++) execute(engine.session(), ['SET', `key${at}`, 'x']);
    log.commit();
    await scene.turns();
    scene.clock.tickMs = 1;
    let folderSyncs = 0;
    scene.disk.onStep = (step) => {
      // The rewrite changes to its increment before the turn ends.
      if (step === 'sync names' && ++folderSyncs === 2) {
        execute(engine.session(), ['SET', 'late', 'x']);
      }
    };
    log.rewrite();
    await scene.turns(8);
    expect(log.status.isRewriting).toBe(true);
    expect(log.settled).toBe(log.commit());
  });

  it('changes that wait for a slow sync are written when they are many', async () => {
    const { log, run, engine } = await scene.start();
    engine.settings.put('appendfsync', 'always');
    run('SET', 'a', '1');
    for (let at = 0; at < 40; at++) run('SET', 'a', 'x'.repeat(1_000_000));
    expect(log.status.isSyncing).toBe(true);
    expect(log.status.bufferBytes).toBeLessThan(17_000_000);
    const number = log.commit();
    await scene.turns();
    expect(log.settled).toBe(number);
  });
});

describe('a rewrite that begins during a sync', () => {
  it.each(['always', 'everysec'])(
    'does not close a file that has unsynced frames: %s',
    async (mode) => {
      const { log, run, engine } = await scene.start();
      engine.settings.put('appendfsync', mode);
      for (let at = 0; at < 200; at++) {
        run('SET', 'key', `${at}`);
        if (at % 9 === 0) log.rewrite();
        if (at % 4 === 0) await scene.clock.advance(1000);
        await scene.turns(at % 3);
      }
      await scene.clock.advance(1000);
      await scene.turns(100);
      expect([scene.fatal, scene.reports]).toEqual([[], []]);
      expect(log.settled).toBe(log.commit());
      expect(scene.disk.openFiles).toBe(1);
    },
  );
});

describe('a failed sync', () => {
  it('during a rewrite starts the rewrite again, because its increment may have lost frames', async () => {
    const { log, run } = await scene.start();
    for (let at = 0; at < 300; at++) run('SET', `key${at}`, 'x');
    await scene.clock.advance(1000);
    scene.clock.tickMs = 1;
    log.rewrite();
    await scene.turns(12);
    run('SET', 'key0', 'late');
    scene.disk.fault = { kind: 'sync', code: 'EIO', name: '2.incr' };
    await scene.clock.advance(1000);
    await scene.turns(2);
    expect(log.status).toMatchObject({ isRewriting: true, lastWrite: 'err' });
    scene.disk.fault = undefined;
    await scene.clock.advance(1000);
    await scene.turns(400);
    expect(log.status).toMatchObject({ isRewriting: false, lastWrite: 'ok' });
    expect(scene.disk.names().join()).not.toContain('2.incr');
  });

  it('of a rewrite after a failed sync is not taken for success', async () => {
    const { log, run, engine } = await scene.start();
    run('SET', 'a', '1', 'PX', '2500');
    scene.disk.fault = { kind: 'sync', code: 'EIO', name: '1.incr' };
    await scene.clock.advance(1000);
    scene.disk.onStep = (step) => {
      // A key expires while the base file is synced, and the frame of that cannot be synced.
      if (!/^sync .*base/.test(step)) return;
      engine.database(0).delete('a');
      engine.endUnit();
      log.commit();
      scene.disk.fault = { kind: 'sync', code: 'EIO', name: 'incr' };
      scene.disk.onStep = () => {};
    };
    await scene.turns(100);
    expect(log.status).toMatchObject({ lastWrite: 'err', lastRewrite: 'err' });
  });

  it('at the end does not mark the log as ended in order', async () => {
    const { log, run } = await scene.start();
    run('SET', 'a', '1');
    scene.disk.fault = { kind: 'sync', code: 'EIO' };
    await scene.clock.until(log.close());
    scene.disk.fault = undefined;
    expect((await scene.restart()).recovery.isClean).toBe(false);
  });

  it('of the folder after a rewrite keeps the base file that the manifest names', async () => {
    const { log, run } = await scene.start();
    run('SET', 'a', '1');
    log.rewrite();
    scene.disk.onStep = (step) => {
      if (step !== 'rename temp-manifest' || !scene.disk.names().join().includes('base')) return;
      scene.disk.fault = { kind: 'sync names', code: 'EIO' };
    };
    await scene.turns();
    expect(log.status.lastRewrite).toBe('err');
    scene.disk.fault = undefined;
    run('SET', 'b', '1');
    expect((await scene.restart()).run('EXISTS', 'a', 'b')).toBe(2);
  });
});

describe('a failed write', () => {
  it('whose bytes could not be cut is cut before the next write', async () => {
    const { run } = await scene.start();
    scene.disk.fault = { kind: 'write', code: 'EIO', partBytes: 30, failsCut: true };
    run('SET', 'a', '1');
    scene.disk.fault = undefined;
    await scene.clock.advance(1000);
    run('SET', 'b', '1');
    expect((await scene.restart()).run('EXISTS', 'a', 'b')).toBe(2);
  });

  it('at the end does not keep the server from ending', async () => {
    const { log, run } = await scene.start();
    run('SET', 'a', '1');
    scene.disk.fault = { kind: 'write', code: 'ENOSPC', partBytes: 5 };
    await scene.clock.until(log.close());
    scene.disk.fault = undefined;
    const after = await scene.restart();
    expect(after.recovery.isClean).toBe(false);
    expect(after.run('GET', 'a')).toBe('1');
  });

  it.each(['incr', 'manifest', 'base'])('of a new %s file leaves no file open', async (name) => {
    const { log, run } = await scene.start();
    run('SET', 'a', '1');
    await scene.clock.advance(1000);
    await scene.turns();
    scene.disk.fault = { kind: 'write', code: 'ENOSPC', name };
    log.rewrite();
    await scene.turns();
    scene.disk.fault = undefined;
    expect(log.status.lastRewrite).toBe('err');
    expect(scene.disk.openFiles).toBe(1);
    expect(scene.disk.names().join()).not.toContain('base');
  });
});

it('a transaction that changes more than a write of the log can hold gets errors for the rest', async () => {
  const { run, engine } = await scene.start();
  engine.changes.maxBytes = 1000;
  run('SET', 'big', 'x'.repeat(400));
  run('MULTI');
  for (const key of ['a', 'b', 'c', 'd', 'e']) run('COPY', 'big', key);
  const error = expect.objectContaining({ message: expect.stringContaining('Use smaller ones') });
  expect(run('EXEC')).toEqual([1, 1, 1, error, error]);
  expect(run('SET', 'later', 'x')).toMatchObject({ text: 'OK' });
  expect((await scene.restart()).run('EXISTS', 'a', 'b', 'c', 'd', 'later')).toBe(4);
});

describe('a rewrite', () => {
  it('begins by itself with appendfsync no', async () => {
    const { log, run, engine } = await scene.start();
    engine.settings.put('appendfsync', 'no');
    engine.settings.put('auto-aof-rewrite-min-size', '10000');
    for (let at = 0; at < 300; at++) run('SET', 'key', 'x'.repeat(100));
    await scene.clock.advance(1000);
    await scene.turns();
    expect(log.status.rewrites).toBe(1);
  });

  it('ends with an error when databases are exchanged again and again', async () => {
    const { log, run } = await scene.start();
    for (let at = 0; at < 300; at++) run('SET', `key${at}`, 'x');
    scene.clock.tickMs = 1;
    log.rewrite();
    for (let at = 0; at < 1000 && log.status.isRewriting; at++) {
      run('SWAPDB', '0', '1');
      await scene.turns(2);
    }
    expect(log.status).toMatchObject({ isRewriting: false, lastRewrite: 'err' });
  });

  it('writes a key whose deadline has passed and which was not deleted yet', async () => {
    const { log, run } = await scene.start();
    run('HSET', 'lock', 'first', '1');
    run('PEXPIRE', 'lock', '1000');
    for (let at = 0; at < 300; at++) run('SET', `key${at}`, 'x');
    scene.clock.tickMs = 1;
    log.rewrite();
    await scene.turns(8);
    // The walk has begun with the newest keys.
    run('HSET', 'lock', 'second', '1');
    // The clock passes the deadline, and the timer has not fired.
    scene.clock.tickMs = 2000;
    run('PING');
    scene.clock.tickMs = 1;
    await scene.turns(400);
    expect(log.status).toMatchObject({ isRewriting: false, lastRewrite: 'ok' });
    const after = await scene.restart();
    expect(after.run('PTTL', 'lock')).toBe(-2);
  });
});

describe('a start', () => {
  it('records keys that expire before the first client is served', async () => {
    const before = await scene.start();
    before.run('HSET', 'lock', 'old', '1');
    before.run('PEXPIRE', 'lock', '1000');
    await scene.clock.advance(999);
    const starting = scene.restart();
    // The deadline passes while the first files are synced.
    scene.disk.wait = () => {
      scene.clock.advanceNow(2);
      return scene.clock.turn();
    };
    const server = await starting;
    server.run('HSET', 'lock', 'new', '1');
    const after = await scene.restart();
    expect(after.run('HGETALL', 'lock')).toMatchObject({ entries: [['new', '1']] });
    expect(after.run('PTTL', 'lock')).toBe(-1);
  });

  it('syncs all files of a server that was killed, not only the last', async () => {
    const { log, run } = await scene.start();
    run('SET', 'a', '1');
    log.rewrite();
    await scene.turns(5);
    run('SET', 'b', '1');
    expect(scene.disk.names().filter((name) => name.includes('incr'))).toHaveLength(2);
    const second = await scene.restart();
    second.engine.settings.put('appendfsync', 'always');
    second.run('SET', 'c', '1');
    await scene.turns();
    expect((await scene.crash()).run('EXISTS', 'a', 'b', 'c')).toBe(3);
  });

  it('knows that the last server ran before the machine crashed, even if none of its frames is left', async () => {
    const first = await scene.start();
    first.run('SET', 'a', '1');
    await scene.clock.until(first.log.close());
    const second = await scene.restart();
    second.run('SET', 'lock', '1');
    const { recovery } = await scene.crash(OTHER_BOOT);
    expect(recovery).toMatchObject({ isClean: false, isOtherBoot: true });
  });

  it('loads what was written while the wall clock was before the start of the machine', async () => {
    scene.clock.jumpWall(-scene.clock.wallMs());
    const { run } = await scene.start();
    run('SET', 'lock', 'a', 'PX', '10000');
    const after = await scene.restart();
    expect(after.run('PTTL', 'lock')).toBe(10_000);
  });
});
