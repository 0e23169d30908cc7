import { afterEach, expect, it, vi } from 'vitest';
import { releaseLock } from './requests.ts';

afterEach(() => vi.unstubAllGlobals());

it('rejects with the message of the server, without its line feed', async () => {
  vi.stubGlobal('fetch', async () => new Response('Others hold it.\n', { status: 409 }));
  await expect(releaseLock('mYQ', 'stuck', ['a'])).rejects.toThrow(/^Others hold it\.$/);
});
