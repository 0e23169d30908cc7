// Makes sure that the programs are here which tests run: the real Redis, which many compare with, SQLite,
// which the examples of the documents write to, a browser, which opens the pages, Python, which has
// terminals to give, two more shells, a reader of man pages, strace, which shows system calls, PHP, Python and Java with
// their Redis clients, which run the recipes of the lab, and the other servers that store locks: PostgreSQL, PgBouncer,
// etcd and memcached. Installs them where it may (root on Debian or Ubuntu), else says what to install.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian's package of each program. */
const PACKAGES = {
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  sqlite3: 'sqlite3',
  'chromium-headless-shell': 'chromium-headless-shell',
  python3: 'python3',
  zsh: 'zsh',
  fish: 'fish',
  mandoc: 'mandoc',
  strace: 'strace',
  php: 'php-cli',
  javac: 'default-jdk-headless',
  pgbouncer: 'pgbouncer',
  etcd: 'etcd-server',
  memcached: 'memcached',
};
/** What the message says of some programs. The browser without windows opens a page in half the time. */
const REMARKS = {
  'redis-server': '7.0 or later',
  'chromium-headless-shell': 'or chromium, or google-chrome',
};
/** Debian's package of what is not on the PATH, and the commands that find it: one of them is enough. */
const LIBRARIES = {
  phpredis: {
    name: 'php-redis',
    probes: [['php', '-r', 'exit(extension_loaded("redis") ? 0 : 1);']],
  },
  'redis-py': {
    name: 'python3-redis',
    // Debian's own Python need not be the first on the PATH.
    probes: ['python3', '/usr/bin/python3'].map((python) => [python, '-c', 'import redis']),
  },
  postgres: {
    name: 'postgresql',
    // Debian does not put it on the PATH.
    probes: [
      ['postgres', '--version'],
      ['/bin/sh', '-c', 'for file in /usr/lib/postgresql/*/bin/postgres; do test -x "$file"; done'],
    ],
  },
};
/** Programs that serve as well. */
const OTHER_NAMES = {
  'chromium-headless-shell': [
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
  ],
};
const POLICY = '/usr/sbin/policy-rc.d';

if (missing().length > 0 && mayInstall()) install();
const left = missing();
if (left.length > 0) {
  console.error(
    [
      `The tests need ${left.map(withRemark).join(', ')}. Install them and run npm test again:`,
      `  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y ${packagesOf(left).join(' ')}`,
      '  Fedora:          sudo dnf install -y redis sqlite chromium python3 python3-redis zsh fish mandoc strace php-cli php-pecl-redis6 java-devel postgresql-server pgbouncer etcd memcached',
      '  Alpine:          sudo apk add redis sqlite chromium python3 py3-redis zsh fish mandoc strace php83 php83-pecl-redis openjdk17-jdk postgresql pgbouncer etcd memcached',
      '  macOS:           brew install redis sqlite chromium python3 zsh fish mandoc php openjdk postgresql pgbouncer etcd memcached; pecl install redis; pip3 install redis',
    ].join('\n'),
  );
  process.exitCode = 1;
}

function missing() {
  const programs = Object.keys(PACKAGES).filter(
    (program) => ![program, ...(OTHER_NAMES[program] ?? [])].some(isOnPath),
  );
  const libraries = Object.keys(LIBRARIES).filter(
    (library) => !LIBRARIES[library].probes.some(succeeds),
  );
  return [...programs, ...libraries];
}

function withRemark(name) {
  return name in REMARKS ? `${name} (${REMARKS[name]})` : name;
}

function packagesOf(names) {
  return [...new Set(names.map((name) => PACKAGES[name] ?? LIBRARIES[name].name))];
}

function succeeds([program, ...args]) {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
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

/** Ignores a failure: the programs that are still missing are listed at the end. */
function run(program, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
