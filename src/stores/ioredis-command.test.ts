import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { Hearer } from '../lock/index.ts';
import { type CommandTaker, shortCalls } from './ioredis-command.ts';

const SHA = 'a'.repeat(40);

interface Sent {
  readonly name: string;
  readonly args: unknown[];
  readonly promise: Promise<unknown>;
  resolve(reply: unknown): void;
  reject(error: Error): void;
  transformReply(reply: unknown): unknown;
  toWritable(): unknown;
}

/** A client that is never connected, and the commands that it was to send. */
function openClient(options: object = {}): { client: Redis; sent: Sent[] } {
  const sent: Sent[] = [];
  const client = new Redis({ lazyConnect: true, ...options });
  const sendCommand = (command: object): Promise<unknown> => {
    sent.push(command as Sent);
    return (command as Sent).promise;
  };
  return { client: Object.assign(client, { sendCommand }), sent };
}

const taker = (client: unknown): CommandTaker => client as CommandTaker;

/** Writes down what it is told. */
function openEar(): { told: unknown[]; hearer: Hearer<unknown> } {
  const told: unknown[] = [];
  const hear = (word: unknown): unknown => told.push(word);
  return { told, hearer: { answered: hear, failed: hear } };
}

/** A call that was sent, and who hears of it. */
function call(): { told: unknown[]; command: Sent } {
  const { client, sent } = openClient();
  const { told, hearer } = openEar();
  shortCalls(taker(client))!(SHA, 'lock:{a}', ['owner []'], hearer);
  return { told, command: sent[0]! };
}

/** As a wrapper does that measures how long a command takes. */
function failed(command: Sent): Promise<unknown> {
  command.reject(new Error('refused'));
  return command.promise.finally(() => {});
}

function lookedAt<Call extends { command: Sent }>(
  given: Call,
): Call & { promise: Promise<unknown> } {
  return { ...given, promise: given.command.promise };
}

/** A command that is made with what settles it. */
class SettledAlready {
  resolve = (): void => {};
  initPromise(): void {}
  transformReply(): void {}
  toWritable(): void {}
}

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
      shortCalls(taker(client))!(SHA, key, words, openEar().hearer);
      void client.evalsha(SHA, 1, key, ...words);
      const [ours, its] = sent;
      expect(ours!.toWritable()).toBe(its!.toWritable());
      expect([ours!.name, ours!.args]).toEqual([its!.name, its!.args]);
    }
  });

  it.each([{ enableAutoPipelining: true }, { commandTimeout: 100 }])(
    'is left alone where the client gathers commands, or ends them: %j',
    (options) => {
      expect(shortCalls(taker(openClient(options).client))).toBeUndefined();
    },
  );

  it('tells its reply at once, as text, and once', async () => {
    const { told, command } = call();
    command.resolve(Buffer.from('17 owner'));
    expect(told).toEqual(['17 owner']);
    command.resolve(2);
    command.reject(new Error('too late'));
    await new Promise(setImmediate);
    expect(told).toEqual(['17 owner']);
  });

  it('tells its failure after the call', async () => {
    const { told, command } = call();
    command.reject(new Error('closed'));
    expect(told).toEqual([]);
    await expect(command.promise).rejects.toThrow('closed');
    expect(told).toEqual([new Error('closed')]);
  });

  it('has a promise for who looks at it, who need not catch', async () => {
    const { promise, ...rest } = lookedAt(call());
    rest.command.resolve(1);
    expect(await promise).toBe(1);
    const failing = lookedAt(call());
    failing.command.reject(new Error('closed'));
    await new Promise(setImmediate);
    expect(failing.told).toHaveLength(1);
  });

  it.each([
    ['answers in its place', () => Promise.resolve(2), 2],
    ['fails before it', () => Promise.reject(new Error('open circuit')), new Error('open circuit')],
    ['tells in a promise of its own', failed, new Error('refused')],
  ])('is told once by a client whose wrapper %s', async (_, sendCommand, what) => {
    const client = Object.assign(openClient().client, { sendCommand });
    const { told, hearer } = openEar();
    // What nobody catches fails the run of all tests.
    shortCalls(taker(client))!(SHA, 'lock:{a}', ['owner []'], hearer);
    await new Promise(setImmediate);
    expect(told).toEqual([what]);
  });

  it('fails if its reply cannot be read', async () => {
    const { told, command } = call();
    const broken = new Error('a transformer that throws');
    command.transformReply = () => {
      throw broken;
    };
    command.resolve('text');
    await new Promise(setImmediate);
    expect(told).toEqual([broken]);
  });

  it('can be traced by functions in the place of its own', () => {
    const { told, command } = call();
    const { resolve } = command;
    const seen: unknown[] = [];
    command.resolve = (reply) => {
      seen.push(reply);
      resolve(reply);
    };
    command.resolve(1);
    expect([seen, told]).toEqual([[1], [1]]);
  });

  it.each([
    { options: {} },
    { options: {}, createBuiltinCommand: () => ({ string: () => undefined }) },
    { options: {}, createBuiltinCommand: () => ({ string: () => ({ name: 'evalsha' }) }) },
    { options: {}, createBuiltinCommand: () => ({ string: () => new SettledAlready() }) },
  ])('is not tried with a client that is made in another way: %j', (client) => {
    expect(shortCalls(taker(client))).toBeUndefined();
  });
});
