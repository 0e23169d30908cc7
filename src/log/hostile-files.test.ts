import { beforeEach, describe, expect, it } from 'vitest';
import { LogScene } from '../../test/log-scene.ts';

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

it('a log with a database that this server does not have stops the start', async () => {
  const { run, engine } = await scene.start();
  engine.settings.put('databases', '32');
  run('SELECT', '20');
  run('SET', 'key', 'x');
  await expect(scene.restart()).rejects.toThrow('Start it with --databases 21 or more');
});
