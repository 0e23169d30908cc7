import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { execute, LogError, openEngine } from '../src/public/engine.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-engine-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it.each(['always', 'everysec', 'no'])(
  'an engine with a folder has its data again, appendfsync %s',
  async (appendfsync) => {
    const engine = await openEngine({ dir, settings: { appendfsync } });
    const session = engine.session();
    expect(execute(session, ['SETNX', 'job', 'programmer'])).toBe(1);
    await engine.saved();
    expect(execute(session, ['RPUSH', 'list', 'a', 'b'])).toBe(2);
    await engine.end();

    const again = await openEngine({ dir, settings: { appendfsync } });
    expect(execute(again.session(), ['SETNX', 'job', 'code-farmer'])).toBe(0);
    expect(execute(again.session(), ['LRANGE', 'list', '0', '-1'])).toEqual(['a', 'b']);
    await again.end();
  },
);

it('a folder that another engine uses is refused', async () => {
  const engine = await openEngine({ dir });
  await expect(openEngine({ dir })).rejects.toThrow(LogError);
  await expect(openEngine({ dir })).rejects.toMatchObject({ code: 'in-use' });
  await engine.end();
  await (await openEngine({ dir })).end();
});
