// Makes sure that the programs are here which tests run: the real Redis, which many compare with, SQLite,
// which the examples of the documents write to, a browser, which opens the pages, Python, which has
// terminals to give, a second shell and a reader of man pages. Installs them where it may (root on Debian
// or Ubuntu), else says what to install.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian's package of each program. */
const PACKAGES = {
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  sqlite3: 'sqlite3',
  chromium: 'chromium',
  python3: 'python3',
  zsh: 'zsh',
  mandoc: 'mandoc',
};
/** Programs that serve as well. */
const OTHER_NAMES = { chromium: ['chromium-browser', 'google-chrome', 'google-chrome-stable'] };
const POLICY = '/usr/sbin/policy-rc.d';

if (missing().length > 0 && mayInstall()) install();
const left = missing();
if (left.length > 0) {
  console.error(
    [
      `The tests need ${left.join(', ')} on the PATH (Redis 7.0 or later). Install them and run npm test again:`,
      `  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y ${packagesOf(left).join(' ')}`,
      '  Fedora:          sudo dnf install -y redis sqlite chromium python3 zsh mandoc',
      '  Alpine:          sudo apk add redis sqlite chromium python3 zsh mandoc',
      '  macOS:           brew install redis sqlite chromium python3 zsh mandoc',
    ].join('\n'),
  );
  process.exitCode = 1;
}

function missing() {
  return Object.keys(PACKAGES).filter(
    (program) => ![program, ...(OTHER_NAMES[program] ?? [])].some(isOnPath),
  );
}

function packagesOf(programs) {
  return [...new Set(programs.map((program) => PACKAGES[program]))];
}

function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function mayInstall() {
  return process.getuid?.() === 0 && isOnPath('apt-get');
}

function install() {
  const packages = packagesOf(missing());
  console.error(`Installing ${packages.join(', ')}, which the tests run.`);
  withoutDaemons(() => {
    run('apt-get', ['update']);
    run('apt-get', ['install', '-y', '--no-install-recommends', ...packages]);
  });
}

/**
 * Debian starts a package's daemon unless the machine's policy says 101, "forbidden". A policy that
 * stands already (images of containers have one) is left as it is.
 */
function withoutDaemons(work) {
  const isOurs = !existsSync(POLICY);
  if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
  try {
    work();
  } finally {
    if (isOurs) rmSync(POLICY);
  }
}

/** A failure is no end here: what is missing afterwards is told at the end. */
function run(program, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
