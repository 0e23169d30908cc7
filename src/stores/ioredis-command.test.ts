import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type CommandTaker, shortCalls } from './ioredis-command.ts';

const SHA = 'a'.repeat(40);

interface Sent {
  readonly name: string;
  readonly args: unknown[];
  toWritable(): unknown;
}

/** A client that is never connected, and the commands that it was to send. */
function openClient(options: object = {}): { client: Redis; sent: Sent[] } {
  const sent: Sent[] = [];
  const client = new Redis({ lazyConnect: true, ...options });
  const sendCommand = (command: object): unknown => sent.push(command as Sent);
  return { client: Object.assign(client, { sendCommand }), sent };
}

const taker = (client: unknown): CommandTaker => client as CommandTaker;

describe('a call that comes with its text', () => {
  it.each([
    ['lock:{a}', ['owner ["host",1,""]', '30000']],
    ['lock:{a}', ['owner ["host",1,""]']],
    ['lock:{锁🔒}', ['owner ["host",1,"naïve\0"]', 'r1763211111000000']],
    ['lock:{锁🔒}', ['owner ["host",1,"naïve\0"]']],
    ['lock:{}', ['', '']],
  ])('is what ioredis itself would send: %j %j', (key, words) => {
    for (const keyPrefix of ['', 'mine:', '我:']) {
      const { client, sent } = openClient({ keyPrefix });
      shortCalls(taker(client))!(SHA, key, words);
      void client.evalsha(SHA, 1, key, ...words);
      const [ours, its] = sent;
      expect(ours!.toWritable()).toBe(its!.toWritable());
      expect([ours!.name, ours!.args]).toEqual([its!.name, its!.args]);
    }
  });

  it('is left alone where the client gathers commands', () => {
    expect(shortCalls(taker(openClient({ enableAutoPipelining: true }).client))).toBeUndefined();
  });

  it.each([
    { options: {} },
    { options: {}, createBuiltinCommand: () => ({ string: () => undefined }) },
    { options: {}, createBuiltinCommand: () => ({ string: () => ({ name: 'evalsha' }) }) },
  ])('is not tried with a client that is made in another way: %j', (client) => {
    expect(shortCalls(taker(client))).toBeUndefined();
  });
});
