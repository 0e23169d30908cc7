import type { Environment } from '../verb.ts';

/**
 * The environment of the command: without the password of the store, which the command and its descendants could
 * print, log or send. HOLDFAST_STORE stays without its password: a nested `holdfast run` would otherwise use the local
 * server, and not exclude the same programs.
 */
export function withoutPasswords(environment: Environment): Environment {
  const { HOLDFAST_PASSWORD: _password, HOLDFAST_STORE: store = '', ...others } = environment;
  return store === '' ? others : { ...others, HOLDFAST_STORE: withoutPassword(store) };
}

function withoutPassword(store: string): string {
  const url = URL.canParse(store) ? new URL(store) : undefined;
  if (url?.protocol === 'unix:') return store;
  const [, start, user, hosts] = HOST_LIST.exec(store) ?? [];
  if (hosts !== undefined) return `${start}${user === '' ? '' : `${user}@`}${hosts}`;
  // A mistyped address: any part before the @ may be the password. The rest is refused when it is used.
  if (url === undefined || url.host === '') return store.replace(/^.*@/s, '');
  if (url.password === '' && !url.searchParams.has('password')) return store;
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}

/** Several hosts, such as those of redis+quorum:// and etcd://, with one user and password before them. */
const HOST_LIST = /^([a-z+]+:\/\/)([^:@/]*)(?::[^@/]*)?@([^@/]+,[^@/]+(?:\/\d*)?)$/i;
