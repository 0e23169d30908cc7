import { describe, expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { createEngine, execute } from './index.ts';

/** The states of a session in which its client may disconnect. */
const STATES: readonly [string, ...string[]][] = [
  ['BLPOP list 0'],
  ['BLPOP list other 100'],
  ['WAIT 1 0'],
  ['WAIT 1 1000'],
  ['SUBSCRIBE a b', 'PSUBSCRIBE a*', 'SSUBSCRIBE s'],
  ['HELLO 3', 'SUBSCRIBE a', 'BZPOPMIN zset 5'],
  ['MONITOR'],
  ['WATCH key', 'MULTI', 'SET key 1'],
  ['CLIENT PAUSE 1000 ALL', 'GET key'],
];

describe('a session that closes', () => {
  it.each(STATES)('leaves no entry in the engine: %s', (...lines) => {
    const clock = virtualClock();
    const engine = createEngine({ clock });
    const session = engine.session();
    for (const line of lines) execute(session, line.split(' '));
    session.close();
    session.close();
    const { sessions, monitors, blocking, pubSub } = engine;
    const names = [pubSub.channels, pubSub.patterns, pubSub.shardChannels];
    expect([sessions.size, monitors.size, blocking.count]).toEqual([0, 0, 0]);
    expect(names.map(({ subscribers }) => subscribers.size)).toEqual([0, 0, 0]);
    expect(session.blockedCommand).toBeNull();
    expect(session.watched.size).toBe(0);
    engine.pause.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('an engine that closes', () => {
  it('ends its sessions and all timers; a second close has no effect', () => {
    const clock = virtualClock();
    const engine = createEngine({ clock });
    const closed: string[] = [];
    for (const lines of [['SET key value PX 5000'], ...STATES]) {
      const close = (): unknown => closed.push(lines[0]!);
      const session = engine.session({ push() {}, resume() {}, close });
      for (const line of lines) execute(session, line.split(' '));
    }
    expect(clock.pendingTimers).toBeGreaterThan(3);
    engine.close();
    engine.close();
    expect(clock.pendingTimers).toBe(0);
    expect(engine.sessions.size).toBe(0);
    expect(closed).toHaveLength(STATES.length + 1);
  });
});
