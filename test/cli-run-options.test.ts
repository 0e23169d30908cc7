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

describe('holdfast run --busy-code', () => {
  it('exits with the given code when the lock is busy, and says who holds it', async () => {
    const { code, text } = await whileBusy('--no-wait', '--busy-code', '0', '--', 'echo', 'ran');
    expect(code).toBe(0);
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
