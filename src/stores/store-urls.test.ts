import { describe, expect, it } from 'vitest';
import { findStoreUrl } from './store-urls.ts';

describe('findStoreUrl', () => {
  it.each([
    ['postgres://user:secret@a:1/b', 'postgres://a:1/b'],
    ['postgres://user@a/b?password=secret', 'postgres://a/b'],
    ['postgres://user:12/secret@a/b', 'postgres://a/b'],
    ['redis+quorum://user:secret@a,b,c/1', 'redis+quorum://a,b,c/1'],
    ['etcd://user:secret@a:1,user:secret@b:1', 'etcd://b:1'],
  ])('labels %s as %s', (url, label) => {
    expect(findStoreUrl(url)?.label).toBe(label);
  });

  it('refuses a quorum of two servers before it is opened', () => {
    expect(() => findStoreUrl('redis+quorum://a,b')).toThrow('three or more servers');
  });
});
