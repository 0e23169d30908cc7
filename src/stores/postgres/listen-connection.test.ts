import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { openListenOf, type PgClient } from './listen-connection.ts';

/** A Client of pg whose server is gone: it confirms no end. */
class GoneClient extends EventEmitter {
  async connect(): Promise<void> {}
  async query(): Promise<void> {}
  end(): Promise<void> {
    return new Promise(() => {});
  }
}

it('a connection that is closed has ended, also if the server does not confirm it', async () => {
  const open = openListenOf(() => new GoneClient() as unknown as PgClient, undefined, 1000)!;
  const connection = await open('a', () => {});
  connection.close();
  await expect(connection.ended).resolves.toBeUndefined();
});

it('listen: true connects as the pool does, with its password and a timeout', async () => {
  const given: { readonly password?: string }[] = [];
  class Client extends GoneClient {
    constructor(options: { readonly password?: string }) {
      super();
      given.push(options);
    }
  }
  // As in a Pool of pg, which hides its password.
  const options = Object.defineProperty({ host: 'h' }, 'password', { value: 'secret' });
  const pool = { query: () => {}, connect: () => {}, totalCount: 0, Client, options };
  await openListenOf(true, pool, 1000)!('a', () => {});
  expect(given[0]).toMatchObject({ host: 'h', connectionTimeoutMillis: 1000, query_timeout: 1000 });
  expect(given[0]?.password).toBe('secret');
});
