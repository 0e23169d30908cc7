import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findLocalAddress } from '../src/local/index.ts';
import { runCli } from './cli-process.ts';
import { isDead, Lifeline, startRun } from './cli-run-process.ts';
import { LockScene } from './lock-scene.ts';
import { withinMs } from './within.ts';

const OVERDUE = 124;
const LOST = 79;
const runtime = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
const LOCAL = { HOLDFAST_RUNTIME_DIR: runtime, HOLDFAST_LOCAL_IDLE_MS: '1000' };
let scene: LockScene;
let store: string;

beforeAll(async () => {
  scene = await LockScene.open();
  store = `redis://127.0.0.1:${scene.port}`;
});

afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  rmSync(runtime, { recursive: true, force: true });
});

/** The reaper of one run, which nobody else's runId names. What it starts tells the runner nothing. */
function reaperOf(runId: string): number | undefined {
  const { stdout } = spawnSync('pgrep', ['-f', `holdfast-reaper ${runId}`]);
  const pids = String(stdout).trim().split('\n').map(Number);
  return pids.find((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const [, parent, session] = /\) \S (\d+) \d+ (\d+)/.exec(stat)!.map(Number);
      const tells = readlinkSync(`/proc/${pid}/fd/1`).startsWith('socket:');
      // The shell that starts it leads its session, and ends at once.
      return tells && !pids.includes(parent!) && pid !== session;
    } catch {
      return false;
    }
  });
}

/** 0 also if it is gone. */
function countdownsOf(reaper: number): number {
  try {
    const listing = readFileSync(`/proc/${reaper}/task/${reaper}/children`, 'latin1');
    return listing.split(' ').filter((pid) => pid !== '').length;
  } catch {
    return 0;
  }
}

describe('a grandchild that nothing tells of any more', () => {
  // It ignores SIGTERM, of which its parent dies; it has a session and an environment of its own.
  const grandchild = (line: Lifeline): string =>
    `trap "" TERM HUP INT; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
  const script = (line: Lifeline): string => `env -i setsid sh -c '${grandchild(line)}'; true`;

  it('is killed because of --max-hold', async () => {
    using line = new Lifeline();
    const command = ['sh', '-c', script(line)];
    const options = ['--store', store, '--max-hold', '1s'];
    await using runner = startRun(['stray', ...options, '--', ...command]);
    await line.next();
    await line.ended();
    expect(await runner.ended()).toBe(OVERDUE);
  });

  it('is killed when the lock is lost', async () => {
    using line = new Lifeline();
    const command = ['sh', '-c', script(line)];
    const options = ['--store', store, '--lease', '2s'];
    await using runner = startRun(['stray-lost', ...options, '--', ...command]);
    await line.next();
    await scene.neighbour().mutex('stray-lost').forceRelease();
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });
});

describe('a runner that is stopped', () => {
  it('before the first renewal: the command ends before the lease does', async () => {
    using line = new Lifeline();
    const script = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
    const options = ['--store', store, '--lease', '8s'];
    const command = ['env', '-i', 'sh', '-c', script];
    await using runner = startRun(['early', ...options, '--', ...command]);
    await line.next();
    runner.child.kill('SIGSTOP');
    await line.ended();
    expect(await scene.leftMs('early')).toBeGreaterThan(0);
    runner.child.kill('SIGCONT');
    expect(await runner.ended()).toBe(LOST);
  });

  it('while the local server is killed: the command ends before anybody else gets the lock', async () => {
    using line = new Lifeline();
    const stubborn = `trap "" TERM; exec 9>"${line.path}"; echo $$ >&9; while :; do sleep 1000; done`;
    // Without its environment it is known by its number alone.
    const command = ['env', '-i', 'sh', '-c', stubborn];
    await using runner = startRun(['stopped', '--', ...command], LOCAL);
    const pid = await line.next();
    runner.child.kill('SIGSTOP');
    await killLocalServer();
    await using next = startRun(['stopped', '--', 'sh', '-c', isDead(pid)], LOCAL);
    expect(await next.ended()).toBe(0);
    expect(next.text).toBe('dead\n');
    await line.ended();
    runner.child.kill('SIGCONT');
    expect(await runner.ended()).toBe(LOST);
  });
});

async function killLocalServer(): Promise<void> {
  const address = await findLocalAddress({ environment: LOCAL });
  const { output } = await runCli(['cli', '--store', address!, 'INFO', 'server']);
  process.kill(Number(/process_id:(\d+)/.exec(output)![1]), 'SIGKILL');
}

describe('a reaper', () => {
  const HOLD = 'echo runId $HOLDFAST_RUN.; read x; exit 6';

  async function startGuarded(name: string, lease: string, script: string) {
    const runner = startRun([name, '--store', store, '--lease', lease, '--', 'sh', '-c', script]);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    return { runner, runId: runId! };
  }

  /** Resolves when there is one that is not that one, nor a countdown of that one which has just begun. */
  async function anotherReaper(runId: string, before: number): Promise<number> {
    for (;;) {
      await scene.direct.ping();
      const found = reaperOf(runId);
      if (found !== undefined && found !== before && countdownsOf(found) > 0) return found;
    }
  }

  it('that is killed is replaced, and its countdown does not end the command', async () => {
    const { runner, runId } = await startGuarded('replaced', '3s', HOLD);
    await using _ended = runner;
    const first = reaperOf(runId)!;
    process.kill(first, 'SIGKILL');
    const second = await anotherReaper(runId, first);
    // The server's clock must pass: the countdown of the first one would be over.
    const since = await scene.direct.time();
    for (let now = since; now[0]! - since[0]! < 5; now = await scene.direct.time());
    expect(reaperOf(runId)).toBe(second);
    runner.type('\n');
    expect(await runner.ended()).toBe(6);
  });

  it('that took the place of a killed one kills what a killed runner leaves', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap "" TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000; done`;
    const { runner, runId } = await startGuarded('second', '5m', script);
    await using _ended = runner;
    const first = reaperOf(runId)!;
    process.kill(first, 'SIGKILL');
    await anotherReaper(runId, first);
    runner.child.kill('SIGKILL');
    await line.ended();
  });

  it('that took the place of a killed one leaves the runner to hear of the end of the server', async () => {
    using line = new Lifeline();
    const polite = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000 & wait; done`;
    await using runner = startRun(['heard', '--', 'sh', '-c', polite], LOCAL);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    const first = reaperOf(runId!)!;
    process.kill(first, 'SIGKILL');
    await anotherReaper(runId!, first);
    await killLocalServer();
    expect(await line.next()).toBe('told');
    expect(await runner.ended()).toBe(LOST);
  });

  it('that is killed with its runner leaves nobody behind when the lease has ended', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; echo runId $HOLDFAST_RUN.; sleep 1000`;
    await using runner = startRun(['pair', '--lease', '3s', '--', 'sh', '-c', script], LOCAL);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    const reaper = reaperOf(runId!)!;
    while (countdownsOf(reaper) < 2) await scene.direct.ping();
    runner.child.kill('SIGSTOP');
    process.kill(reaper, 'SIGKILL');
    runner.child.kill('SIGKILL');
    await line.ended();
    const left = () => spawnSync('pgrep', ['-f', `holdfast-reaper ${runId}`]).status === 0;
    await expect.poll(left, { timeout: withinMs(5000) }).toBe(false);
  });

  it('that is killed after the server is replaced all the same, and nothing of the command is left', async () => {
    using line = new Lifeline();
    const stubborn = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
    const script = `(setsid sh -c '${stubborn}' &); trap "echo told" TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1; done`;
    await using runner = startRun(['both', '--', 'sh', '-c', script], LOCAL);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    await line.next();
    const reaper = reaperOf(runId!)!;
    await killLocalServer();
    await runner.waitFor(/told/);
    process.kill(reaper, 'SIGKILL');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'that got %s: what the command leaves in its group is ended all the same',
    async (signal) => {
      using line = new Lifeline();
      const left = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
      const script = `sh -c '${left}' & ${HOLD}`;
      const { runner, runId } = await startGuarded(`left-${signal}`, '5m', script);
      await using _ended = runner;
      await line.next();
      process.kill(reaperOf(runId)!, signal);
      runner.type('\n');
      await line.ended();
      expect(await runner.ended()).toBe(6);
    },
  );

  it('that is stopped is woken when the lock is lost: the command is told before it is killed', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000 & wait; done`;
    const { runner, runId } = await startGuarded('woken', '3s', script);
    await using _ended = runner;
    process.kill(reaperOf(runId)!, 'SIGSTOP');
    await scene.neighbour().mutex('woken').forceRelease();
    expect(await line.next()).toBe('told');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });
});
