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
  // A list of hosts, which is no URL: any part before the last @ may be the password.
  const [, scheme] = /^([a-z+]+:\/\/).*,/is.exec(store) ?? [];
  if (scheme !== undefined && url === undefined) return store.replace(/^.*(?:\/\/|@)/s, scheme);
  // A mistyped address: any part before the @ may be the password. The rest is refused when it is used.
  if (url === undefined || url.host === '') return store.replace(/^.*@/s, '');
  if (url.password === '') return store;
  url.password = '';
  return url.href;
}
