import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { LocalClient } from './local-client.ts';
import { serversOf, until } from './local-scene.ts';

/** The id of the user nobody. */
const OTHER_UID = 65534;
const AS_OTHER = ['setpriv', `--reuid=${OTHER_UID}`, `--regid=${OTHER_UID}`, '--clear-groups'];

/** Why this test cannot run here; undefined if it can. */
function skipUnless({ skip }: TestContext, reason: string, ...command: string[]): void {
  const { status, error } = spawnSync(command[0]!, command.slice(1), { stdio: 'ignore' });
  if (status !== 0 || error) skip(reason);
}

function newFolder(): string {
  const folder = mkdtempSync('/tmp/holdfast-test-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Mounts a file system; `nr_inodes` limits its files, including the folder. */
function newDisk(context: TestContext, option: string): string {
  const folder = newFolder();
  const options = `size=1m,mode=700,${option}`;
  skipUnless(context, 'may not mount', 'mount', '-t', 'tmpfs', '-o', options, 'tmpfs', folder);
  onTestFinished(() => void spawnSync('umount', [folder]));
  return folder;
}

async function start(
  environment: Record<string, string>,
  prefix: readonly string[] = [],
): Promise<LocalClient> {
  const variables = { HOLDFAST_LOCAL_IDLE_MS: '100', ...environment };
  const client = await LocalClient.start({ environment: variables, prefix });
  onTestFinished(() => client.kill());
  return client;
}

describe('two users', () => {
  it('have separate servers, and do not see each other’s locks', async (context) => {
    skipUnless(context, 'may not become another user', ...AS_OTHER, process.execPath, '-v');
    // The default folders.
    const environment = { HOLDFAST_RUNTIME_DIR: '' };
    const mine = await start(environment);
    const theirs = await start(environment, AS_OTHER);
    const here = await mine.open();
    const there = await theirs.open();
    expect(here.address).toContain(`unix:${userInfo().homedir}/.holdfast-run/`);
    // Its home folder is /nonexistent, or that of root.
    expect(there.address).toContain(`unix:/tmp/holdfast-${OTHER_UID}/`);
    const name = `two users ${process.pid}`;
    await mine.acquire(name, {});
    await theirs.acquire(name, {});
    await Promise.all([mine.close(), theirs.close()]);
  });

  it('cannot use each other’s folder, nor reach a socket in it', async (context) => {
    skipUnless(context, 'may not become another user', ...AS_OTHER, process.execPath, '-v');
    const folder = newFolder();
    const mine = await start({ HOLDFAST_RUNTIME_DIR: folder });
    const { address } = await mine.open();
    const theirs = await start({ HOLDFAST_RUNTIME_DIR: folder }, AS_OTHER);
    await expect(theirs.open()).rejects.toThrow(
      /refused to keep locks in .*: it belongs to another user \(uid 0\)/,
    );
    const script = `require('net').connect(${JSON.stringify(address.slice(5))}).on('error', (e) => process.exit(e.code === 'EACCES' ? 7 : 8))`;
    const [program, ...args] = [...AS_OTHER, process.execPath, '-e', script];
    expect(spawnSync(program!, args).status).toBe(7);
  });

  it('cannot create a folder for another user', async (context) => {
    if (process.geteuid!() !== 0) context.skip('may not give files away');
    const folder = newFolder();
    chownSync(folder, OTHER_UID, OTHER_UID);
    const client = await start({ HOLDFAST_RUNTIME_DIR: folder });
    await expect(client.open()).rejects.toMatchObject({
      name: 'LocalError',
      code: 'foreign',
      message: expect.stringMatching(/uid 65534.*Remove it, or name a folder/s),
    });
  });
});

/** A user that only these tests know. */
class TestUser {
  readonly uid = 2_000_000_000 + process.pid;
  readonly home = join(newFolder(), 'home');
  readonly temporary = `/tmp/holdfast-${this.uid}`;
  readonly #passwd = `${this.home}-passwd`;

  constructor(context: TestContext) {
    chmodSync(join(this.home, '..'), 0o755);
    writeFileSync(this.#passwd, `tester:x:${this.uid}:${this.uid}::${this.home}:/bin/sh\n`);
    onTestFinished(() => this.#end());
    skipUnless(context, 'may not become another user', ...this.#prefix, process.execPath, '-v');
  }

  /** A server creates its folder again when it is removed. */
  #end(): void {
    const servers = [this.temporary, `${this.home}/.holdfast-run`].flatMap(serversOf);
    for (const pid of servers) process.kill(pid, 'SIGKILL');
    rmSync(this.temporary, { recursive: true, force: true });
  }

  /** Runs with a separate user database. */
  get #prefix(): string[] {
    const mount = 'mount --bind "$0" /etc/passwd && exec "$@"';
    const become = ['setpriv', `--reuid=${this.uid}`, `--regid=${this.uid}`, '--clear-groups'];
    return ['unshare', '-m', 'sh', '-c', mount, this.#passwd, ...become];
  }

  start(): Promise<LocalClient> {
    // The variables are those of root.
    return start({ HOLDFAST_RUNTIME_DIR: '' }, this.#prefix);
  }

  makeHome(): void {
    mkdirSync(this.home, { mode: 0o700 });
    chownSync(this.home, this.uid, this.uid);
  }

  squat(): void {
    mkdirSync(this.temporary);
    chownSync(this.temporary, OTHER_UID, OTHER_UID);
  }

  unsquat(): void {
    rmSync(this.temporary, { recursive: true });
  }
}

describe('a user whose folder in /tmp belongs to another user', () => {
  it('uses the folder in the home folder, before and after that', async (context) => {
    const user = new TestUser(context);
    user.makeHome();
    const before = await user.start();
    const { address } = await before.open();
    expect(address).toMatch(`unix:${user.home}/.holdfast-run/`);
    await before.acquire('job', {});
    user.squat();
    const during = await user.start();
    expect((await during.open()).address).toBe(address);
    await expect(during.acquire('job', { wait: 0 })).rejects.toThrow(/busy|wait/);
    user.unsquat();
    const after = await user.start();
    expect((await after.open()).address).toBe(address);
    await expect(after.acquire('job', { wait: 0 })).rejects.toThrow(/busy|wait/);
  });

  it('and without a home folder gets an error that names both', async (context) => {
    const user = new TestUser(context);
    user.squat();
    const client = await user.start();
    await expect(client.open()).rejects.toMatchObject({
      name: 'LocalError',
      code: 'foreign',
      message: expect.stringMatching(
        `in ${user.temporary}: it belongs to another user .* is not used: ${user.home} does not exist`,
      ),
    });
  });
});

describe('a user that gets a home folder while a server runs in /tmp', () => {
  it('uses that server until it has ended', async (context) => {
    const user = new TestUser(context);
    const first = await user.start();
    const { address, pid } = await first.open();
    expect(address).toMatch(`unix:${user.temporary}/`);
    await first.acquire('job', {});
    user.makeHome();
    const second = await user.start();
    expect((await second.open()).address).toBe(address);
    await expect(second.acquire('job', { wait: 0 })).rejects.toThrow(/busy|wait/);
    await Promise.all([first.close(), second.close()]);
    await until(() => !existsSync(`/proc/${pid}`));
    const third = await user.start();
    expect((await third.open()).address).toMatch(`unix:${user.home}/.holdfast-run/`);
  });
});

describe('a folder that cannot be used', () => {
  it.for([
    ['a note', 1],
    ['the socket of the server', 2],
  ] as const)('is full: no space for %s', async ([, files], context) => {
    const folder = newDisk(context, `nr_inodes=${files}`);
    const client = await start({ HOLDFAST_RUNTIME_DIR: folder });
    await expect(client.open()).rejects.toMatchObject({
      name: 'LocalError',
      code: 'folder',
      message: expect.stringMatching(
        `in ${folder} \\(ENOSPC\\): its disk is full. Free some space`,
      ),
    });
  });

  it('is read-only', async (context) => {
    const folder = newDisk(context, 'ro');
    const client = await start({ HOLDFAST_RUNTIME_DIR: folder });
    await expect(client.open()).rejects.toThrow(/\(EROFS\): its disk is read-only/);
  });

  it('is forbidden', async (context) => {
    skipUnless(context, 'may not become another user', ...AS_OTHER, process.execPath, '-v');
    const folder = join(newFolder(), 'sub');
    chmodSync(join(folder, '..'), 0o755);
    const client = await start({ HOLDFAST_RUNTIME_DIR: folder }, AS_OTHER);
    await expect(client.open()).rejects.toThrow(/\(EACCES\): you may not write there/);
  });
});
