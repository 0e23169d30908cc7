import type { Environment } from '../verb.ts';

/**
 * The variables for the command: without the password of the store, which the command and all that it starts
 * could print, log or send on. The store stays named: a `holdfast run` inside of this one would otherwise use
 * the local server, and not exclude the same programs.
 */
export function withoutPasswords(environment: Environment): Environment {
  const { HOLDFAST_PASSWORD: _password, HOLDFAST_STORE: store = '', ...others } = environment;
  return store === '' ? others : { ...others, HOLDFAST_STORE: withoutPassword(store) };
}

function withoutPassword(store: string): string {
  const url = URL.canParse(store) ? new URL(store) : undefined;
  if (url?.protocol === 'unix:') return store;
  // A mistyped address: which part before the @ is the password cannot be known. The rest is refused when it is used.
  if (url === undefined || url.host === '') return store.replace(/^.*@/s, '');
  if (url.password === '') return store;
  url.password = '';
  return url.href;
}
