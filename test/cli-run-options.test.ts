import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCli } from './cli-process.ts';
import { startRun } from './cli-run-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-run-options-'));
const LOCAL = { HOLDFAST_RUNTIME_DIR: folder, HOLDFAST_LOCAL_IDLE_MS: '1000' };
const HOLD = ['--', 'sh', '-c', 'echo held; read line'];
afterAll(() => rmSync(folder, { recursive: true }));

/** The exit code and output of a run on the local server that holds the lock `busy` already. */
async function whileBusy(...args: string[]): Promise<{ code: number | null; text: string }> {
  await using holder = startRun(['busy', ...HOLD], LOCAL);
  await holder.waitFor(/held/);
  await using runner = startRun(['busy', ...args], LOCAL);
  const code = await runner.ended();
  holder.type('\n');
  await holder.ended();
  return { code, text: runner.text };
}

/** Releases a kept lock, so that the local server can end. */
async function freeLocal(name: string): Promise<void> {
  const words = ['release', name, '--force', '--reason', 'the test has ended'];
  expect((await runCli(words, { environment: LOCAL })).code).toBe(0);
}

describe('holdfast run --busy-code', () => {
  it('prints nothing when the lock is busy and the code is 0', async () => {
    const { code, text } = await whileBusy('--no-wait', '--busy-code', '0', '--', 'echo', 'ran');
    expect({ code, text }).toEqual({ code: 0, text: '' });
  });

  it('exits with the given code when the lock is busy, and names the holder', async () => {
    const { code, text } = await whileBusy('--no-wait', '--busy-code', '3', '--', 'echo', 'ran');
    expect(code).toBe(3);
    expect(text).toMatch(
      /^holdfast: lock 'busy' is busy: held by \S+ pid \d+ \(sh\) for [\d.]+s\.\n$/,
    );
  });

  it('exits with the given code when --wait ends', async () => {
    const { code } = await whileBusy('--wait', '10ms', '--busy-code', '201', '--', 'true');
    expect(code).toBe(201);
  });

  it('does not change the exit code of the command', async () => {
    await using runner = startRun(['free', '--busy-code', '9', '--', 'sh', '-c', 'exit 75'], LOCAL);
    expect(await runner.ended()).toBe(75);
  });

  it.each(['256', '-1', '1.5', 'x', ''])('refuses %j with 2', async (code) => {
    const ended = await runCli(['run', 'a', `--busy-code=${code}`, '--', 'true']);
    expect(ended.errors).toContain(
      `--busy-code must be a whole number from 0 to 255; got '${code}'.`,
    );
    expect(ended.code).toBe(2);
  });
});

describe('holdfast run --keep-for', () => {
  it('runs the command once, of runs that start one after the other', async () => {
    const args = ['tick', '-n', '--busy-code', '0', '--keep-for', '1h', '-c', 'echo ran; exit 3'];
    const ends: unknown[] = [];
    for (let run = 0; run < 3; run++) {
      await using runner = startRun(args, LOCAL);
      ends.push([await runner.ended(), runner.text]);
    }
    expect(ends).toEqual([
      [3, 'ran\n'],
      [0, ''],
      [0, ''],
    ]);
    await freeLocal('tick');
  });

  it('frees the lock after its time', async () => {
    await using first = startRun(['short', '--keep-for', '500ms', '--', 'true'], LOCAL);
    expect(await first.ended()).toBe(0);
    await using second = startRun(['short', '--wait', '10s', '-c', 'echo ran'], LOCAL);
    expect([await second.ended(), second.text]).toEqual([0, 'ran\n']);
  });

  it('does not keep the mutex of a run that does not get its other lock', async () => {
    await using holder = startRun(['unstarted', '--shared', ...HOLD], LOCAL);
    await holder.waitFor(/held/);
    // It acquires the mutex, but not the write side of the read/write lock.
    await using busy = startRun(['unstarted', '-n', '--keep-for', '1h', '--', 'true'], LOCAL);
    expect(await busy.ended()).toBe(75);
    holder.type('\n');
    expect(await holder.ended()).toBe(0);
    await using last = startRun(['unstarted', '-n', '-c', 'echo ran'], LOCAL);
    expect([await last.ended(), last.text]).toEqual([0, 'ran\n']);
  });

  it.each(['soon', '-1s', 'Infinity'])('refuses %j with 2', async (duration) => {
    const { code, errors } = await runCli(['run', 'a', `--keep-for=${duration}`, '--', 'true']);
    expect(errors).toContain(
      `--keep-for must be a duration, such as 500ms, 30s, 5m or 1h; got '${duration}'.`,
    );
    expect(code).toBe(2);
  });
});

describe('holdfast run -c', () => {
  it.each([
    ['after the name', ['shell', '-c', 'echo "$HOLDFAST_LOCK" | tr a-z A-Z; exit 4']],
    ['before the name', ['-c', 'echo "$HOLDFAST_LOCK" | tr a-z A-Z; exit 4', 'shell']],
  ])('runs a command by sh, %s', async (_where, args) => {
    await using runner = startRun(args, LOCAL);
    expect(await runner.ended()).toBe(4);
    expect(runner.text).toBe('SHELL\n');
  });

  it.each([
    [['a', '-c', 'true', '--', 'true'], 'Choose -c or a command after --.'],
    [['a', '-c', ''], 'The command of -c is empty.'],
    [['a', '-c', 'echo', 'hi'], "'hi' is one word too many: write the command of -c in quotes."],
  ])('refuses %j with 2', async (args, message) => {
    const { code, errors } = await runCli(['run', ...args]);
    expect(errors).toContain(message);
    expect(code).toBe(2);
  });
});

describe('holdfast run without a terminal', () => {
  it('says once, after 10 s, who holds the lock it waits for', async () => {
    await using holder = startRun(['long', ...HOLD], LOCAL);
    await holder.waitFor(/held/);
    await using runner = startRun(['long', '--', 'echo', 'ran'], LOCAL);
    await runner.waitFor(/^holdfast: waiting for 'long': held by \S+ pid \d+ \(sh\) for 1\ds\.\n/);
    holder.type('\n');
    expect(await runner.ended()).toBe(0);
    expect(runner.text).toMatch(/^holdfast: waiting for [^\n]*\nran\n$/);
    await holder.ended();
  });
});
