import { describe, expect, it } from 'vitest';
import { startWireEngine } from '../../test/wire-client.ts';
import { LatencyMonitor } from './latency.ts';

describe('latency', () => {
  it('is recorded from the threshold on, and not with a threshold of 0', () => {
    const monitor = new LatencyMonitor();
    expect(monitor.thresholdMs).toBe(Number.POSITIVE_INFINITY);
    monitor.setThreshold(5);
    expect(monitor.thresholdMs).toBe(5);
    monitor.setThreshold(0);
    expect(monitor.thresholdMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('keeps the longest of each second, for 160 seconds', () => {
    const monitor = new LatencyMonitor();
    monitor.add('command', 1, 7.9);
    monitor.add('command', 1, 5);
    monitor.add('command', 2, 6);
    expect(monitor.samples.get('command')).toEqual([
      { unixSeconds: 1, durationMs: 7 },
      { unixSeconds: 2, durationMs: 6 },
    ]);
    for (let second = 3; second < 200; second++) monitor.add('command', second, 1);
    expect(monitor.samples.get('command')).toHaveLength(160);
    expect(monitor.longestMs.get('command')).toBe(7);
  });

  it('is returned by LATENCY', () => {
    const wire = startWireEngine();
    const client = wire.connect();
    expect(client.send('LATENCY LATEST')).toBe('*0');
    wire.engine.latency.add('command', 100, 30);
    wire.engine.latency.add('command', 101, 20);
    wire.engine.latency.add('fast-command', 102, 10);
    expect(client.send('LATENCY LATEST')).toBe(
      '*2 *4 $7 command :101 :20 :30 *4 $12 fast-command :102 :10 :10',
    );
    expect(client.send('LATENCY HISTORY command')).toBe('*2 *2 :100 :30 *2 :101 :20');
    expect(client.send('LATENCY HISTORY nothing')).toBe('*0');
    expect(client.send('LATENCY RESET command nothing')).toBe(':1');
    expect(client.send('LATENCY RESET')).toBe(':1');
    expect(client.send('LATENCY LATEST')).toBe('*0');
    expect(client.send('LATENCY HELP')).toContain('+HISTORY event');
  });

  it('is recorded for fast commands and other commands', () => {
    const wire = startWireEngine({ 'latency-monitor-threshold': '3' });
    const client = wire.connect();
    // The clock moves while the command runs, as it does for a slow one.
    const { clock } = wire;
    const slow = { push: () => clock.advance(4), resume() {}, close() {} };
    wire.engine.pubSub.subscribe(wire.engine.session(slow), 'channels', 'a');
    client.send('PUBLISH a x');
    client.send('PING');
    expect(client.send('LATENCY LATEST')).toMatch(/^\*1 \*4 \$12 fast-command :\d+ :4 :4$/);
  });
});
