import { expect, it } from 'vitest';
import { describeAccess } from './banner.ts';

const PLAIN = {
  host: '127.0.0.1',
  port: 6379,
  tlsPort: 0,
  hasUnixSocket: false,
  signIn: 'none',
  certificates: 'yes',
} as const;

it.each([
  [{}, 'programs on this machine, without TLS; no password is needed'],
  [
    { host: '0.0.0.0', signIn: 'password' },
    'every host that can connect, without TLS; with the password',
  ],
  [
    { tlsPort: 6380, certificates: 'optional' },
    'programs on this machine, without TLS; programs on this machine, by TLS with or without a client certificate; no password is needed',
  ],
  [
    { host: '10.0.0.1', port: 0, tlsPort: 6380, signIn: 'user' },
    'every host that can connect, by TLS with a client certificate; with the name and password of a user',
  ],
  [
    { port: 0, hasUnixSocket: true },
    'the user of this process, by the Unix socket; no password is needed',
  ],
] as const)('describes the access of %j', (facts, text) => {
  expect(describeAccess({ ...PLAIN, ...facts })).toBe(text);
});
