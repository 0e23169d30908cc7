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
    ['redis+quorum://user:se,cr@et@a:1,b:2/3', 'redis+quorum://a:1,b:2/3'],
    ['etcd://a:1,b:2', 'etcd://a:1,b:2'],
  ])('passes on HOLDFAST_STORE=%s as %s', (store, passed) => {
    expect(withoutPasswords({ HOLDFAST_STORE: store })).toEqual({ HOLDFAST_STORE: passed });
  });
});
