import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findLocalAddress } from '../src/local/index.ts';
import { runCli } from './cli-process.ts';
import { isDead, Lifeline, startRun } from './cli-run-process.ts';
import { LockScene } from './lock-scene.ts';
import { removeFolder } from './remove-folder.ts';
import { suspendProcess } from './suspend-process.ts';
import { withinMs } from './within.ts';

const OVERDUE = 124;
const LOST = 79;
const runtime = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
/** Most of the tests wait for leases to end. A Lifeline blocks one of the four threads that Node reads files with. */
vi.setConfig({ maxConcurrency: 3 });

let scene: LockScene;
let store: string;

beforeAll(async () => {
  scene = await LockScene.open();
  store = `redis://127.0.0.1:${scene.port}`;
});

afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  removeFolder(runtime);
});

interface LocalEnvironment extends Record<string, string> {
  readonly HOLDFAST_RUNTIME_DIR: string;
}

/** The environment of runs with a local server of their own. */
function newLocal(): LocalEnvironment {
  const folder = mkdtempSync(join(runtime, 'local-'));
  return { HOLDFAST_RUNTIME_DIR: folder, HOLDFAST_LOCAL_IDLE_MS: '1000' };
}

/** The pid of the reaper of one run, found by its run id. Its countdowns have no stdout to the runner. */
function reaperOf(runId: string): number | undefined {
  const { stdout } = spawnSync('pgrep', ['-f', `holdfast-reaper ${runId}`]);
  const pids = String(stdout).trim().split('\n').map(Number);
  return pids.find((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const [, parent, session] = /\) \S (\d+) \d+ (\d+)/.exec(stat)!.map(Number);
      const tells = readlinkSync(`/proc/${pid}/fd/1`).startsWith('socket:');
      // The shell that starts the reaper leads its session, and exits at once.
      return tells && !pids.includes(parent!) && pid !== session;
    } catch {
      return false;
    }
  });
}

/** 0 if the process is gone too. */
function countdownsOf(reaper: number): number {
  try {
    const listing = readFileSync(`/proc/${reaper}/task/${reaper}/children`, 'latin1');
    return listing.split(' ').filter((pid) => pid !== '').length;
  } catch {
    return 0;
  }
}

describe.concurrent('a grandchild outside of the group, without the run id, whose parent is dead', () => {
  // It ignores SIGTERM, by which its parent dies. It has its own session and environment.
  const grandchild = (line: Lifeline): string =>
    `trap "" TERM HUP INT; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
  const script = (line: Lifeline): string => `env -i setsid sh -c '${grandchild(line)}'; true`;

  it('is killed after --max-hold', async () => {
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

describe.concurrent('a runner that is stopped', () => {
  it('before the first renewal: the command ends before the lease', async () => {
    using line = new Lifeline();
    const script = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
    const options = ['--store', store, '--lease', '8s'];
    const command = ['env', '-i', 'sh', '-c', script];
    await using runner = startRun(['early', ...options, '--', ...command]);
    await line.next();
    suspendProcess(runner.child.pid!);
    await line.ended();
    expect(await scene.leftMs('early')).toBeGreaterThan(0);
    runner.child.kill('SIGCONT');
    expect(await runner.ended()).toBe(LOST);
  });

  it('while the local server is killed: the command ends before another client gets the lock', async () => {
    using line = new Lifeline();
    const stubborn = `trap "" TERM; exec 9>"${line.path}"; echo $$ >&9; while :; do sleep 1000; done`;
    // Without its environment it is found by its pid alone.
    const command = ['env', '-i', 'sh', '-c', stubborn];
    const local = newLocal();
    await using runner = startRun(['stopped', '--', ...command], local);
    const pid = await line.next();
    suspendProcess(runner.child.pid!);
    await killLocalServer(local);
    await using next = startRun(['stopped', '--', 'sh', '-c', isDead(pid)], local);
    expect(await next.ended()).toBe(0);
    expect(next.text).toBe('dead\n');
    await line.ended();
    runner.child.kill('SIGCONT');
    expect(await runner.ended()).toBe(LOST);
  });
});

async function killLocalServer(environment: LocalEnvironment): Promise<void> {
  const address = await findLocalAddress({ environment });
  const { output } = await runCli(['cli', '--store', address!, 'INFO', 'server']);
  process.kill(Number(/process_id:(\d+)/.exec(output)![1]), 'SIGKILL');
}

describe.concurrent('a reaper', () => {
  const HOLD = 'echo runId $HOLDFAST_RUN.; read x; exit 6';

  async function startWatched(name: string, lease: string, script: string) {
    const runner = startRun([name, '--store', store, '--lease', lease, '--', 'sh', '-c', script]);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    return { runner, runId: runId! };
  }

  /** Resolves to the pid of the replacement, which is neither the first reaper nor one of its countdowns. */
  async function anotherReaper(runId: string, before: number): Promise<number> {
    for (;;) {
      await scene.direct.ping();
      const found = reaperOf(runId);
      if (found !== undefined && found !== before && countdownsOf(found) > 0) return found;
    }
  }

  it('that is killed is replaced, and its countdown does not end the command', async () => {
    const { runner, runId } = await startWatched('replaced', '3s', HOLD);
    await using _ended = runner;
    const first = reaperOf(runId)!;
    process.kill(first, 'SIGKILL');
    const second = await anotherReaper(runId, first);
    // Real time must pass: the countdown of the first reaper would be over.
    const since = await scene.direct.time();
    for (let now = since; now[0]! - since[0]! < 5; now = await scene.direct.time());
    expect(reaperOf(runId)).toBe(second);
    runner.type('\n');
    expect(await runner.ended()).toBe(6);
  });

  it('that replaces a killed one kills the command of a killed runner', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap "" TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000; done`;
    const { runner, runId } = await startWatched('second', '5m', script);
    await using _ended = runner;
    const first = reaperOf(runId)!;
    process.kill(first, 'SIGKILL');
    await anotherReaper(runId, first);
    runner.child.kill('SIGKILL');
    await line.ended();
  });

  it('that replaces a killed one does not hide the end of the server from the runner', async () => {
    using line = new Lifeline();
    const polite = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000 & wait; done`;
    const local = newLocal();
    await using runner = startRun(['heard', '--', 'sh', '-c', polite], local);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    const first = reaperOf(runId!)!;
    process.kill(first, 'SIGKILL');
    await anotherReaper(runId!, first);
    await killLocalServer(local);
    expect(await line.next()).toBe('told');
    expect(await runner.ended()).toBe(LOST);
  });

  it('that is killed with its runner: no process is left when the lease has ended', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; echo runId $HOLDFAST_RUN.; sleep 1000`;
    const local = newLocal();
    await using runner = startRun(['pair', '--lease', '3s', '--', 'sh', '-c', script], local);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    const reaper = reaperOf(runId!)!;
    while (countdownsOf(reaper) < 2) await scene.direct.ping();
    suspendProcess(runner.child.pid!);
    process.kill(reaper, 'SIGKILL');
    runner.child.kill('SIGKILL');
    await line.ended();
    const left = () => spawnSync('pgrep', ['-f', `holdfast-reaper ${runId}`]).status === 0;
    await expect.poll(left, { timeout: withinMs(5000) }).toBe(false);
  });

  it('that is killed after the server is replaced, and no process of the command is left', async () => {
    using line = new Lifeline();
    const stubborn = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
    const script = `(setsid sh -c '${stubborn}' &); trap "echo told" TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1; done`;
    const local = newLocal();
    await using runner = startRun(['both', '--', 'sh', '-c', script], local);
    const [, runId] = await runner.waitFor(/runId (\w+)\.\n/);
    await line.next();
    const reaper = reaperOf(runId!)!;
    await killLocalServer(local);
    await runner.waitFor(/told/);
    process.kill(reaper, 'SIGKILL');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'that got %s: processes that the command leaves in its group are ended',
    async (signal) => {
      using line = new Lifeline();
      const left = `trap "" TERM; exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
      const script = `sh -c '${left}' & ${HOLD}`;
      const { runner, runId } = await startWatched(`left-${signal}`, '5m', script);
      await using _ended = runner;
      await line.next();
      process.kill(reaperOf(runId)!, signal);
      runner.type('\n');
      await line.ended();
      expect(await runner.ended()).toBe(6);
    },
  );

  it('that is stopped continues when the lock is lost: the command gets SIGTERM before SIGKILL', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo runId $HOLDFAST_RUN.; while :; do sleep 1000 & wait; done`;
    const { runner, runId } = await startWatched('woken', '3s', script);
    await using _ended = runner;
    suspendProcess(reaperOf(runId)!);
    await scene.neighbour().mutex('woken').forceRelease();
    expect(await line.next()).toBe('told');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });
});
