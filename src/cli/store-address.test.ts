import { describe, expect, it } from 'vitest';
import { readStore } from './store-address.ts';
import { UsageError } from './verb.ts';

const QUORUM = 'redis+quorum://a:1,b:1,c:1';

function read(store: string, options: Readonly<Record<string, string>> = {}) {
  return readStore({ store, ...options }, options, {});
}

describe('readStore', () => {
  it.each([QUORUM, 'postgres://a/b'])(
    'refuses --prefix with %s, which would ignore it',
    (store) => {
      expect(() => read(store, { prefix: 'x:' })).toThrow(UsageError);
    },
  );

  it.each(['etcd://a', 'memcached://a'])('takes --prefix with %s', (store) => {
    expect(read(store, { prefix: 'x:' })).toBeDefined();
  });

  it.each(['etcds://a', 'rediss+quorum://a,b,c'])('reads the file of --ca with %s', (store) => {
    expect(() => read(store, { ca: 'missing.pem' })).toThrow('--ca: cannot read missing.pem');
  });

  it.each(['etcd://a', QUORUM])('refuses --ca with %s', (store) => {
    expect(() => read(store, { ca: 'missing.pem' })).toThrow('--ca needs a store at rediss://');
  });

  it('ends a message with one full stop', () => {
    expect(() => read('etcd://a b')).toThrow(/[^.]\.$/);
  });
});
