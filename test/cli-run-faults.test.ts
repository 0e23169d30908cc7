import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  constants as fileConstants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findLocalAddress } from '../src/local/index.ts';
import { MAIN, runCli } from './cli-process.ts';
import { isDead, Lifeline, startRun } from './cli-run-process.ts';
import { LockScene } from './lock-scene.ts';
import { removeFolder } from './remove-folder.ts';
import { suspendProcess } from './suspend-process.ts';

const LOST = 79;
const runtime = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
const LOCAL = { HOLDFAST_RUNTIME_DIR: runtime, HOLDFAST_LOCAL_IDLE_MS: '1000' };
let scene: LockScene;
let direct: string;
let proxied: string;

beforeAll(async () => {
  scene = await LockScene.open();
  direct = `redis://127.0.0.1:${scene.port}`;
  proxied = `redis://127.0.0.1:${scene.proxy.port}`;
});

afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  removeFolder(runtime);
});

/**
 * A command whose grandchild will not go: it ignores SIGTERM, leaves the group and the session, and is
 * an orphan. Both hold the line; the grandchild tells its number. The last word is the command's.
 */
function stubborn({ path }: Lifeline): string {
  const grandchild = `trap "" TERM HUP INT; echo $$ >&9; exec sleep 1000`;
  return `exec 9>"${path}"; (setsid sh -c '${grandchild}' &); trap "" TERM; while :; do sleep 1000; done`;
}

/** Starts a run of a shell script with a short lease. */
function startShell(name: string, store: string, lease: string, script: string) {
  return startRun([name, '--store', store, '--lease', lease, '--', 'sh', '-c', script]);
}

/** The key of the second lock of a run, beside the mutex. */
const leftMs = (name: string): Promise<number> => scene.leftMs(name);

/** Signals the reaper of one run, found by its run id. */
function signalReaper(runId: string, signal: NodeJS.Signals): void {
  const pids = execFileSync('pgrep', ['-f', `holdfast-reaper ${runId}`], { encoding: 'utf8' });
  for (const pid of pids.trim().split('\n')) process.kill(Number(pid), signal);
}

function hasReaper(runId: string): boolean {
  return spawnSync('pgrep', ['-f', `holdfast-reaper ${runId}`]).status === 0;
}

describe('when the lock is lost, the run', () => {
  it('gives the command one second to end when one of its two leases is lost', async () => {
    const script =
      'trap "sleep 0.6; echo cleaned; exit" TERM; echo on; while :; do sleep 0.05; done';
    await using runner = startShell('half', direct, '3s', script);
    await runner.waitFor(/on/);
    await scene.neighbour().mutex('half').forceRelease();
    expect(await runner.ended()).toBe(LOST);
    expect(runner.text).toContain('cleaned');
  });

  it('ends the command and a grandchild that ignores SIGTERM after a forced release', async () => {
    using line = new Lifeline();
    await using runner = startShell('forced', direct, '1s', stubborn(line));
    await line.next();
    await scene.neighbour().mutex('forced').forceRelease();
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
    expect(runner.text).toContain(
      "lock 'forced' was lost: another client stole it or released it by force",
    );
  });

  it('ends both before the lease can end when the store does not answer', async () => {
    using line = new Lifeline();
    await using runner = startShell('silent', proxied, '4s', stubborn(line));
    await line.next();
    await scene.proxy.set({ kind: 'swallow' });
    await line.ended();
    expect(await leftMs('silent')).toBeGreaterThan(0);
    await scene.proxy.set({ kind: 'pass' });
    expect(await runner.ended()).toBe(LOST);
    expect(runner.text).toContain('the lease could not be renewed');
  });

  it('gives a command with a SIGTERM handler time to clean up', async () => {
    using line = new Lifeline();
    const polite = `exec 9>"${line.path}"; trap 'echo tidied >&9; exit 0' TERM; echo on >&9; while :; do sleep 1000 & wait; done`;
    await using runner = startShell('polite', direct, '1s', polite);
    await line.next();
    await scene.neighbour().mutex('polite').forceRelease();
    expect(await line.next()).toBe('tidied');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it('continues a stopped command so that it can end', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; echo on >&9; kill -STOP $$`;
    await using runner = startShell('stopped', direct, '1s', script);
    await line.next();
    await scene.neighbour().mutex('stopped').forceRelease();
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it('ends a nested run and its command', async () => {
    using line = new Lifeline();
    const inner = [
      process.execPath,
      MAIN,
      'run',
      'inner',
      '--store',
      direct,
      '--',
      'sh',
      '-c',
      stubborn(line),
    ];
    await using runner = startRun(['outer', '--store', direct, '--lease', '1s', '--', ...inner]);
    await line.next();
    await scene.neighbour().mutex('outer').forceRelease();
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it('ends the process group when the reaper was killed', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap "" TERM; echo $HOLDFAST_RUN >&9; while :; do sleep 1000; done`;
    const options = ['--store', direct, '--lease', '1s'];
    await using runner = startRun(['alone', ...options, '--', 'sh', '-c', script]);
    const runId = await line.next();
    signalReaper(runId, 'SIGKILL');
    await scene.neighbour().mutex('alone').forceRelease();
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
  });

  it('does not end the command when a later renewal succeeds in time', async () => {
    await using runner = startShell('again', proxied, '2s', 'echo on; read x');
    await runner.waitFor(/on/);
    await scene.proxy.set({ kind: 'refuse' });
    // Real time must pass on the server: a renewal is due, and fails.
    const before = await leftMs('again');
    while ((await leftMs('again')) > before - 800) await scene.direct.ping();
    await scene.proxy.set({ kind: 'pass' });
    while ((await leftMs('again')) < 1500) await scene.direct.ping();
    runner.type('\n');
    expect(await runner.ended()).toBe(0);
  });
});

describe('--max-hold', () => {
  it('ends the command when stderr is a full pipe', async () => {
    using line = new Lifeline();
    // Opened separately: the descriptor of the run must stay blocking.
    const fill = `exec 8>&2; dd if=/dev/zero of=/proc/$$/fd/8 bs=4096 count=1000 oflag=nonblock 2>/dev/null`;
    const script = `exec 9>"${line.path}"; ${fill}; trap 'echo told >&9; exit 0' TERM; echo on >&9; while :; do sleep 1000 9>&- & wait; done`;
    const words = `'${process.execPath}' '${MAIN}' run unread --store ${direct} --max-hold 1s -- sh -c "$0"`;
    const { pid } = spawn('setsid', ['sh', '-c', `{ ${words} 2>&1 | sleep 1000; }`, script]);
    using _ended = { [Symbol.dispose]: () => execFileSync('pkill', ['-KILL', '-s', String(pid)]) };
    await line.next();
    expect(await line.next()).toBe('told');
  });

  it('ends the command while the lock is still held, with 124', async () => {
    using line = new Lifeline();
    const script = `exec 9>"${line.path}"; trap 'echo $(redis-cli -p ${scene.port} exists "lock:{long}") >&9; exit 0' TERM; echo on >&9; while :; do sleep 1000 & wait; done`;
    await using runner = startRun([
      'long',
      '--store',
      direct,
      '--max-hold',
      '100ms',
      '--',
      'sh',
      '-c',
      script,
    ]);
    expect(await line.next()).toBe('on');
    expect(await line.next()).toBe('1');
    expect(await runner.ended()).toBe(124);
    expect(await leftMs('long')).toBeLessThan(0);
  });
});

describe('a runner', () => {
  it('exits after its command when the reaper is stopped', async () => {
    const script = 'echo runId $HOLDFAST_RUN; read x; exit 6';
    await using runner = startRun(['hangs', '--store', direct, '--', 'sh', '-c', script]);
    const [, runId] = await runner.waitFor(/runId (\S+)\n/);
    signalReaper(runId!, 'SIGSTOP');
    runner.type('\n');
    expect(await runner.ended()).toBe(6);
    while (hasReaper(runId!)) await scene.direct.ping();
  });

  it('that is stopped for longer than the lease: the command ends before the lease', async () => {
    using line = new Lifeline();
    await using runner = startShell('frozen', direct, '4s', stubborn(line));
    await line.next();
    suspendProcess(runner.child.pid!);
    await line.ended();
    expect(await leftMs('frozen')).toBeGreaterThan(0);
    runner.child.kill('SIGCONT');
    expect(await runner.ended()).toBe(LOST);
  });

  it('that is stopped for less than the lease: the command continues', async () => {
    await using runner = startShell('nap', direct, '2s', 'echo on; read x');
    await runner.waitFor(/on/);
    suspendProcess(runner.child.pid!);
    runner.child.kill('SIGCONT');
    const before = await leftMs('nap');
    while ((await leftMs('nap')) <= before) await scene.direct.ping();
    runner.type('\n');
    expect(await runner.ended()).toBe(0);
  });

  it('that is killed: no process of the command survives', async () => {
    using line = new Lifeline();
    await using runner = startRun(['killed', '--store', direct, '--', 'sh', '-c', stubborn(line)]);
    await line.next();
    runner.child.kill('SIGKILL');
    await line.ended();
    expect(await leftMs('killed')).toBeGreaterThan(0);
  });

  it('that is killed, with other tools first on the PATH: no process of the command survives', async () => {
    using line = new Lifeline();
    const tools = mkdtempSync(join(runtime, 'tools-'));
    for (const name of ['grep', 'sleep']) {
      writeFileSync(join(tools, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    }
    const command = ['sh', '-c', `PATH=/usr/bin:/bin; ${stubborn(line)}`];
    await using runner = startRun(['tools', '--store', direct, '--', ...command], {
      PATH: `${tools}:${process.env['PATH']}`,
    });
    await line.next();
    runner.child.kill('SIGKILL');
    await line.ended();
  });

  it('that is killed, on the local server: the lock is free as soon as the command is dead', async () => {
    using line = new Lifeline();
    await using runner = startRun(['local', '--', 'sh', '-c', stubborn(line)], LOCAL);
    const pid = await line.next();
    await using next = startRun(['local', '--', 'sh', '-c', isDead(pid)], LOCAL);
    runner.child.kill('SIGKILL');
    await next.waitFor(/dead/);
    await line.ended();
    expect(await next.ended()).toBe(0);
  });

  it('that is killed: a grandchild outside of the group and environment ends, the parent of the run does not', async () => {
    using line = new Lifeline();
    const grandchild = `exec 9>"${line.path}"; echo on >&9; exec sleep 1000`;
    const script = `env -i setsid sh -c '${grandchild}'; true`;
    await using runner = startShell('stray', direct, '30s', script);
    await line.next();
    runner.child.kill('SIGKILL');
    await line.ended();
  });

  it('that waits leaves its streams blocking for other processes that share them', async () => {
    const lease = await scene.neighbour().mutex('streams').acquire();
    await using runner = startRun(['streams', '--store', direct, '--', 'true']);
    while ((await scene.neighbour().mutex('streams').inspect()).waiters.length === 0);
    const isNonBlocking = [0, 1, 2].map((descriptor) => {
      const info = readFileSync(`/proc/${runner.child.pid}/fdinfo/${descriptor}`, 'latin1');
      const [, flags] = /flags:\s+(\d+)/.exec(info)!;
      return (Number.parseInt(flags!, 8) & fileConstants.O_NONBLOCK) !== 0;
    });
    expect(isNonBlocking).toEqual([false, false, false]);
    await lease.release();
    expect(await runner.ended()).toBe(0);
  });

  it('that is killed while it waits leaves the queue, on the local server', async () => {
    await using first = startRun(['place', '--', 'sh', '-c', 'echo held; read x'], LOCAL);
    await first.waitFor(/held/);
    await using waiter = startRun(['place', '--', 'true'], LOCAL);
    await untilWaits('place', 1);
    waiter.child.kill('SIGKILL');
    await untilWaits('place', 0);
    first.type('\n');
    expect(await first.ended()).toBe(0);
  });
});

describe('the local server', () => {
  it('that dies loses its locks, and the run ends its command', async () => {
    using line = new Lifeline();
    const polite = `exec 9>"${line.path}"; trap 'echo told >&9; exit 0' TERM; echo on >&9; while :; do sleep 1000 & wait; done`;
    await using runner = startRun(['dies', '--', 'sh', '-c', polite], LOCAL);
    await line.next();
    await killLocalServer();
    expect(await line.next()).toBe('told');
    await line.ended();
    expect(await runner.ended()).toBe(LOST);
    expect(runner.text).toContain('the local server has ended');
  });

  it('that dies is started again by a waiter, with a new queue', async () => {
    await using holder = startRun(['anew', '--', 'sh', '-c', 'echo held; exec sleep 1000'], LOCAL);
    await holder.waitFor(/held/);
    await using waiter = startRun(['anew', '--', 'echo', 'ran'], LOCAL);
    await untilWaits('anew', 1);
    await killLocalServer();
    expect(await waiter.ended()).toBe(0);
    expect(waiter.text).toContain('ran');
    expect(await holder.ended()).toBe(LOST);
  });

  it('that is starting does not delay the exit after Ctrl-C', async () => {
    const folder = join(runtime, 'fresh');
    mkdirSync(folder, { mode: 0o700 });
    const watcher = watch(folder);
    const seen = once(watcher, 'change');
    await using runner = startRun(['early', '--', 'true'], {
      ...LOCAL,
      HOLDFAST_RUNTIME_DIR: folder,
    });
    await seen;
    watcher.close();
    runner.child.kill('SIGINT');
    expect(await runner.ended()).toBe(130);
  });
});

async function killLocalServer(): Promise<void> {
  const address = await findLocalAddress({ environment: LOCAL });
  const { output } = await runCli(['cli', '--store', address!, 'INFO', 'server']);
  process.kill(Number(/process_id:(\d+)/.exec(output)![1]), 'SIGKILL');
}

async function untilWaits(name: string, count: number): Promise<void> {
  for (;;) {
    const { output } = await runCli(['show', name, '--json'], { environment: LOCAL });
    const { locks } = JSON.parse(output || '{"locks":[]}') as { locks: { waiters: unknown[] }[] };
    if (locks.reduce((sum, { waiters }) => sum + waiters.length, 0) === count) return;
  }
}

describe('Ctrl-C', () => {
  const SIGINT = 130;

  it('ends a run that connects', async () => {
    await using silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    await using runner = startRun(['a', '--store', `redis://127.0.0.1:${port}`, '--', 'true']);
    const [client] = await once(silent, 'connection');
    await once(client, 'data');
    runner.child.kill('SIGINT');
    expect(await runner.ended()).toBe(SIGINT);
    client.destroy();
  });

  // At SIGUSR1 Node would open its debugger, on a port that every user of the machine can connect to.
  it.each(['SIGINT', 'SIGUSR1'] as const)(
    'by %s while it waits: it leaves the line',
    async (signal) => {
      const lock = scene.neighbour().mutex('waits');
      const lease = await lock.acquire();
      await using runner = startRun(['waits', '--store', direct, '--', 'echo', 'ran']);
      while ((await lock.inspect()).waiters.length === 0) await scene.direct.ping();
      runner.child.kill(signal);
      expect(await runner.ended()).toBe(128 + constants.signals[signal]);
      expect((await lock.inspect()).waiters).toEqual([]);
      await lease.release();
      expect(runner.text).toBe('');
    },
  );

  it.each(['holdfast:acquire', 'holdfast:grant'])(
    'in the same turn as %s leaves the lock free',
    async (event) => {
      const interrupt = `import { subscribe } from 'node:diagnostics_channel';
      subscribe('${event}', () => process.emit('SIGINT', 'SIGINT'));`;
      const module = `data:text/javascript,${encodeURIComponent(interrupt)}`;
      await using runner = startRun(['turn', '--store', direct, '--', 'echo', 'ran'], {
        NODE_OPTIONS: `--import=${module}`,
      });
      expect(await runner.ended()).toBe(SIGINT);
      expect(runner.text).toBe('');
      expect(await leftMs('turn')).toBeLessThan(0);
    },
  );

  it('goes to a running command, whose exit code is returned', async () => {
    const script = `trap 'echo got; exit 7' INT; echo on; while :; do sleep 1000 & wait; done`;
    await using runner = startRun(['runs', '--store', direct, '--', 'sh', '-c', script]);
    await runner.waitFor(/on/);
    runner.child.kill('SIGINT');
    await runner.waitFor(/got/);
    expect(await runner.ended()).toBe(7);
    expect(await leftMs('runs')).toBeLessThan(0);
  });

  it('kills a command without a handler', async () => {
    await using runner = startRun(['dies', '--store', direct, '--', 'sh', '-c', 'echo on; read x']);
    await runner.waitFor(/on/);
    runner.child.kill('SIGINT');
    expect(await runner.ended()).toBe(SIGINT);
    expect(await leftMs('dies')).toBeLessThan(0);
  });

  it('twice leaves the runner waiting for a command that ignores it', async () => {
    const script = `n=0; trap 'n=$((n+1)); echo got $n' INT; echo on; while [ $n -lt 2 ]; do read x; done; exit 9`;
    await using runner = startRun(['twice', '--store', direct, '--', 'sh', '-c', script]);
    await runner.waitFor(/on/);
    runner.child.kill('SIGINT');
    await runner.waitFor(/got 1/);
    runner.child.kill('SIGINT');
    await runner.waitFor(/got 2/);
    // The signal may arrive before the read.
    runner.type('\n');
    expect(await runner.ended()).toBe(9);
  });

  it('during the release does not stop the release', async () => {
    await using runner = startRun([
      'gives',
      '--store',
      proxied,
      '--',
      'sh',
      '-c',
      'echo on; read x',
    ]);
    await runner.waitFor(/on/);
    await scene.proxy.set({ kind: 'delay', delayMs: 300, way: 'requests' });
    const link = scene.proxy.link('gives');
    const before = link.requests.text.length;
    runner.type('\n');
    while (link.requests.text.length === before) await scene.direct.ping();
    runner.child.kill('SIGINT');
    // The command ended before the signal.
    expect(await runner.ended()).toBe(0);
    await scene.proxy.set({ kind: 'pass' });
    expect(await leftMs('gives')).toBeLessThan(0);
  });
});

describe('signals', () => {
  it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)(
    '%s reaches the whole group',
    async (signal) => {
      using line = new Lifeline();
      const trap = (name: string): string =>
        `trap 'echo ${name} >&9; exit 0' ${signal.slice(3)}; echo on >&9; while :; do sleep 1000 & wait $!; done`;
      const script = `exec 9>"${line.path}"; trap : ${signal.slice(3)}; sh -c "$1" | sh -c "$2"; exit 5`;
      const command = ['sh', '-c', script, 'sh', trap('one'), trap('other')];
      await using runner = startRun([signal, '--store', direct, '--', ...command]);
      await line.next();
      await line.next();
      runner.child.kill(signal);
      expect([await line.next(), await line.next()].sort()).toEqual(['one', 'other']);
      await line.ended();
      expect(await runner.ended()).toBe(5);
    },
  );

  it('SIGTSTP stops the command and SIGCONT continues it while the lock is held', async () => {
    await using runner = startShell('pause', direct, '1s', 'echo pid $$; read x; echo $x');
    const [, pid] = await runner.waitFor(/pid (\d+)\n/);
    runner.child.kill('SIGTSTP');
    await untilState(pid!, 'T');
    runner.type('typed\n');
    runner.child.kill('SIGCONT');
    await runner.waitFor(/typed/);
    expect(await runner.ended()).toBe(0);
  });
});

async function untilState(pid: string, state: string): Promise<void> {
  while (!readFileSync(`/proc/${pid}/stat`, 'latin1').includes(`) ${state} `)) {
    await scene.direct.ping();
  }
}
