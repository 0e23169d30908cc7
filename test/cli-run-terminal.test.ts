import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lifeline, runCommand, startOnTerminal } from './cli-run-process.ts';
import { LockScene } from './lock-scene.ts';
import { withinMs } from './within.ts';

const CTRL_C = '\x03';
const CTRL_Z = '\x1a';
/** A shell with job control. */
const SHELL = 'PS1=ready bash --norc --noprofile -i';
/** Input before the prompt of the shell may be lost. */
const STOPPED = /Stopped[\s\S]*ready/;
let scene: LockScene;
let store: string;

beforeAll(async () => {
  scene = await LockScene.open();
  store = `--store redis://127.0.0.1:${scene.port}`;
});

afterAll(() => scene[Symbol.asyncDispose]());

const isFree = async (name: string): Promise<boolean> => (await scene.ownerOf(name)) === null;

/** Resolves when the witness runs. */
async function hasWitness(runner: string): Promise<void> {
  const caught = (1n << 1n) | (1n << 2n) | (1n << 19n);
  for (;;) {
    await scene.direct.ping();
    const { stdout } = spawnSync('pgrep', ['-P', runner, '-f', 'holdfast-witness']);
    const pid = String(stdout).trim();
    if (pid === '') continue;
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const mask = BigInt(`0x${/SigCgt:\s*(\w+)/.exec(status)![1]}`);
    if ((mask & caught) === caught) return;
  }
}

describe('on a terminal', () => {
  it('the command can read and write /dev/tty when its streams are redirected', async () => {
    const script = `'echo ask >/dev/tty; read x </dev/tty; echo "got $x" >/dev/tty; exit 4'`;
    const words = runCommand(`tty ${store} -- sh -c ${script}`);
    await using terminal = startOnTerminal(`${words} </dev/null >/dev/null 2>&1`);
    await terminal.waitFor(/ask/);
    terminal.type('typed\n');
    await terminal.waitFor(/got typed/);
    expect(await terminal.ended()).toBe(4);
  });

  it('a status line names the holder, and is erased when the lock is granted', async () => {
    const lease = await scene.neighbour().mutex('shown').acquire({ label: 'nightly\x1b[2J' });
    await using terminal = startOnTerminal(runCommand(`shown ${store} -- echo ran`));
    const [, age] = await terminal.waitFor(
      /waiting for 'shown': held by \S+ pid \d+ \(nightly\\x1b\[2J\) for ([\d.]+)s/,
    );
    // The status line is refreshed every second.
    await terminal.waitFor(new RegExp(`for (?!${age}s)[\\d.]+s`));
    await lease.release();
    await terminal.waitFor(/ran/);
    expect(await terminal.ended()).toBe(0);
    expect(terminal.text).toMatch(/\r\x1b\[Kran\r\n$/);
  });

  it('of unknown width the status line is not cut; with TERM=dumb there is none', async () => {
    await using _lease = await scene.neighbour().mutex('width').acquire();
    const words = runCommand(`width ${store} --wait ${withinMs(500)}ms -- true`);
    await using unknown = startOnTerminal(`stty cols 0 && ${words}`);
    await unknown.waitFor(/waiting for 'width': held by/);
    await using dumb = startOnTerminal(`TERM=dumb ${words}`);
    expect(await dumb.ended()).toBe(75);
    expect(dumb.text).toMatch(/^holdfast: lock 'width' is busy: .*\r\n$/);
  });

  it('Ctrl-C during the wait leaves the queue, and ends the calling script', async () => {
    const lock = scene.neighbour().mutex('line');
    await using _lease = await lock.acquire();
    const words = runCommand(`line ${store} -- true`);
    await using terminal = startOnTerminal(`bash -c "${words}; echo went on \\$?"`);
    await terminal.waitFor(/waiting for/);
    terminal.type(CTRL_C);
    expect(await terminal.ended()).toBe(130);
    expect(terminal.text).not.toContain('went on');
    expect((await lock.inspect()).waiters).toEqual([]);
  });

  it('Ctrl-C while the command runs ends it and the calling script', async () => {
    const words = runCommand(`runs ${store} -- sh -c 'echo on; read x'`);
    await using terminal = startOnTerminal(`bash -c "${words}; echo went on \\$?"`);
    await terminal.waitFor(/on/);
    terminal.type(CTRL_C);
    expect(await terminal.ended()).toBe(130);
    expect(terminal.text).not.toContain('went on');
    expect(await isFree('runs')).toBe(true);
  });

  it.each([
    ['echo runs; sleep 60', 129],
    ['trap exit\\ 3 HUP; echo runs; sleep 60 & wait', 3],
  ])('that is closed ends the command, whose exit code is returned: %s', async (command, code) => {
    using line = new Lifeline();
    const words = runCommand(`closed ${store} -- sh -c '${command}'`);
    // This shell outlives its terminal.
    const script = `trap : HUP; exec 9>${line.path}; ${words}; echo \\$? >&9`;
    await using terminal = startOnTerminal(`sh -c "${script}"`);
    await terminal.waitFor(/runs/);
    terminal.child.kill('SIGKILL');
    expect(await line.next()).toBe(String(code));
    expect(await isFree('closed')).toBe(true);
  });

  it('Ctrl-C reaches the command once, and its exit code is returned', async () => {
    const script = `'n=0; trap "n=\\$((n+1)); echo got \\$n" INT; echo on; read x; read x; exit 6'`;
    await using terminal = startOnTerminal(
      `exec ${runCommand(`once ${store} -- sh -c ${script}`)}`,
    );
    await terminal.waitFor(/on/);
    terminal.type(CTRL_C);
    await terminal.waitFor(/got 1/);
    terminal.type(CTRL_C);
    await terminal.waitFor(/got 2/);
    // The signal may arrive between two reads.
    terminal.type('\n\n');
    expect(await terminal.ended()).toBe(6);
    expect(terminal.text).not.toContain('got 3');
  });

  it.each(['SIGINT', 'SIGQUIT'] as const)(
    '%s that the runner alone gets reaches the command too, once',
    async (signal) => {
      const trap = `trap "n=\\$((n+1)); echo got \\$n" ${signal.slice('SIG'.length)}`;
      const script = `'n=0; ${trap}; echo on $PPID; while [ $n -lt 2 ]; do read x; done; exit 6'`;
      const words = runCommand(`alone ${store} -- sh -c ${script}`);
      await using terminal = startOnTerminal(`exec ${words}`);
      const [, runner] = await terminal.waitFor(/on (\d+)/);
      await hasWitness(runner!);
      process.kill(Number(runner), signal);
      await terminal.waitFor(/got 1/);
      process.kill(Number(runner), signal);
      await terminal.waitFor(/got 2/);
      // The signal may arrive between two reads.
      terminal.type('\n');
      expect(await terminal.ended()).toBe(6);
      expect(terminal.text).not.toContain('got 3');
    },
  );

  it('SIGTSTP to the runner alone stops the command too, and fg continues it', async () => {
    await using terminal = startOnTerminal(SHELL);
    await terminal.waitFor(/ready/);
    const script = `'echo on $$ $PPID; read x; echo got $x'`;
    terminal.type(`${runCommand(`halt ${store} -- sh -c ${script}`)}\n`);
    const [, command, runner] = await terminal.waitFor(/on (\d+) (\d+)\n/);
    await hasWitness(runner!);
    process.kill(Number(runner), 'SIGTSTP');
    await terminal.waitFor(STOPPED);
    expect(readFileSync(`/proc/${command}/stat`, 'latin1')).toContain(') T ');
    const start = terminal.screen.length;
    terminal.type('fg\n');
    await terminal.waitFor(/read x/, start);
    terminal.type('typed\n');
    await terminal.waitFor(/got typed[\s\S]*ready/);
    terminal.type('exit\n');
    await terminal.ended();
  });

  it('SIGCONT to the runner alone continues the command that SIGTSTP stopped', async () => {
    await using terminal = startOnTerminal(SHELL);
    await terminal.waitFor(/ready/);
    // A command that reads the terminal would be stopped by SIGTTIN once the shell has the terminal.
    const script = `'trap "echo over; exit 0" TERM; echo on $$ $PPID; while :; do sleep 1000 & wait; done'`;
    terminal.type(`${runCommand(`again ${store} -- sh -c ${script}`)}\n`);
    const [, command, runner] = await terminal.waitFor(/on (\d+) (\d+)\n/);
    const isStopped = (): boolean =>
      readFileSync(`/proc/${command}/stat`, 'latin1').includes(') T ');
    await hasWitness(runner!);
    process.kill(Number(runner), 'SIGTSTP');
    await terminal.waitFor(STOPPED);
    // The shell may notice that the runner is stopped before the kernel has stopped the command.
    while (!isStopped()) await scene.direct.ping();
    process.kill(Number(runner), 'SIGCONT');
    while (isStopped()) await scene.direct.ping();
    // A SIGCONT within half a second, before the runner knows where SIGTSTP was sent, cancels the stop.
    process.kill(Number(runner), 'SIGTSTP');
    process.kill(Number(runner), 'SIGCONT');
    await scene.direct.blpop('nothing', 0.8);
    expect(isStopped()).toBe(false);
    process.kill(Number(runner), 'SIGTERM');
    await terminal.waitFor(/over/);
    terminal.type('exit\n');
    await terminal.ended();
  });

  it('Ctrl-Z stops the run, and fg continues it', async () => {
    await using terminal = startOnTerminal(SHELL);
    await terminal.waitFor(/ready/);
    terminal.type(`${runCommand(`job ${store} -- sh -c 'echo on; read x; echo got $x'`)}\n`);
    await terminal.waitFor(/on\n/);
    terminal.type(CTRL_Z);
    await terminal.waitFor(STOPPED);
    expect(await isFree('job')).toBe(false);
    const start = terminal.screen.length;
    terminal.type('fg\n');
    // The shell prints the job when it continues it.
    await terminal.waitFor(/read x/, start);
    terminal.type('typed\n');
    await terminal.waitFor(/got typed[\s\S]*ready/);
    terminal.type('echo code $?\n');
    await terminal.waitFor(/code 0[\s\S]*ready/);
    expect(await isFree('job')).toBe(true);
    terminal.type('exit\n');
    await terminal.ended();
  });

  it('Ctrl-Z for longer than the lease: the command ends before the lease', async () => {
    using line = new Lifeline();
    await using terminal = startOnTerminal(SHELL);
    await terminal.waitFor(/ready/);
    const script = `'exec 9>"${line.path}"; echo on >&9; read x'`;
    terminal.type(`${runCommand(`long ${store} --lease 4s -- sh -c ${script}`)}\n`);
    await line.next();
    terminal.type(CTRL_Z);
    await terminal.waitFor(STOPPED);
    await line.ended();
    expect(await scene.leftMs('long')).toBeGreaterThan(0);
    const start = terminal.screen.length;
    terminal.type('fg\n');
    await terminal.waitFor(/is ended\.[\s\S]*ready/, start);
    terminal.type('echo code $?\n');
    await terminal.waitFor(/code 79[\s\S]*ready/);
    terminal.type('exit\n');
    await terminal.ended();
  });

  it('a lost lock ends the command and a grandchild that ignores SIGTERM, but not the pipeline', async () => {
    using line = new Lifeline();
    const grandchild = `trap "" TERM; echo on >&9; exec sleep 1000`;
    const script = `'exec 9>"${line.path}"; (setsid sh -c "$1" &); trap "" TERM; while :; do sleep 1000; done'`;
    const words = runCommand(`pipe ${store} --lease 1s -- sh -c ${script} sh '${grandchild}' 2>&1`);
    await using terminal = startOnTerminal(`${words} | { cat; echo tail went on; }`);
    await line.next();
    await scene.neighbour().mutex('pipe').forceRelease();
    await line.ended();
    await terminal.waitFor(/tail went on/);
    await terminal.ended();
  });

  it('only processes of the command in the group are ended after it', async () => {
    using line = new Lifeline();
    const script = `'exec 9>"${line.path}"; sh -c "echo on >&9; exec sleep 1000" & read x'`;
    const words = runCommand(`left ${store} -- sh -c ${script}`);
    const other = 'kill $other && echo alive';
    await using terminal = startOnTerminal(
      `{ sleep 1000 & other=$!; ${words}; echo code $?; ${other}; }`,
    );
    await line.next();
    terminal.type('\n');
    await line.ended();
    await terminal.waitFor(/code 0\nalive/);
    await terminal.ended();
  });

  it('a killed runner: the command is killed too', async () => {
    using line = new Lifeline();
    const script = `'exec 9>"${line.path}"; echo $PPID >&9; read x'`;
    await using terminal = startOnTerminal(
      `${runCommand(`kill9 ${store} -- sh -c ${script}`)}; true`,
    );
    process.kill(Number(await line.next()), 'SIGKILL');
    await line.ended();
    await terminal.ended();
  });
});
