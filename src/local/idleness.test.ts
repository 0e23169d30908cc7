import { describe, expect, it } from 'vitest';
import { createEngine, execute } from '../engine/index.ts';
import { forceLock, LOCK_SCRIPT, type RunScript, readLocks } from '../stores/index.ts';
import { holdsAnything } from './idleness.ts';

describe('holdsAnything', () => {
  it.each(['', 'shop:'])(
    'returns true until the last lock was released by force, with the prefix "%s"',
    async (prefix) => {
      const engine = createEngine();
      const session = engine.session();
      const run: RunScript = async (text, keys, args) =>
        execute(session, ['EVAL', text, String(keys.length), ...keys, ...args]);
      expect(holdsAnything(engine)).toBe(false);
      await run(LOCK_SCRIPT, [`${prefix}semaphore:{a}`], ['acquire 2 1', 'client.1 []', '1500']);
      expect(holdsAnything(engine)).toBe(true);
      const look = (await readLocks(run, 'a', prefix)).find(({ lock }) => lock.holderCount > 0);
      await forceLock(run, look!.lock, { host: 'h', pid: 1, user: 'u', reason: 'a test' }, prefix);
      // The note of the forced release is left, and does not count.
      expect(execute(session, ['EXISTS', `${prefix}semaphore:{a}:forced`])).toBe(1);
      expect(holdsAnything(engine)).toBe(false);
      engine.close();
    },
  );
});
