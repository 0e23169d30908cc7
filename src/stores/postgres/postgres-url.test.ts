import { expect, it, vi } from 'vitest';
import { postgresUrlStore } from './postgres-url.ts';

vi.mock('./load-pg.ts', () => ({
  loadPg: () => Promise.reject(new Error('no pg')),
}));

it('closes after pg could not be loaded', async () => {
  const store = postgresUrlStore('postgres://127.0.0.1:1/db');
  const target = { kind: 'mutex', name: 'a', slots: 1 } as const;
  await expect(store.inspect(target)).rejects.toThrow('no pg');
  await expect(store.close()).resolves.toBeUndefined();
});
