import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import { startHeartbeat } from './heartbeat.ts';

/** A connection whose replies to PING the test sends. */
class Peer {
  readonly clock = virtualClock();
  pings = 0;
  silences = 0;
  reply = (): void => {};
  refuse = (): void => {};
  readonly stop = startHeartbeat(
    () => this.#ping(),
    () => {
      this.silences++;
    },
    this.clock,
  );

  #ping(): Promise<void> {
    this.pings++;
    return new Promise((resolve, reject) => {
      this.reply = resolve;
      this.refuse = () => reject(new Error('NOPERM'));
    });
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('startHeartbeat', () => {
  it('sends a PING every 3 s while replies come', async () => {
    const peer = new Peer();
    peer.clock.advance(2999);
    expect(peer.pings).toBe(0);
    for (const count of [1, 2, 3]) {
      peer.clock.advance(count === 1 ? 1 : 3000);
      expect(peer.pings).toBe(count);
      peer.reply();
      await settled();
    }
    expect(peer.silences).toBe(0);
    peer.stop();
    expect(peer.clock.pendingTimers).toBe(0);
  });

  it('reports silence once, 3 s after a PING without a reply, and sends no more', async () => {
    const peer = new Peer();
    peer.clock.advance(3000 + 2999);
    expect(peer.silences).toBe(0);
    peer.clock.advance(1);
    expect(peer.silences).toBe(1);
    peer.reply();
    await settled();
    peer.clock.advance(60_000);
    expect([peer.pings, peer.silences, peer.clock.pendingTimers]).toEqual([1, 1, 0]);
  });

  it('counts an error reply as a reply', async () => {
    const peer = new Peer();
    peer.clock.advance(3000);
    peer.refuse();
    await settled();
    peer.clock.advance(3000);
    expect([peer.pings, peer.silences]).toEqual([2, 0]);
  });

  it('reports nothing after it was stopped while a PING had no reply', () => {
    const peer = new Peer();
    peer.clock.advance(3000);
    peer.stop();
    peer.stop();
    peer.clock.advance(60_000);
    expect([peer.silences, peer.clock.pendingTimers]).toEqual([0, 0]);
  });

  it('reports nothing when it is stopped after the limit but before the check', () => {
    const peer = new Peer();
    const deferred: (() => void)[] = [];
    peer.clock.defer = (callback) => void deferred.push(callback);
    peer.clock.advance(6000);
    peer.stop();
    for (const callback of deferred) callback();
    expect([deferred.length, peer.silences]).toEqual([1, 0]);
  });

  it('reads a reply that came while the event loop was blocked before it reports silence', async () => {
    const peer = new Peer();
    const deferred: (() => void)[] = [];
    peer.clock.defer = (callback) => void deferred.push(callback);
    peer.clock.advance(6000);
    peer.reply();
    await settled();
    for (const callback of deferred) callback();
    expect([deferred.length, peer.silences]).toEqual([1, 0]);
    peer.clock.advance(3000);
    expect(peer.pings).toBe(2);
  });
});
