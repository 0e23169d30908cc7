import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findLocalAddress, LOST_GRACE_MS } from '../src/local/index.ts';
import { runCli } from './cli-process.ts';
import type { LocalClient } from './local-client.ts';
import { type AtEnd, newFolder, serversOf, start, starts, until } from './local-scene.ts';
import { elapse } from './lock-scene.ts';
import { removeFolder } from './remove-folder.ts';
import { suspendProcess } from './suspend-process.ts';
import { withinMs } from './within.ts';

const UNAVAILABLE = 69;

/** The parent, the process group and the session, from `/proc/<pid>/stat`. */
function familyOf(pid: number): { parent: number; group: number; session: number } {
  const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [, parent, group, session] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), group: Number(group), session: Number(session) };
}

function ancestorsOf(pid: number): number[] {
  const { parent } = familyOf(pid);
  return parent === 0 ? [] : [parent, ...ancestorsOf(parent)];
}

function openFilesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`));
}

describe('the process that starts the local server', () => {
  it('is not its parent, and has another process group and session', async () => {
    const folder = newFolder();
    const client = await start(folder);
    const { pid } = await client.open();
    expect(ancestorsOf(pid)).not.toContain(client.child.pid);
    expect(ancestorsOf(pid)).not.toContain(process.pid);
    const [own, ours] = [familyOf(pid), familyOf(client.child.pid!)];
    expect(own.group).not.toBe(ours.group);
    expect(own.session).not.toBe(ours.session);
  });

  it('does not pass on inherited descriptors', async () => {
    const folder = newFolder();
    const file = join(newFolder(), 'lock');
    const prefix = ['bash', '-c', 'exec 200>"$0"; exec "$@"', file];
    const client = await start(folder, { prefix });
    expect(openFilesOf(client.child.pid!)).toContain(file);
    const { pid } = await client.open();
    expect(openFilesOf(pid)).not.toContain(file);
  });

  it('needs no shell', async ({ skip }) => {
    const hide = 'mount --bind /dev/null /bin/sh && exec "$@"';
    const prefix = ['unshare', '-m', 'bash', '-c', hide, 'bash'];
    const [program, ...words] = [...prefix, 'true'];
    if (spawnSync(program!, words).status !== 0) skip('may not mount');
    const folder = newFolder();
    const client = await start(folder, { prefix });
    const { pid } = await client.open();
    expect(serversOf(folder)).toEqual([pid]);
  });
});

describe('a server that is killed while it starts', () => {
  /** Kills up to `count` servers that are about to serve. Returns how many were killed. */
  async function killStarting(
    folder: string,
    most: number,
    isOver: () => boolean,
  ): Promise<number> {
    const killed = new Set<number>();
    while (killed.size < most && !isOver()) {
      await new Promise(setImmediate);
      const programs = serversOf(folder).filter((pid) => isNode(pid) && !killed.has(pid));
      for (const pid of programs.slice(0, 1)) {
        process.kill(pid, 'SIGKILL');
        killed.add(pid);
      }
    }
    return killed.size;
  }

  function isNode(pid: number): boolean {
    try {
      return readlinkSync(`/proc/${pid}/exe`) === readlinkSync('/proc/self/exe');
    } catch {
      return false;
    }
  }

  it('is replaced by another, which the same client starts', async () => {
    const folder = newFolder();
    const client = await start(folder);
    const opening = client.open();
    await killStarting(folder, 2, () => false);
    expect(readdirSync(folder)).not.toContain('server-1.sock');
    await opening;
    expect(readdirSync(folder)).toEqual(['server-1.sock']);
  });

  it('fails the client after three', async () => {
    const folder = newFolder();
    const client = await start(folder);
    let isOver = false;
    const opening = client.open().finally(() => {
      isOver = true;
    });
    const killing = killStarting(folder, Number.POSITIVE_INFINITY, () => isOver);
    await expect(opening).rejects.toMatchObject({
      name: 'LocalError',
      code: 'start',
      message: expect.stringMatching(/did not start \(it ended 3 times\).*--store/),
    });
    expect(await killing).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a note of a client that starts the server', () => {
  it.each([
    ['empty', (note: string) => writeFileSync(note, '')],
    ['of somebody who is dead', (note: string) => symlinkSync('999999999', note)],
  ])('that is %s does not delay the next client', async (_, leave) => {
    const folder = newFolder();
    leave(join(folder, 'starting-1'));
    const client = await start(folder);
    const beganMs = performance.now();
    await client.open();
    expect(performance.now() - beganMs).toBeLessThan(LOST_GRACE_MS);
    await until(() => !readdirSync(folder).includes('starting-1'));
  });

  it('needs no disk space', async ({ skip }) => {
    const folder = newFolder();
    const options = ['-t', 'tmpfs', '-o', 'size=4k,mode=700', 'tmpfs', folder];
    if (spawnSync('mount', options).status !== 0) skip('may not mount');
    onTestFinished(() => void spawnSync('umount', ['-l', folder]));
    writeFileSync(join(folder, 'full'), 'x'.repeat(4096));
    expect(() => writeFileSync(join(folder, 'more'), 'x')).toThrow(/ENOSPC/);
    const client = await start(folder);
    await client.open();
    expect(readdirSync(folder)).not.toContain('starting-1');
  });
});

// Each test waits for 8 s: both wait at the same time.
describe.concurrent('a local server that is stopped', () => {
  async function stopped(atEnd: AtEnd): Promise<{ folder: string; socket: string }> {
    const folder = newFolder(atEnd);
    const client = await start(folder, {}, atEnd);
    const { pid, address } = await client.open();
    await client.acquire('a', { lease: '1h' });
    suspendProcess(pid);
    return { folder, socket: address.slice('unix:'.length) };
  }

  const SILENT = /the local server in .* did not answer within 8 s.*--store/;

  it('is an error for ls within seconds', async ({ onTestFinished }) => {
    const { folder } = await stopped(onTestFinished);
    const environment = { HOLDFAST_RUNTIME_DIR: folder };
    const verbs = [['ls'], ['show', 'a'], ['release', 'a', '--force', '--reason', 'x']];
    const beganMs = performance.now();
    const ends = await Promise.all(verbs.map((words) => runCli(words, { environment })));
    for (const { code, output, errors } of ends) {
      expect({ code, output }).toEqual({ code: UNAVAILABLE, output: '' });
      expect(errors).toMatch(SILENT);
    }
    // Real time must pass in the process.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(12_000));
  });

  it('is an error when its backlog is full', async ({ onTestFinished }) => {
    const { folder, socket } = await stopped(onTestFinished);
    await crowd(socket, onTestFinished);
    const finding = findLocalAddress({ environment: { HOLDFAST_RUNTIME_DIR: folder } });
    await expect(finding).rejects.toThrow(SILENT);
    expect(serversOf(folder).length).toBe(1);
  });

  /** Connects until the backlog is full. */
  async function crowd(path: string, atEnd: AtEnd): Promise<void> {
    for (let code = ''; code !== 'EAGAIN'; ) {
      const socket = connect({ path });
      atEnd(() => void socket.destroy());
      code = await outcome(socket);
    }
  }

  function outcome(socket: Socket): Promise<string> {
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(''));
      socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''));
    });
  }
});

describe('ls without a local server', () => {
  it('starts no server and creates no folder', async () => {
    const folder = join(newFolder(), 'none');
    const environment = { HOLDFAST_RUNTIME_DIR: folder };
    expect(await findLocalAddress({ environment })).toBeUndefined();
    expect(existsSync(folder)).toBe(false);
  });
});

/**
 * Opens a session until it is on the expected server. A server that was started in between serves for a moment before it
 * ends by itself.
 */
async function openUntil(client: LocalClient, pid: number): ReturnType<LocalClient['open']> {
  for (let left = 50; ; left--) {
    const opened = await client.open().catch((error: Error) => error);
    if (!(opened instanceof Error) && (opened.pid === pid || left === 0)) return opened;
    if (opened instanceof Error && left === 0) throw opened;
    await elapse(100);
  }
}

/** A new file may get the inode number of one that was removed. */
function createdAt(address: string): string {
  const { ino, ctimeNs } = lstatSync(address.slice('unix:'.length), { bigint: true });
  return `${ino} ${ctimeNs}`;
}

describe('a folder that is emptied', () => {
  it.each([
    ['its socket', (folder: string) => rmSync(join(folder, 'server-2.sock'))],
    ['all of it', removeFolder],
  ])('(%s) loses no lock: the server takes its place again', async (_, empty) => {
    const folder = newFolder();
    const [holder, other] = await starts(2, folder);
    // Gives the server a number above 1.
    const { pid: before } = await other!.open();
    await other!.close();
    process.kill(before, 'SIGTERM');
    await until(() => serversOf(folder).length === 0);
    const { pid, address } = await holder!.open();
    await holder!.acquire('a', { lease: '1h' });
    const createdBefore = createdAt(address);
    empty(folder);
    expect(await openUntil(other!, pid)).toEqual({ pid, address });
    expect(createdAt(address)).not.toBe(createdBefore);
    await expect(other!.acquire('a', { wait: 0 })).rejects.toThrow(/busy|held|wait/i);
    // A server that was started in between ends by itself.
    await until(() => serversOf(folder).length === 1);
    expect(serversOf(folder)).toEqual([pid]);
    expect(readdirSync(folder)).toEqual(['server-2.sock']);
    // Afterwards clients use the first server again.
    await holder!.release();
    await other!.acquire('a', {});
  });

  it('repeatedly loses no lock', async () => {
    const folder = newFolder();
    const [holder, other] = await starts(2, folder);
    const { pid, address } = await holder!.open();
    await holder!.acquire('a', { lease: '1h' });
    // It also removes names that are created while it works.
    const loop = 'for turn in $(seq 200); do rm -rf "$0"; done';
    await once(spawn('sh', ['-c', loop, folder]), 'exit');
    await expect(other!.open()).resolves.toEqual({ pid, address });
    await expect(other!.acquire('a', { wait: 0 })).rejects.toThrow(/busy|held|wait/i);
  });

  it('stays empty if the server has no client', async () => {
    const folder = newFolder();
    const client = await start(folder);
    await client.open();
    await client.close();
    rmSync(join(folder, 'server-1.sock'));
    await until(() => serversOf(folder).length === 0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is left to another server that removed its name, even if that does not answer', async () => {
    const folder = newFolder();
    const holder = await start(folder);
    await holder.open();
    await holder.acquire('a', { lease: '1h' });
    writeFileSync(join(folder, 'server-2.sock'), '');
    rmSync(join(folder, 'server-1.sock'));
    await Promise.all([holder.ended, holder.lost]);
    await until(() => serversOf(folder).length === 0);
    expect(readdirSync(folder)).toEqual(['server-2.sock']);
  });

  it('is left to another server that was faster, and holders are notified', async () => {
    const folder = newFolder();
    const [holder, other] = await starts(2, folder);
    const { pid } = await holder!.open();
    await holder!.acquire('a', { lease: '1h' });
    suspendProcess(pid);
    rmSync(folder, { recursive: true });
    mkdirSync(folder, { mode: 0o700 });
    const { pid: faster } = await other!.open();
    expect(faster).not.toBe(pid);
    process.kill(pid, 'SIGCONT');
    await Promise.all([holder!.ended, holder!.lost]);
    await until(() => serversOf(folder).length === 1);
    expect(serversOf(folder)).toEqual([faster]);
  });
});
