import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine, execute } from '../src/engine/index.ts';
import { openLogFolder } from '../src/log/index.ts';
import { type Ended, runCli } from './cli-process.ts';

const MANIFEST = 'appendonly.aof.manifest';
const SECOND = 'appendonly.aof.2.incr.aof';
let folder: string;
let files: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'));
  files = join(folder, 'appendonlydir');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A server that sets keys, each in a frame of its own, and ends in order. Returns the keys that it had before. */
async function serve(...keys: string[]): Promise<string[]> {
  const engine = createEngine();
  const { log, close } = await openLogFolder(folder, { engine });
  const session = engine.session();
  const before = execute(session, ['KEYS', '*']) as string[];
  for (const key of keys) {
    execute(session, ['SET', key, 'x']);
    log.commit();
  }
  await close();
  engine.close();
  return before.sort();
}

function check(...flags: string[]): Promise<Ended> {
  return runCli(['check', '--dir', folder, ...flags]);
}

/** Changes a byte of the value in the first frame of an increment that has the key. */
function damage(name: string, key: string): void {
  const path = join(files, name);
  const bytes = readFileSync(path);
  bytes.write('y', bytes.indexOf(`${key}\r\n$1\r\nx`) + key.length + 6);
  writeFileSync(path, bytes);
}

describe('holdfast check --dir', () => {
  it('describes a log that ended in order, with 0', async () => {
    await serve('a');
    const { code, output } = await check();
    expect(code).toBe(0);
    expect(output).toMatch(
      /appendonlydir: 1 files, \d+ bytes, 2 frames, until [^\n]* is right\.\n$/,
    );
  });

  it('describes an incomplete end in a line of its own, with 1', async () => {
    await serve('a');
    appendFileSync(join(files, 'appendonly.aof.1.incr.aof'), '#HF:d,0000');
    const { code, output } = await check();
    expect(code).toBe(1);
    expect(output.split('\n')[1]).toContain('The end is incomplete: 10 bytes from byte');
  });

  it('does not claim checksums for files of Redis', async () => {
    mkdirSync(files);
    writeFileSync(join(files, MANIFEST), `file ${SECOND} seq 2 type i\n`);
    writeFileSync(join(files, SECOND), '*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n');
    const { code, output } = await check();
    expect(code).toBe(0);
    expect(output).toContain('commands of Redis, which have no checksums');
    expect(output).not.toContain('was killed');
  });

  it.each([
    ['the folder of the log is a file', () => writeFileSync(files, ''), 'ENOTDIR'],
    [
      'the manifest is a folder',
      () => mkdirSync(join(files, MANIFEST), { recursive: true }),
      'EISDIR',
    ],
  ])('says in one line that %s, with 1', async (_, prepare, text) => {
    prepare();
    for (const flags of [[], ['--repair']]) {
      const { code, errors } = await check(...flags);
      expect(code).toBe(1);
      expect(errors).toMatch(
        new RegExp(`^holdfast: cannot check ${folder} \\(.*${text}.*\\)\\.\n$`),
      );
    }
  });
});

describe('holdfast check --repair', () => {
  it('keeps what is before the damage, and all files in a copy; then a server starts', async () => {
    await serve('a', 'b', 'c');
    await serve('d');
    const original = join(folder, 'original');
    cpSync(files, original, { recursive: true });
    damage('appendonly.aof.1.incr.aof', 'b');
    expect((await check()).errors).toContain('frame 2: the CRC is wrong');
    const { code, output } = await check('--repair');
    expect([code, output]).toEqual([0, expect.stringContaining('Kept all up to frame 1')]);
    const copy = readdirSync(folder).find((name) => name.includes('before-repair'));
    expect(readdirSync(join(folder, copy!)).sort()).toEqual(readdirSync(original).sort());
    expect(await serve()).toEqual(['a']);
  });
});
