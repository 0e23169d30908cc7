import { describe, expect, it } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { Locks } from './locks.ts';
import { memoryStore } from './memory-store.ts';
import { type AcquireOptions, checkName, checkNames, OptionReader, permitsOf } from './options.ts';

const reader = new OptionReader();

describe('options', () => {
  it('are resolved once if the same values are passed again', () => {
    const options = { lease: '7s', wait: '3s', label: 'nightly' } as const;
    expect(reader.resolve('a', { ...options })).toBe(reader.resolve('b', { ...options }));
    expect(reader.resolve('a', { ...options, renew: false })).toMatchObject({
      leaseMs: 7000,
      renews: false,
    });
  });

  it('are not those of the call before, also if these were inherited or changed later', () => {
    const inherited: AcquireOptions = Object.create({ wait: 0, lease: 50 });
    expect(reader.resolve('a', inherited)).toMatchObject({ waitMs: 0, leaseMs: 50 });
    expect(reader.resolve('b', {})).toMatchObject({ waitMs: 10_000, leaseMs: 30_000 });
    const changed = { wait: 5 };
    reader.resolve('a', changed);
    changed.wait = 6;
    expect(reader.resolve('a', changed).waitMs).toBe(6);
    expect(reader.resolve('b', { wait: 5 }).waitMs).toBe(5);
  });

  it('keep a signal for one call only', () => {
    const { signal } = new AbortController();
    expect(reader.resolve('a', { signal }).signal).toBe(signal);
    expect(reader.resolve('a', {}).signal).toBeUndefined();
  });

  it('with a wrong signal or label throw', () => {
    const controller = new AbortController() as unknown as AbortSignal;
    expect(() => reader.resolve('a', { signal: controller })).toThrow(
      /signal must be an AbortSignal/,
    );
    expect(() => reader.resolve('a', { label: 1n as unknown as string })).toThrow(/label must be/);
    expect(reader.resolve('a', { label: '锁'.repeat(341) }).label).toHaveLength(341);
    const long = { label: '锁'.repeat(342) };
    expect(() => reader.resolve('a', long)).toThrow(
      /label has at most 1024 bytes; this one has 1026/,
    );
  });

  it.each(['false', 0, {}])('throw for %o instead of true or false', (flag) => {
    for (const option of ['renew', 'reentrant']) {
      const options = { [option]: flag } as AcquireOptions;
      expect(() => reader.resolve('a', options)).toThrow(`${option} must be true or false`);
    }
  });

  it('are checked by tryAcquire() in the same way, and may be inherited', async () => {
    await using locks = new Locks({ store: memoryStore(systemClock), telemetry: false });
    const inherited = Object.create({ lease: '100s' }) as AcquireOptions;
    const lease = await locks.mutex('a').tryAcquire(inherited);
    expect(lease!.expiresInMs).toBeGreaterThan(90_000);
    for (const given of [null, 5000, AbortSignal.timeout(5)]) {
      await expect(locks.mutex('b').tryAcquire(given as never)).rejects.toThrow(/option/);
    }
  });

  it('of a semaphore are the number of permits', () => {
    expect(permitsOf('a', undefined)).toBe(1);
    expect(permitsOf('a', { permits: 3 })).toBe(3);
    for (const given of [3, 'permits', { permit: 3 }, [3]]) {
      expect(() => permitsOf('a', given as never)).toThrow('{ permits: how many }');
    }
  });

  it.each([null, 5000, '5s'])('throw for %o instead of an object', (given) => {
    expect(() => reader.resolve('a', given as never)).toThrow('options are an object');
  });

  it.each(['ttl', 'Wait', 'toString', '0'])('throw for the unknown name %j', (name) => {
    expect(() => reader.resolve('a', { [name]: 5000 })).toThrow(
      `there is no option '${name}'. There are: lease, wait,`,
    );
  });

  it('throw for an object with only some methods of an AbortSignal', () => {
    const others = [new EventTarget(), { aborted: false, addEventListener() {} }];
    for (const signal of others) {
      expect(() => reader.resolve('a', { signal: signal as never })).toThrow(/AbortSignal/);
    }
  });
});

describe('names', () => {
  it.each(['x\ud800', '\udfff', '\ud800\ud800\udc00'])('throw for a lone surrogate: %j', (name) => {
    expect(() => checkName(name)).toThrow(/half a character/);
    expect(checkName('锁🔒')).toBe('锁🔒');
  });

  it('throw for an empty string and for values that are no string', () => {
    for (const name of ['', null, 5, Symbol('a'), Object.create(null)]) {
      expect(() => checkName(name)).toThrow('a lock needs a name');
    }
  });

  it('throw for an array with holes', () => {
    // biome-ignore lint/suspicious/noSparseArray: a sparse array is the input.
    expect(() => checkNames([, 'b'] as string[])).toThrow('a lock needs a name');
  });
});
