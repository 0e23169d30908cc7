import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import type { RedisLink, SubscriptionHandlers } from './redis-link.ts';
import { subscribe } from './subscription.ts';

/** A subscription whose connections the test opens, cuts and refuses. */
class TestSubscription {
  readonly clock = virtualClock();
  readonly messages: string[] = [];
  gaps = 0;
  losses = 0;
  attempts = 0;
  handlers: SubscriptionHandlers | undefined;
  #end: { resolve(): void; reject(error: Error): void } | undefined;
  readonly #closing = new AbortController();

  open(): Promise<void> {
    return subscribe(this.#subscribe, {
      channel: 'channel',
      onMessage: (text) => this.messages.push(text),
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
    this.attempts++;
    this.handlers = handlers;
    return new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
  };
}

/** Resolves after all pending microtasks. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a subscription', () => {
  it('resolves when the server confirms it, and reports no gap before', async () => {
    const subscription = new TestSubscription();
    const opening = subscription.open();
    subscription.handlers!.onSubscribed();
    await opening;
    subscription.handlers!.onMessage('owner');
    expect([subscription.messages, subscription.gaps, subscription.losses]).toEqual([
      ['owner'],
      0,
      0,
    ]);
    await subscription.close();
  });

  it('rejects if the first attempt fails, and sets no timer', async () => {
    const subscription = new TestSubscription();
    const opening = subscription.open();
    const failed = expect(opening).rejects.toThrow('refused');
    await subscription.refuse();
    await failed;
    expect([subscription.attempts, subscription.losses, subscription.clock.pendingTimers]).toEqual([
      1, 0, 0,
    ]);
  });

  it('opens again after its connection was cut, and reports the gap when it is confirmed', async () => {
    const subscription = new TestSubscription();
    const opening = subscription.open();
    subscription.handlers!.onSubscribed();
    await opening;
    await subscription.cut();
    expect([subscription.attempts, subscription.losses]).toEqual([1, 1]);
    subscription.clock.advance(50);
    expect([subscription.attempts, subscription.gaps]).toEqual([2, 0]);
    await subscription.refuse();
    expect(subscription.losses, 'an attempt that fails is no loss').toBe(1);
    subscription.clock.advance(100);
    subscription.handlers!.onSubscribed();
    expect(subscription.gaps).toBe(1);
    await subscription.close();
    expect(subscription.clock.pendingTimers).toBe(0);
  });

  it('doubles the pause between attempts up to a second, and starts at 50 ms again after a success', async () => {
    const subscription = new TestSubscription();
    const opening = subscription.open();
    subscription.handlers!.onSubscribed();
    await opening;
    await subscription.cut();
    for (const pauseMs of [50, 100, 200, 400, 800, 1000, 1000]) {
      const before = subscription.attempts;
      subscription.clock.advance(pauseMs - 1);
      expect(subscription.attempts).toBe(before);
      subscription.clock.advance(1);
      expect(subscription.attempts).toBe(before + 1);
      await subscription.refuse();
    }
    subscription.clock.advance(1000);
    subscription.handlers!.onSubscribed();
    await subscription.cut();
    const before = subscription.attempts;
    subscription.clock.advance(50);
    expect(subscription.attempts).toBe(before + 1);
    await subscription.close();
  });

  it('does not open again after it was closed', async () => {
    const subscription = new TestSubscription();
    const opening = subscription.open();
    subscription.handlers!.onSubscribed();
    await opening;
    await subscription.close();
    subscription.clock.advance(10_000);
    expect(subscription.attempts).toBe(1);
  });
});
