import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { REAPER_SCRIPT } from './reaper-script.ts';

/** Shells that may be /bin/sh. */
const SHELLS: readonly (readonly string[])[] = [['sh'], ['bash', '--posix']];

class Reaper implements AsyncDisposable {
  readonly process: ChildProcess;

  constructor(
    [program, ...flags]: readonly string[],
    serverConnection: Socket | 'ignore' = 'ignore',
  ) {
    const words = [...flags, '-c', REAPER_SCRIPT, 'holdfast-reaper', 'no-such-runId'];
    this.process = spawn(program!, words, {
      argv0: 'sh',
      stdio: [serverConnection, 'pipe', 'ignore', 'pipe'],
    });
  }

  order(orders: readonly string[]): void {
    const text = orders.map((order) => `${order}\n`).join('');
    (this.process.stdio[3] as Writable).write(text);
  }

  /** Resolves when it has done what takes time. */
  async answered(): Promise<void> {
    for await (const chunk of this.process.stdout!.iterator({ destroyOnReturn: false })) {
      if (String(chunk).includes('ok\n')) return;
    }
  }

  /** Resolves when it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.order(['dismiss']);
    this.process.stdout!.resume();
    await once(this.process, 'close');
  }
}

/** The processes with such a command line. */
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

describe.each(SHELLS)('the reaper in %s', (...shell) => {
  it('leaves no countdown behind, however soon it is stopped', async () => {
    const seconds = uniqueSeconds();
    const orders = Array.from({ length: 500 }, () => `left ${seconds}`);
    const reaper = new Reaper(shell);
    reaper.order(orders);
    await reaper[Symbol.asyncDispose]();
    const left = running(`sleep\0${seconds}\0`);
    for (const pid of left) process.kill(Number(pid), 'SIGKILL');
    expect(left).toEqual([]);
  });

  it('kills what it watches when the server has ended, and no earlier', async () => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const line = connect({ port, host: '127.0.0.1' }).pause();
    const [[peer]] = await Promise.all([once(server, 'connection'), once(line, 'connect')]);
    const watched = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
    const ended = once(watched, 'exit');
    await using reaper = new Reaper(shell, line);
    reaper.order([`watch ${watched.pid} own`, 'server 0.100']);
    // An empty line, with which it makes sure that the server is there.
    expect(String((await once(peer, 'data'))[0])).toBe('\n');
    reaper.order(['signal CONT']);
    await reaper.answered();
    expect(watched.signalCode).toBe(null);
    peer.destroy();
    expect(await ended).toEqual([null, 'SIGKILL']);
    line.destroy();
  });

  it('counts no longer down when the command has ended, whose number may be used again', async () => {
    const seconds = uniqueSeconds();
    const orders = ['watch 999999999 own', `left ${seconds}`, 'gone', 'tidy'];
    await using reaper = new Reaper(shell);
    reaper.order(orders);
    await reaper.answered();
    expect(running(`sleep\0${seconds}\0`)).toEqual([]);
  });
});

/** By which the countdown of one test is known. */
function uniqueSeconds(): string {
  lastSeconds += 1;
  return `${lastSeconds}.${process.pid}`;
}

let lastSeconds = 1000;
