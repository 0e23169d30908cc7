import diagnostics from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { elapse } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { Locks, memoryStore } from '../lock/index.ts';
import { ProcessMetrics } from './process-metrics.ts';

function open(): { clock: VirtualClock; locks: Locks; metrics: ProcessMetrics } {
  const clock = virtualClock();
  const metrics = new ProcessMetrics();
  onTestFinished(() => metrics.close());
  const random = seededRandom(1);
  return { clock, metrics, locks: new Locks({ store: memoryStore(clock), clock, random }) };
}

/** The lines of the metrics that begin so. */
function linesOf(metrics: ProcessMetrics, start: string): string[] {
  return metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(start));
}

it('counts grants, waits, failures and leases by kind', async () => {
  const { clock, locks, metrics } = open();
  const lease = await locks.mutex('order:1').acquire();
  const next = locks.mutex('order:1').acquire();
  const late = locks.mutex('order:1').acquire({ wait: 100 });
  late.catch(() => {});
  expect(await locks.mutex('order:1').tryAcquire()).toBeNull();
  await elapse(clock, 2000);
  await expect(late).rejects.toThrow();
  const kind = 'holdfast_lock_kind="mutex"';
  expect(linesOf(metrics, 'holdfast_lock_waiters')).toEqual([`holdfast_lock_waiters{${kind}} 1`]);
  await lease.release();
  await (await next).release();
  await (await locks.semaphore('pool', 2).acquire()).release();
  for (const line of [
    `holdfast_lock_grants_total{${kind},how="granted"} 1`,
    `holdfast_lock_grants_total{${kind},how="handed-over"} 1`,
    'holdfast_lock_grants_total{holdfast_lock_kind="semaphore",how="granted"} 1',
    `holdfast_lock_contentions_total{${kind}} 3`,
    `holdfast_lock_failures_total{${kind},error_type="busy"} 1`,
    `holdfast_lock_failures_total{${kind},error_type="timeout"} 1`,
    `holdfast_lock_active_leases{${kind}} 0`,
    `holdfast_lock_waiters{${kind}} 0`,
    `holdfast_lock_hold_duration_seconds_sum{${kind},holdfast_lock_outcome="released"} 2`,
    `holdfast_lock_wait_duration_seconds_count{${kind},holdfast_lock_outcome="granted"} 2`,
    'holdfast_lock_group_grants_total{group="order:*"} 2',
    'holdfast_lock_group_waits_total{group="order:*"} 2',
    'holdfast_lock_group_wait_seconds_total{group="order:*"} 2.1',
  ]) {
    expect(metrics.text().split('\n')).toContain(line);
  }
});

it('counts losses, renewals and forced releases', async () => {
  const { clock, locks, metrics } = open();
  await locks.mutex('a').acquire({ lease: 3000 });
  await elapse(clock, 1500);
  await locks.mutex('a').forceRelease();
  await elapse(clock, 5000);
  const kind = 'holdfast_lock_kind="mutex"';
  expect(linesOf(metrics, 'holdfast_lock_renewals_total')).toEqual([
    `holdfast_lock_renewals_total{${kind},outcome="renewed"} 1`,
  ]);
  expect(linesOf(metrics, 'holdfast_lock_losses_total')).toHaveLength(1);
  expect(linesOf(metrics, 'holdfast_lock_forced')).toEqual([
    `holdfast_lock_forced_releases_total{${kind}} 1`,
  ]);
  expect(linesOf(metrics, 'holdfast_lock_active')).toEqual([
    `holdfast_lock_active_leases{${kind}} 0`,
  ]);
});

it('does not count the end of a lease from before, and shows no name', async () => {
  const clock = virtualClock();
  const locks = new Locks({ store: memoryStore(clock), clock, random: seededRandom(1) });
  const lease = await locks.mutex('secret-name-7').acquire();
  const metrics = new ProcessMetrics();
  await lease.release();
  expect(linesOf(metrics, 'holdfast_lock_active')).toEqual([]);
  await (await locks.mutex('secret-name-7').acquire()).release();
  expect(metrics.text()).not.toContain('secret-name-7');
  metrics.close();
});

it('is subscribed until it is closed', () => {
  const metrics = new ProcessMetrics();
  expect(diagnostics.hasSubscribers('holdfast:grant')).toBe(true);
  metrics.close();
  expect(diagnostics.hasSubscribers('holdfast:grant')).toBe(false);
});
