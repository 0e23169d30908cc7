import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import type { RedisLink, SubscriptionHandlers } from './redis-link.ts';
import { subscribe } from './subscription.ts';

/** Connections that the test opens, cuts and refuses. */
class Line {
  readonly clock = virtualClock();
  readonly heard: string[] = [];
  gaps = 0;
  losses = 0;
  tries = 0;
  handlers: SubscriptionHandlers | undefined;
  #end: { resolve(): void; reject(error: Error): void } | undefined;
  readonly #closing = new AbortController();

  open(): Promise<void> {
    return subscribe(this.#subscribe, {
      channel: 'channel',
      onMessage: (text) => this.heard.push(text),
      onGap: () => {
        this.gaps++;
      },
      onLost: () => {
        this.losses++;
      },
      signal: this.#closing.signal,
      clock: this.clock,
    });
  }

  async cut(): Promise<void> {
    this.#end!.resolve();
    await settled();
  }

  async refuse(): Promise<void> {
    this.#end!.reject(new Error('refused'));
    await settled();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.cut();
  }

  readonly #subscribe: RedisLink['subscribe'] = (_channel, handlers) => {
    this.tries++;
    this.handlers = handlers;
    return new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
  };
}

/** Until all promises that can go on have done so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a subscription', () => {
  it('is open when it is heard, and tells of no gap before that', async () => {
    const line = new Line();
    const opening = line.open();
    line.handlers!.onSubscribed();
    await opening;
    line.handlers!.onMessage('owner');
    expect([line.heard, line.gaps, line.losses]).toEqual([['owner'], 0, 0]);
    await line.close();
  });

  it('that fails at first leaves nothing behind', async () => {
    const line = new Line();
    const opening = line.open();
    const failed = expect(opening).rejects.toThrow('refused');
    await line.refuse();
    await failed;
    expect([line.tries, line.losses, line.clock.pendingTimers]).toEqual([1, 0, 0]);
  });

  it('that is cut is opened again, and tells of the gap once it is heard', async () => {
    const line = new Line();
    const opening = line.open();
    line.handlers!.onSubscribed();
    await opening;
    await line.cut();
    expect([line.tries, line.losses]).toEqual([1, 1]);
    line.clock.advance(50);
    expect([line.tries, line.gaps]).toEqual([2, 0]);
    await line.refuse();
    expect(line.losses, 'an attempt that fails is no loss').toBe(1);
    line.clock.advance(100);
    line.handlers!.onSubscribed();
    expect(line.gaps).toBe(1);
    await line.close();
    expect(line.clock.pendingTimers).toBe(0);
  });

  it('tries more and more seldom, at least once a second, and begins anew after success', async () => {
    const line = new Line();
    const opening = line.open();
    line.handlers!.onSubscribed();
    await opening;
    await line.cut();
    for (const pauseMs of [50, 100, 200, 400, 800, 1000, 1000]) {
      const before = line.tries;
      line.clock.advance(pauseMs - 1);
      expect(line.tries).toBe(before);
      line.clock.advance(1);
      expect(line.tries).toBe(before + 1);
      await line.refuse();
    }
    line.clock.advance(1000);
    line.handlers!.onSubscribed();
    await line.cut();
    const before = line.tries;
    line.clock.advance(50);
    expect(line.tries).toBe(before + 1);
    await line.close();
  });

  it('that was closed is not opened again', async () => {
    const line = new Line();
    const opening = line.open();
    line.handlers!.onSubscribed();
    await opening;
    await line.close();
    line.clock.advance(10_000);
    expect(line.tries).toBe(1);
  });
});
