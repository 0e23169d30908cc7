import { describe, expect, it } from 'vitest';
import { withoutPasswords } from './passwords.ts';

describe('withoutPasswords', () => {
  it('leaves out HOLDFAST_PASSWORD and nothing else', () => {
    const environment = { PATH: '/bin', HOLDFAST_LOCAL_IDLE_MS: '5', EMPTY: '' };
    expect(withoutPasswords({ ...environment, HOLDFAST_PASSWORD: 'secret' })).toEqual(environment);
  });

  it.each([
    ['redis://10.0.0.7', 'redis://10.0.0.7'],
    ['redis://10.0.0.7:7000/2', 'redis://10.0.0.7:7000/2'],
    ['redis://user:s%40cret@10.0.0.7:7000/2', 'redis://user@10.0.0.7:7000/2'],
    ['redis://:secret@10.0.0.7', 'redis://10.0.0.7'],
    ['rediss://user:secret@[::1]:7000', 'rediss://user@[::1]:7000'],
    ['unix:/run/a@b/socket', 'unix:/run/a@b/socket'],
    ['redis:user:secret@10.0.0.7', '10.0.0.7'],
    ['user:secret@10.0.0.7', '10.0.0.7'],
    ['redis://user:secret@', ''],
    ['redis+quorum://user:sec:ret@a:1,b:2,c:3/1', 'redis+quorum://user@a:1,b:2,c:3/1'],
    ['redis+quorum://:secret@a,b,c', 'redis+quorum://a,b,c'],
    ['etcd://user:secret@a:1,b:2', 'etcd://user@a:1,b:2'],
    ['etcd://user:secret@a:1,user:secret@b:2', 'etcd://user@b:2'],
    ['postgres://user:secret@a:1/b', 'postgres://user@a:1/b'],
    ['postgres://user@a:1/b?password=secret&x=1', 'postgres://user@a:1/b?x=1'],
  ])('passes on HOLDFAST_STORE=%s as %s', (store, passed) => {
    expect(withoutPasswords({ HOLDFAST_STORE: store })).toEqual({ HOLDFAST_STORE: passed });
  });
});
