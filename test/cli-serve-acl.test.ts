import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { CliProcess, runCli } from './cli-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-acl-'));
const file = join(folder, 'users.acl');
afterAll(() => rmSync(folder, { recursive: true }));

const USERS = `user default off
user admin on >root ~* &* +@all
user app on >pw +@lock ~lock:* ~rw:*
`;

beforeEach(() => writeFileSync(file, USERS));

function serve(...args: readonly string[]): CliProcess {
  return CliProcess.node(['serve', '--port', '0', '--aclfile', file, ...args]);
}

async function portOf(server: CliProcess): Promise<string> {
  return (await server.waitFor(/listens on 127\.0\.0\.1:(\d+)/))[1]!;
}

async function ask(user: string, port: string, ...argv: readonly string[]): Promise<string> {
  const store = `redis://${user}127.0.0.1:${port}`;
  const { output, errors } = await runCli(['cli', '--store', store, ...argv]);
  return output + errors;
}

describe('holdfast serve --aclfile', () => {
  it('has the users of the file, and the scripts of the category lock', async () => {
    await using server = serve();
    const port = await portOf(server);
    await server.waitFor(/Access: .*; with the name and password of a user\./);
    expect(await ask('', port, 'PING')).toContain('NOAUTH');
    expect(await ask('app:pw@', port, 'PING')).toBe('PONG\n');
    const store = `redis://app:pw@127.0.0.1:${port}`;
    const { code } = await runCli(['run', 'job', '--store', store, '--', 'true'], {
      environment: { PATH: process.env['PATH'] ?? '' },
    });
    expect(code).toBe(0);
    expect(await ask('admin:root@', port, 'CONFIG', 'GET', 'aclfile')).toContain(file);
    expect(await ask('admin:root@', port, 'ACL', 'LOG')).not.toContain('app');
    expect(await ask('app:pw@', port, 'GET', 'rw:a')).toContain('NOPERM');
  });

  it('ACL SAVE replaces the file, keeps its mode and leaves no other; ACL LOAD reads it', async () => {
    chmodSync(file, 0o640);
    await using server = serve();
    const port = await portOf(server);
    await ask('admin:root@', port, 'ACL', 'SETUSER', 'new', 'on', '+ping');
    expect(await ask('admin:root@', port, 'ACL', 'SAVE')).toBe('OK\n');
    const saved = readFileSync(file, 'latin1');
    expect(saved).toMatch(/^user new on resetchannels -@all \+ping$/m);
    expect(saved).toMatch(
      /^user app on #[0-9a-f]{64} ~lock:\* ~rw:\* resetchannels -@all \+@lock$/m,
    );
    expect(saved).not.toMatch(/root|pw/);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder)).toEqual(['users.acl']);
    writeFileSync(file, `${saved}user bad +nothing\n`);
    expect(await ask('admin:root@', port, 'ACL', 'LOAD')).toContain(`${file}:5: Error in applying`);
    expect(await ask('admin:root@', port, 'ACL', 'USERS')).toBe('admin\napp\ndefault\nnew\n');
    writeFileSync(file, USERS);
    expect(await ask('admin:root@', port, 'ACL', 'LOAD')).toBe('OK\n');
    expect(await ask('admin:root@', port, 'ACL', 'USERS')).toBe('admin\napp\ndefault\n');
  });

  it('ACL SAVE reports a folder that is gone, and the server continues', async () => {
    const gone = mkdtempSync(join(tmpdir(), 'holdfast-acl-gone-'));
    writeFileSync(join(gone, 'users.acl'), USERS);
    await using server = serve('--aclfile', join(gone, 'users.acl'));
    const port = await portOf(server);
    rmSync(gone, { recursive: true });
    expect(await ask('admin:root@', port, 'ACL', 'SAVE')).toContain(
      'error trying to save the ACLs',
    );
    await server.waitFor(/cannot write the ACL file: ENOENT/);
    expect(await ask('admin:root@', port, 'ACL', 'LOAD')).toContain('opening file');
    expect(await ask('admin:root@', port, 'PING')).toBe('PONG\n');
  });

  it.each([
    [
      'a wrong rule',
      'user app on\nuser bad +nothing\n',
      /users\.acl:2: Error in applying operation '\+nothing'/,
    ],
    ['a comment', '# users\n', /users\.acl:1 should start with user keyword/],
  ])('does not start with %s, and names file and line', async (_, text, message) => {
    writeFileSync(file, text);
    await using server = serve();
    expect(await server.ended()).toBe(2);
    expect(server.text).toMatch(message);
  });

  it('does not start without the file', async () => {
    rmSync(file);
    await using server = serve();
    expect(await server.ended()).toBe(2);
    expect(server.text).toMatch(/--aclfile cannot be used: .*users\.acl.*ENOENT/);
  });
});
