import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CandidateProcess } from './candidate-process.ts';
import { BUILD } from './lock-holder-process.ts';
import { LockScene, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/* Candidates in processes of their own, on a real server. The server's clock and the processes need real time. */

const LEASE_MS = 1500;
/** So long that no test sees its end. */
const LONG_LEASE_MS = 600_000;

const urlOf = ({ port }: LockScene): string => `redis://127.0.0.1:${port}`;

describe.concurrent('a leader', () => {
  it('that is killed is followed no later than the end of its lease', async () => {
    await using scene = await LockScene.open();
    const given = { url: urlOf(scene), options: { lease: LEASE_MS } };
    await using first = new CandidateProcess(given);
    const fence = await first.leads();
    await using second = new CandidateProcess(given);
    await until(async () => (await scene.waitersOf('job')) === 1);
    const beganMs = performance.now();
    await first.kill();
    expect(await second.leads()).toBeGreaterThan(fence);
    expect(performance.now() - beganMs).toBeLessThan(LEASE_MS + withinMs(2000));
    const observer = scene.neighbour().elect('job', () => {});
    expect(await observer.leader()).toMatchObject({ host: hostname(), pid: second.pid });
    await observer.stop();
  });

  it('that is killed is followed at once if its locks end with a session', async () => {
    await using scene = await LockScene.openOnHoldfast();
    const given = { url: urlOf(scene), options: { lease: LONG_LEASE_MS }, session: true };
    await using first = new CandidateProcess(given);
    const fence = await first.leads();
    await using second = new CandidateProcess(given);
    await until(async () => (await scene.waitersOf('job')) === 1);
    const beganMs = performance.now();
    await first.kill();
    expect(await second.leads()).toBeGreaterThan(fence);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000));
  });

  it('that stops is followed at once, and its callback is notified before', async () => {
    await using scene = await LockScene.open();
    const given = { url: urlOf(scene), options: { lease: LONG_LEASE_MS } };
    await using first = new CandidateProcess(given);
    await first.leads();
    await using second = new CandidateProcess(given);
    await until(async () => (await scene.waitersOf('job')) === 1);
    const beganMs = performance.now();
    await first.stop();
    expect(await first.ends()).toBe('aborted');
    await second.leads();
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000));
  });
});

it('a program that only campaigns stays alive, and exits after stop()', async () => {
  const program = `
    const { createLocks } = await import(${JSON.stringify(BUILD)});
    const locks = createLocks();
    const holder = await locks.mutex('job').acquire({ lease: 300, renew: false });
    let terms = 0;
    const election = locks.elect('job', ({ fence }) => {
      process.stdout.write(fence > holder.fence ? 'term ' : 'wrong ');
      if (++terms === 3) election.stop().then(() => process.stdout.write('stopped'));
    });`;
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe('term term term stopped');
});
