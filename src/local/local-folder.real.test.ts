import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LocalError } from './errors.ts';
import { localFolder } from './local-folder.ts';

const UID = process.geteuid!();
const OTHER_UID = 65534;
/** The id of a user without a folder in /tmp. */
const UNUSED_UID = 2_000_000_000 + process.pid;

function newHome(): string {
  const folder = mkdtempSync('/tmp/holdfast-home-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function folderFor(home: string | undefined, uid = UID): string {
  return localFolder({}, { uid, home });
}

const TEMPORARY = `/tmp/holdfast-${UID}`;

describe.runIf(process.platform === 'linux')('localFolder', () => {
  it('is in the home folder of the user database, not in HOME or XDG_RUNTIME_DIR', () => {
    const home = newHome();
    const variables = { HOME: '/home/other', XDG_RUNTIME_DIR: '/run/x', TMPDIR: '/var/tmp' };
    expect(folderFor(home)).toBe(`${home}/.holdfast-run`);
    expect(localFolder(variables, { uid: UID, home })).toBe(`${home}/.holdfast-run`);
  });

  it('is the one that HOLDFAST_RUNTIME_DIR names', () => {
    expect(localFolder({ HOLDFAST_RUNTIME_DIR: '/a/b/../c/' })).toBe('/a/c');
    expect(() => localFolder({ HOLDFAST_RUNTIME_DIR: 'a' })).toThrow(
      /HOLDFAST_RUNTIME_DIR must be an absolute path/,
    );
  });

  it('is in /tmp for a user without a home folder', () => {
    const home = newHome();
    writeFileSync(join(home, 'file'), '');
    expect(folderFor(undefined)).toBe(TEMPORARY);
    expect(folderFor(join(home, 'none'))).toBe(TEMPORARY);
    expect(folderFor(join(home, 'file', 'none'))).toBe(TEMPORARY);
  });

  it('is in /tmp if the home folder may be shared with other machines', () => {
    // Not a network file system, but not in the list of local ones either.
    expect(folderFor('/proc')).toBe(TEMPORARY);
  });

  it('is in /tmp if its path in the home folder would be too long for a socket', () => {
    const parent = newHome();
    const longest = 107 - '/.holdfast-run/.0123456789ab.sock'.length - parent.length - 1;
    const homes = [join(parent, 'x'.repeat(longest)), join(parent, 'x'.repeat(longest + 1))];
    for (const home of homes) mkdirSync(home);
    expect(homes.map((home) => folderFor(home))).toEqual([`${homes[0]}/.holdfast-run`, TEMPORARY]);
  });

  it('is in /tmp if the home folder belongs to another user', ({ skip }) => {
    if (UID !== 0) skip('may not give folders away');
    const home = newHome();
    chownSync(home, OTHER_UID, OTHER_UID);
    expect(folderFor(home)).toBe(TEMPORARY);
  });

  it('is in /tmp if the home folder is read-only and does not have it yet', ({ skip }) => {
    const home = newHome();
    const mount = (...options: string[]): number | null =>
      spawnSync('mount', [...options, 'tmpfs', home]).status;
    if (mount('-t', 'tmpfs') !== 0) skip('may not mount');
    onTestFinished(() => void spawnSync('umount', [home]));
    mount('-o', 'remount,ro');
    expect(folderFor(home)).toBe(TEMPORARY);
    mount('-o', 'remount,rw');
    mkdirSync(join(home, '.holdfast-run'));
    mount('-o', 'remount,ro');
    expect(folderFor(home)).toBe(`${home}/.holdfast-run`);
  });

  it('throws if the home folder cannot be read, since other processes may be able to', () => {
    const home = join(newHome(), 'loop');
    symlinkSync(home, home);
    expect(() => folderFor(home)).toThrow(LocalError);
    expect(() => folderFor(home)).toThrow(
      /cannot keep locks in .*\/loop \(ELOOP\).*HOLDFAST_RUNTIME_DIR/,
    );
  });

  it('is in the home folder when another user has taken the name in /tmp', ({ skip }) => {
    if (UID !== 0) skip('may not give folders away');
    squat();
    const home = newHome();
    chownSync(home, UNUSED_UID, UNUSED_UID);
    expect(folderFor(home, UNUSED_UID)).toBe(`${home}/.holdfast-run`);
  });

  it('is refused when another user has taken the name and there is no home folder', ({ skip }) => {
    if (UID !== 0) skip('may not give folders away');
    squat();
    expect(() => folderFor('/nonexistent', UNUSED_UID)).toThrow(
      new RegExp(
        `refused to keep locks in /tmp/holdfast-${UNUSED_UID}: it belongs to another user \\(uid 65534\\).*` +
          'HOLDFAST_RUNTIME_DIR\\. The home folder is not used: /nonexistent does not exist\\.$',
      ),
    );
  });
});

function squat(): void {
  const folder = `/tmp/holdfast-${UNUSED_UID}`;
  mkdirSync(folder);
  chownSync(folder, OTHER_UID, OTHER_UID);
  onTestFinished(() => rmSync(folder, { recursive: true }));
}
