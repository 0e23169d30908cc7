import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Batcher } from '../src/client/batcher.ts';
import { createLocks } from '../src/index.ts';
import { ROOT } from './cli-process.ts';
import { startRealRedis } from './real-redis.ts';

const MAX_FRAMES = 10;
const MAX_FILES = 10;

it('docs/architecture.md names every function from acquire to the socket', async () => {
  const server = await startRealRedis();
  onTestFinished(() => server.stop());
  await using locks = createLocks(`redis://${server.host}:${server.port}`);
  const lock = locks.mutex('order:42');
  // Connects, and loads the script.
  await lock.run(() => {});
  const call = recordStack(Batcher.prototype, 'add');
  const flush = recordStack(Socket.prototype, 'write');
  await lock.acquire();
  call.restore();
  flush.restore();
  // The method that is replaced is not on its own stack.
  const down = [...framesOf(call.stack), { file: 'client/batcher.ts', name: 'add' }];
  const out = framesOf(flush.stack);
  expect(namesOf(down)).toEqual(listed('the call'));
  expect(namesOf(out)).toEqual(listed('the flush'));
  expect(Math.max(down.length, out.length)).toBeLessThanOrEqual(MAX_FRAMES);
  const files = new Set([...down, ...out].map(({ file }) => file));
  expect(files.size).toBeLessThanOrEqual(MAX_FILES);
});

/** Keeps the stack of the first call of a method. */
function recordStack<Method extends string>(
  target: Record<Method, (...args: never[]) => unknown>,
  method: Method,
): { stack: string; restore(): void } {
  const original = target[method];
  const restore = (): void => {
    target[method] = original;
  };
  const record = { stack: '', restore };
  target[method] = function (this: unknown, ...args: never[]): unknown {
    record.stack ||= stackHere();
    return original.apply(this, args);
  };
  return record;
}

function stackHere(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return stack;
}

interface Frame {
  readonly file: string;
  /** Undefined: a closure. */
  readonly name: string | undefined;
}

/** The frames of this library, the outermost first. */
function framesOf(stack: string): Frame[] {
  const frames: Frame[] = [];
  for (const line of stack.split('\n')) {
    const [, file] = /\/src\/(\S+?\.ts)[:?]/.exec(line) ?? [];
    if (file === undefined) continue;
    const [, name] = /at (?:async )?(?:\w+\.)?(#?\w+) \(/.exec(line) ?? [];
    frames.unshift({ file, name });
  }
  return frames;
}

function namesOf(frames: readonly Frame[]): string[] {
  return frames.filter(({ name }) => name !== undefined).map(({ file, name }) => `${file} ${name}`);
}

/** The rows of a table of the page, by the first word of its head. */
function listed(title: string): string[] {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const [, rows = ''] =
    new RegExp(`^\\| ${title}: .*\\n.*\\n((?:\\|.*\\n)*)`, 'm').exec(page) ?? [];
  const found = [...rows.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|/gm)];
  return found.map(([, file, name]) => `${file} ${name}`);
}
