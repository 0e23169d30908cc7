import { beforeEach, describe, expect, it } from 'vitest';
import { LogScene } from '../../test/log-scene.ts';
import { SimulatedDisk } from '../../test/simulated-disk.ts';
import { printFrame } from './frame.ts';

const FRAME = { kind: 'd', number: 2, bytes: 0, synced: 2, wallMs: 0, offsetMs: 0 } as const;
const MANIFEST = 'appendonly.aof.manifest';
const FIRST = 'appendonly.aof.1.incr.aof';
const SECOND = 'appendonly.aof.2.incr.aof';
let scene: LogScene;

beforeEach(() => {
  scene = new LogScene();
});

function put(name: string, text: string): void {
  scene.disk.create(name).write([Buffer.from(text, 'latin1')]);
}

function commands(...lines: string[]): string {
  return lines
    .map((line) => line.split(' '))
    .map(
      (argv) =>
        `*${argv.length}\r\n${argv.map((each) => `$${each.length}\r\n${each}\r\n`).join('')}`,
    )
    .join('');
}

function putRedisLog(...texts: string[]): void {
  put(
    MANIFEST,
    texts.map((_, at) => `file appendonly.aof.${at + 1}.incr.aof seq ${at + 1} type i\n`).join(''),
  );
  for (const [at, text] of texts.entries()) put([FIRST, SECOND][at]!, text);
}

describe('a log of Redis', () => {
  it('with annotations and a transaction is loaded', async () => {
    putRedisLog(`#TS:1700000000\r\n${commands('SELECT 2', 'MULTI', 'SET a 1', 'SET b 2', 'EXEC')}`);
    const { run } = await scene.start();
    run('SELECT', '2');
    expect(run('MGET', 'a', 'b')).toEqual(['1', '2']);
  });

  it.each([
    ['SELECT 99', 'SELECT 99 (ERR DB index is out of range)'],
    ['SHUTDOWN', 'SHUTDOWN (ERR this command does not change data)'],
    ['CONFIG SET requirepass x', 'CONFIG SET'],
    ['RESTORE key 0 payload', 'RESTORE key'],
    ['XADD stream 1-1 field value', 'XADD stream'],
    ['HSET string field value', 'HSET string (WRONGTYPE'],
  ])('with %s stops the start, and nothing is changed', async (line, text) => {
    putRedisLog(commands('SET string x', line, 'SET after x'));
    const before = scene.disk.names();
    await expect(scene.start()).rejects.toThrow(text);
    expect(scene.disk.names()).toEqual(before);
  });

  it.each([
    ['an incomplete command', commands('SET b 2').slice(0, -3)],
    ['an incomplete transaction', commands('MULTI', 'SET b 2')],
    ['zeros', '\0'.repeat(600)],
  ])('with %s at the end is loaded without it, and reports that', async (_, end) => {
    putRedisLog(commands('SET a 1') + end);
    const { run } = await scene.start();
    expect(run('KEYS', '*')).toEqual(['a']);
    expect(scene.reports).toEqual([expect.stringContaining('ends with an incomplete command')]);
  });

  it('with an incomplete command at the end is loaded again if the server is killed before its rewrite', async () => {
    putRedisLog(commands('SET a 1') + commands('SET b 2').slice(0, -3));
    const { run } = await scene.start();
    run('SET', 'c', '3');
    const next = await scene.restart();
    expect(next.run('MGET', 'a', 'b', 'c')).toEqual(['1', null, '3']);
  });

  it('with an incomplete file before the last stops the start', async () => {
    putRedisLog(commands('SET a 1').slice(0, -3), commands('SET b 2'));
    await expect(scene.start()).rejects.toThrow(
      `the last command of the file before ${SECOND} is not complete`,
    );
  });
});

describe('a file of Holdfast to which Redis has appended', () => {
  function append(text: string): void {
    const { disk } = scene;
    const before = disk.read(FIRST, 0, disk.size(FIRST)).latin1Slice();
    disk.remove(FIRST);
    put(FIRST, before + text);
  }

  async function stopped(): Promise<void> {
    const { run, log } = await scene.start();
    run('SET', 'ours', '1');
    await scene.clock.until(log.close());
  }

  it('has the commands of both, and is rewritten', async () => {
    await stopped();
    append(commands('SELECT 0', 'SET theirs 2'));
    const { run, recovery } = await scene.start();
    expect(run('MGET', 'ours', 'theirs')).toEqual(['1', '2']);
    expect(recovery).toMatchObject({ isForeign: true, tornAt: undefined });
    await scene.turns();
    const next = await scene.restart();
    expect(next.recovery.isForeign).toBe(false);
    expect(next.run('MGET', 'ours', 'theirs')).toEqual(['1', '2']);
  });

  it('is loaded without an incomplete command at the end, and reports that', async () => {
    await stopped();
    append(commands('SELECT 0', 'SET theirs 2') + commands('SET part 3').slice(0, -3));
    const { run } = await scene.start();
    expect(run('MGET', 'ours', 'theirs', 'part')).toEqual(['1', '2', null]);
    expect(scene.reports).toEqual([expect.stringContaining('ends with an incomplete command')]);
  });
});

describe('a manifest', () => {
  it.each([
    ['', 'it names no file'],
    [`file ${FIRST} seq 1 type i\nfile ${FIRST} seq 2 type i\n`, 'it names a file twice'],
    ['file ../secret seq 1 type i\n', 'is a path'],
  ])('%j stops the start, and no file is removed', async (text, message) => {
    put(MANIFEST, text);
    put(FIRST, commands('SET a 1'));
    await expect(scene.start()).rejects.toThrow(message);
    expect(scene.disk.names()).toContain(FIRST);
  });
});

describe('a folder of Holdfast', () => {
  /** Two increments with a key each. */
  async function stopTwice(): Promise<void> {
    for (const key of ['a', 'b']) {
      const { run, log } = await scene.start();
      run('SET', key, 'x');
      await scene.clock.until(log.close());
    }
  }

  it('whose manifest lacks its last lines stops the start, and no file is removed', async () => {
    await stopTwice();
    scene.disk.remove(MANIFEST);
    put(MANIFEST, `file ${FIRST} seq 1 type i\n`);
    await expect(scene.start()).rejects.toThrow(`${SECOND} has changes, but`);
    expect(scene.disk.names()).toContain(SECOND);
  });

  it('with an empty file stops the start', async () => {
    await stopTwice();
    scene.disk.remove(SECOND);
    put(SECOND, '');
    await expect(scene.start()).rejects.toThrow(`${SECOND} is empty`);
  });

  it('starts with an increment that was created but is not in the manifest', async () => {
    await stopTwice();
    const line = scene.disk.read(SECOND, 0, 73).latin1Slice();
    put('appendonly.aof.3.incr.aof', line);
    put('appendonly.aof.4.incr.aof', '');
    const { run } = await scene.start();
    expect(run('MGET', 'a', 'b')).toEqual(['x', 'x']);
  });

  it('with the last sequence number stops the start, and says so', async () => {
    put(MANIFEST, 'file last seq 999999999999999 type i\n');
    put('last', commands('SET a 1'));
    await expect(scene.start()).rejects.toThrow(
      'a sequence number that no server reaches: 999999999999999',
    );
    expect(scene.disk.names().sort()).toEqual([MANIFEST, 'last']);
  });

  it('whose torn end has text like many long frames is read a bounded number of times', async () => {
    const { run } = await scene.start();
    run('SET', 'a', 'x');
    const lines = Array.from({ length: 20_000 }, (_, at) =>
      printFrame({ ...FRAME, bytes: 80 * (20_000 - at) }, 1, Buffer.alloc(0)),
    );
    run('SET', 'b', lines.join(''));
    const { disk } = scene;
    const bytes = disk.read(FIRST, 0, disk.size(FIRST) - 1).latin1Slice();
    disk.remove(FIRST);
    put(FIRST, bytes);
    let read = 0;
    disk.read = (name, position, length) => {
      const piece = SimulatedDisk.prototype.read.call(disk, name, position, length);
      read += piece.length;
      return piece;
    };
    const next = await scene.start();
    expect(next.run('MGET', 'a', 'b')).toEqual(['x', null]);
    expect(read).toBeLessThan(100 * bytes.length);
  });

  it('with a file of an impossible sequence number ignores it', async () => {
    await stopTwice();
    const name = `appendonly.aof.${'9'.repeat(22)}.incr.aof`;
    put(name, '');
    const { run } = await scene.start();
    expect(run('MGET', 'a', 'b')).toEqual(['x', 'x']);
    expect(scene.disk.names()).toContain(name);
  });
});

it('an empty file of Redis is loaded as one without commands, also if the server is killed then', async () => {
  putRedisLog('', commands('SET a 1'));
  await scene.start();
  const { run } = await scene.restart();
  expect(run('KEYS', '*')).toEqual(['a']);
});

it('a log with a database that this server does not have stops the start', async () => {
  const { run, engine } = await scene.start();
  engine.settings.put('databases', '32');
  run('SELECT', '20');
  run('SET', 'key', 'x');
  await expect(scene.restart()).rejects.toThrow('Start it with --databases 21 or more');
});
