import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { argumentBytes } from '../engine/index.ts';
import { DEFAULT_REQUEST_LIMITS, encodeRequest } from '../resp/index.ts';
import { RequestQueue } from './request-queue.ts';

/** A queue, and how many requests it has decoded together each time. */
function open(): {
  queue: RequestQueue;
  batches: number[];
  send(...requests: string[][]): void;
  next(): string[] | null;
} {
  const queue = new RequestQueue({ ...DEFAULT_REQUEST_LIMITS });
  const batches: number[] = [];
  const database = {
    prefetch: (requests: readonly unknown[]): unknown => batches.push(requests.length),
  };
  return {
    queue,
    batches,
    send: (...requests) => queue.push(Buffer.from(requests.map(encodeRequest).join(''), 'latin1')),
    next: () => queue.next({ authenticated: true, database }),
  };
}

const BLOCKING = ['BLPOP', 'list', '0'];

it('counts requests that were decoded and have not run', () => {
  const { queue, send, next } = open();
  const last = ['SET', 'key', 'v'.repeat(1000)];
  send(['GET', 'key'], BLOCKING, last);
  next();
  expect(queue.bytes).toBe(argumentBytes(BLOCKING) + argumentBytes(last));
  const blocking = next()!;
  expect(queue.bytes).toBe(argumentBytes(last));
  queue.putBack(blocking);
  expect(queue.bytes).toBe(argumentBytes(BLOCKING) + argumentBytes(last));
  expect([next(), next(), next(), queue.bytes]).toEqual([BLOCKING, last, null, 0]);
});

it('counts a later batch anew, of which as many requests have run', () => {
  const { queue, send, next } = open();
  send(['GET', 'key'], ['SET', 'key', 'v'.repeat(1000)]);
  next();
  expect(queue.bytes).toBeGreaterThan(1000);
  next();
  send(['GET', 'key'], BLOCKING);
  next();
  expect(queue.bytes).toBe(argumentBytes(BLOCKING));
});

it('counts the bytes that arrive after the decoded requests', () => {
  const { queue, send, next } = open();
  send(BLOCKING, ['GET', 'key']);
  next();
  const before = queue.bytes;
  queue.push(Buffer.from('*1\r\n'));
  expect(queue.bytes).toBe(before + 4);
});

it('keeps no request in memory that has run, while a later one is blocked', async () => {
  const { send, next } = open();
  send(['SET', 'key', 'value'], BLOCKING, ['GET', 'key']);
  const ran = new WeakRef(next()!);
  next();
  // A WeakRef keeps its object alive until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(ran.deref()).toBeUndefined();
  expect(next()).toEqual(['GET', 'key']);
});

it('decodes few long requests together, so that a command runs soon', () => {
  const { batches, send, next } = open();
  const long = ['SET', 'key', 'v'.repeat(40_000)];
  send(...Array.from({ length: 10 }, () => long));
  for (let count = 0; count < 10; count++) expect(next()).toEqual(long);
  expect(Math.max(...batches)).toBeLessThan(4);
  send(...Array.from({ length: 100 }, () => ['GET', 'key']));
  next();
  expect(batches.at(-1)).toBe(64);
});
