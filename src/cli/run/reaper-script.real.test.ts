import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { REAPER_SCRIPT } from './reaper-script.ts';

/** Shells that may be /bin/sh. */
const SHELLS: readonly (readonly string[])[] = [['sh'], ['bash', '--posix']];

const ARGUMENTS = ['-c', REAPER_SCRIPT, 'holdfast-reaper', 'no-such-run-id'];

class Reaper implements AsyncDisposable {
  readonly process: ChildProcess;

  constructor(
    [program, ...flags]: readonly string[],
    serverConnection: Socket | 'ignore' = 'ignore',
  ) {
    this.process = spawn(program!, [...flags, ...ARGUMENTS], {
      argv0: 'sh',
      stdio: [serverConnection, 'pipe', 'ignore', 'pipe'],
    });
  }

  send(commands: readonly string[]): void {
    const text = commands.map((command) => `${command}\n`).join('');
    (this.process.stdio[3] as Writable).write(text);
  }

  /** Resolves at the next `ok`. */
  async replied(): Promise<void> {
    for await (const chunk of this.process.stdout!.iterator({ destroyOnReturn: false })) {
      if (String(chunk).includes('ok\n')) return;
    }
  }

  /** Dismisses the reaper. Resolves when it has exited. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.send(['dismiss']);
    this.process.stdout!.resume();
    await once(this.process, 'close');
  }
}

/** The processes with this command line. */
function running(commandLine: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1') === commandLine;
    } catch {
      return false;
    }
  });
}

function childrenOf(pid: string): number {
  const listing = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return listing.split(' ').length - 1;
}

describe.each(SHELLS)('the reaper in %s', (...shell) => {
  it('leaves no countdown behind when it is dismissed at once', async () => {
    const seconds = uniqueSeconds();
    const orders = Array.from({ length: 500 }, () => `left ${seconds}`);
    const reaper = new Reaper(shell);
    reaper.send(orders);
    await reaper[Symbol.asyncDispose]();
    const left = running(`sleep\0${seconds}\0`);
    for (const pid of left) process.kill(Number(pid), 'SIGKILL');
    expect(left).toEqual([]);
  });

  it('has a countdown at every moment while it is set again: it may be killed at any of them', async () => {
    await using reaper = new Reaper(shell);
    await once(reaper.process, 'exit');
    const [main] = running(['sh', ...shell.slice(1), ...ARGUMENTS, ''].join('\0'));
    const seconds = uniqueSeconds();
    reaper.send([...Array.from({ length: 200 }, () => `left ${seconds}`), 'tidy']);
    let isOver = false;
    const over = reaper.replied().then(() => {
      isOver = true;
    });
    const counts: number[] = [];
    while (!isOver) {
      counts.push(childrenOf(main!));
      await new Promise(setImmediate);
    }
    await over;
    expect(counts.slice(counts.findIndex((count) => count > 0))).not.toContain(0);
    expect(counts.length).toBeGreaterThan(200);
  });

  it('kills the watched process when the server ends, and not before', async () => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const line = connect({ port, host: '127.0.0.1' }).pause();
    const [[peer]] = await Promise.all([once(server, 'connection'), once(line, 'connect')]);
    const watched = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
    const ended = once(watched, 'exit');
    await using reaper = new Reaper(shell, line);
    reaper.send([`watch ${watched.pid} own`, 'server 0.100']);
    // The reaper writes an empty line to check that the server is alive.
    expect(String((await once(peer, 'data'))[0])).toBe('\n');
    reaper.send(['signal CONT']);
    await reaper.replied();
    expect(watched.signalCode).toBe(null);
    peer.destroy();
    expect(await ended).toEqual([null, 'SIGKILL']);
    line.destroy();
  });

  it('stops the countdown when the command has ended, since its pid may be reused', async () => {
    const seconds = uniqueSeconds();
    const orders = ['watch 999999999 own', `left ${seconds}`, 'gone', 'tidy'];
    await using reaper = new Reaper(shell);
    reaper.send(orders);
    await reaper.replied();
    expect(running(`sleep\0${seconds}\0`)).toEqual([]);
  });
});

/** A duration that identifies the countdown of one test. */
function uniqueSeconds(): string {
  lastSeconds += 1;
  return `${lastSeconds}.${process.pid}`;
}

let lastSeconds = 1000;
