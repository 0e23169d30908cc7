import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks, type Locks } from '../src/index.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { isDead, Lifeline, runCommand, startRun } from './cli-run-process.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

const { PATH = '' } = process.env;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
let server: RunningServer;
let store: string;
let locks: Locks;

beforeAll(async () => {
  server = await startRealRedis();
  store = `redis://127.0.0.1:${server.port}`;
  locks = createLocks(store as `redis://${string}`);
});

afterAll(async () => {
  await locks.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});

function run(...args: string[]) {
  return runCli(['run', '--store', store, ...args], {
    environment: { PATH },
  });
}

describe('holdfast run', () => {
  it('passes arguments, streams, the name and the fence to the command', async () => {
    const script = 'read line; echo "$line|$1|$HOLDFAST_LOCK|$HOLDFAST_FENCE"; echo no >&2; exit 3';
    await using runner = startRun(['data', '--', 'sh', '-c', script, 'sh', 'a "b" $c'], {
      HOLDFAST_STORE: store,
    });
    runner.type('typed\n');
    const [, fence] = await runner.waitFor(/typed\|a "b" \$c\|data\|(\d+)\n/);
    await runner.waitFor(/no\n/);
    expect(await runner.ended()).toBe(3);
    expect(Number(fence)).toBeGreaterThan(1e15);
  });

  it.each([
    { value: 'tok\x1b[2J', words: [], shown: 'tok\\x1b[2J', end: 'no end' },
    { value: 'x'.repeat(60), words: ['EX', '100'], shown: /x{20}…x{19}/, end: /1m\d\ds left/ },
  ])(
    'names the value when another program holds the lock: $value',
    async ({ value, words, shown, end }) => {
      await run('foreign', '--', 'true');
      const redis = new Redis(server.port, server.host);
      onTestFinished(() => redis.disconnect());
      await redis.call('SET', 'lock:{foreign}', value, ...words);
      const { code, errors } = await run('foreign', '-n', '--', 'true');
      await redis.del('lock:{foreign}');
      expect(code).toBe(75);
      const text = Buffer.from(errors, 'latin1').toString('utf8');
      const source = (part: string | RegExp): string =>
        typeof part === 'string' ? part.replace(/[\\[]/g, '\\$&') : part.source;
      const holder = `another program \\(value ${source(shown)}\\), ${source(end)}`;
      expect(text).toMatch(
        new RegExp(`^holdfast: lock 'foreign' is busy: held by ${holder}\\.\n$`),
      );
    },
  );

  it('removes the password of the store from the environment of the command', async () => {
    const protectedServer = await startRealRedis('--requirepass', 'secret');
    const at = `127.0.0.1:${protectedServer.port}`;
    const script = 'echo "$HOLDFAST_PASSWORD|$HOLDFAST_STORE"; env | grep -c secret';
    for (const environment of [
      { HOLDFAST_STORE: `redis://${at}`, HOLDFAST_PASSWORD: 'secret' },
      { HOLDFAST_STORE: `redis://:secret@${at}` },
    ]) {
      await using runner = startRun(['data', '--', 'sh', '-c', script], environment);
      await runner.ended();
      expect(runner.text).toBe(`|redis://${at}\n0\n`);
    }
    await protectedServer.stop();
  });

  it('returns every exit code of a command', async () => {
    const codes = Array.from({ length: 256 }, (_, code) => code);
    const ends: number[] = [];
    for (let first = 0; first < codes.length; first += 8) {
      const part = codes.slice(first, first + 8);
      const runs = part.map((code) => run(`code:${code}`, '--', 'sh', '-c', `exit ${code}`));
      ends.push(...(await Promise.all(runs)).map(({ code }) => code));
    }
    expect(ends).toEqual(codes);
  });

  it.each(['SIGHUP', 'SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGPIPE'] as const)(
    'returns 128 + n when the command dies by %s',
    async (signal) => {
      const { code } = await run('dies', '--', 'sh', '-c', `kill -${signal.slice(3)} $$`);
      expect(code).toBe(128 + constants.signals[signal]);
    },
  );

  it.each(['on Redis', 'on a local server that the first of them starts'])(
    'lets 50 runners append in strict turns, with rising fences, %s',
    async (where) => {
      const log = join(folder, where);
      const environment = {
        HOLDFAST_STORE: where === 'on Redis' ? store : undefined,
        HOLDFAST_RUNTIME_DIR: join(folder, 'local'),
        HOLDFAST_LOCAL_IDLE_MS: '1000',
      };
      const script = `echo "begin $HOLDFAST_FENCE" >>"${log}"; echo "end $HOLDFAST_FENCE" >>"${log}"`;
      const runners = Array.from({ length: 50 }, () =>
        startRun(['turns', '--', 'sh', '-c', script], environment),
      );
      const codes = await Promise.all(runners.map((runner) => runner.ended()));
      expect(codes).toEqual(runners.map(() => 0));
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      const fences = lines.map((line) => Number(line.split(' ')[1]));
      expect(lines).toEqual(
        fences.map((fence, at) => `${at % 2 === 0 ? 'begin' : 'end'} ${fence}`),
      );
      const rising = fences.filter((_, at) => at % 2 === 0);
      expect(rising).toHaveLength(50);
      expect(rising).toEqual([...new Set(rising)].sort((a, b) => a - b));
      expect(fences.filter((_, at) => at % 2 === 1)).toEqual(rising);
    },
  );
});

describe('exclusion', () => {
  const HOLDERS = {
    'a run': ['--'],
    'a shared run': ['--shared', '--'],
    'a run with 2 permits': ['--permits', '2', '--'],
  } as const;
  const FREE = 0;
  const BUSY = 75;

  it.each([
    ['a run', [], BUSY],
    ['a run', ['--shared'], BUSY],
    ['a run', ['--permits', '2'], FREE],
    ['a shared run', [], BUSY],
    ['a shared run', ['--shared'], FREE],
    ['a run with 2 permits', ['--permits', '2'], FREE],
    ['a run with 2 permits', [], FREE],
  ] as const)('of %s and a run with %j', async (holder, options, expected) => {
    await using first = startRun(['pairs', '--store', store, ...HOLDERS[holder], 'sh', '-c', HOLD]);
    await first.waitFor(/held/);
    const { code, errors } = await run('pairs', '--no-wait', ...options, '--', 'true');
    expect(code).toBe(expected);
    if (expected === BUSY)
      expect(errors).toMatch(/lock 'pairs' is busy: held by \S+ pid \d+ \(sh\)/);
    first.type('\n');
    expect(await first.ended()).toBe(0);
  });

  it('of a program with mutex() or readWrite() and a run', async () => {
    for (const lock of [
      locks.mutex('both'),
      locks.readWrite('both').read,
      locks.readWrite('both').write,
    ]) {
      await using _held = await lock.acquire();
      expect((await run('both', '--wait', '1ms', '--', 'true')).code).toBe(BUSY);
    }
    expect((await run('both', '--wait', '1ms', '--', 'true')).code).toBe(0);
  });

  it('releases the mutex when the write side is busy', async () => {
    await using _read = await locks.readWrite('half').read.acquire();
    expect((await run('half', '--no-wait', '--', 'true')).code).toBe(BUSY);
    expect((await locks.mutex('half').inspect()).holders).toEqual([]);
  });

  it('admits as many runs as there are permits', async () => {
    const hold = ['three', '--store', store, '--permits', '2', '--', 'sh', '-c', HOLD];
    await using first = startRun(hold);
    await using second = startRun(hold);
    await Promise.all([first.waitFor(/held/), second.waitFor(/held/)]);
    expect((await run('three', '--permits', '2', '--no-wait', '--', 'true')).code).toBe(BUSY);
    second.type('\n');
    await second.ended();
    expect((await run('three', '--permits', '2', '--', 'true')).code).toBe(0);
    first.type('\n');
    await first.ended();
  });
});

describe('a nested run of the same name', () => {
  it('warns of a deadlock, and waits', async () => {
    const inner = runCommand(`itself --store ${store} --wait ${withinMs(500)}ms -- echo ran`);
    await using outer = startRun([
      'itself',
      '--store',
      store,
      '--',
      'sh',
      '-c',
      `${inner}; exit $?`,
    ]);
    expect(await outer.ended()).toBe(75);
    const told = `lock 'itself' is held by pid ${outer.child.pid}, which started this run: if it waits`;
    expect(outer.text).toContain(told);
    expect(outer.text).not.toContain('ran');
  });

  it('does not warn when the holder is no ancestor', async () => {
    await using holder = startRun(['other', '--store', store, '--', 'sh', '-c', HOLD]);
    await holder.waitFor(/held/);
    await using runner = startRun(
      ['other', '--store', store, '--wait', `${withinMs(500)}ms`, '--', 'true'],
      {
        HOLDFAST_RUN: 'of-another',
      },
    );
    expect(await runner.ended()).toBe(75);
    expect(runner.text).toMatch(/^holdfast: lock 'other' is busy: .*\n$/);
    holder.type('\n');
    await holder.ended();
  });
});

/** A shell script that holds the lock until it reads a line. */
const HOLD = 'echo held; read line';

describe('errors of run', () => {
  it.each([
    [[], 'The name of the lock is missing'],
    [['--', 'true'], 'The name of the lock is missing'],
    [['', '--', 'true'], 'The name of a lock cannot be empty'],
    [['a'], 'The command is missing: holdfast run a -- command'],
    [['a', '--'], 'The command after -- is missing'],
    [['a', 'echo', 'hi'], 'Write -- before the command: holdfast run a -- echo hi.'],
    [['a', 'b', '--', 'true'], "'b' is one word too many before the --"],
    [['a', '--wiat', '1s', '--', 'true'], "Unknown option '--wiat'; did you mean --wait"],
    [
      ['a', '--wait', 'soon', '--', 'true'],
      "--wait must be a duration, such as 500ms, 30s, 5m or 1h; got 'soon'",
    ],
    [['a', '--wait', '10', '--', 'true'], '--wait must be a duration'],
    [['a', '--lease', '100ms', '--', 'true'], '--lease must be a duration of at least 1s'],
    [['a', '--max-hold', '-1s', '--', 'true'], '--max-hold'],
    [['a', '--permits', '0', '--', 'true'], "--permits must be a whole number from 1 on; got '0'"],
    [['a', '--permits', '1.5', '--', 'true'], '--permits must be'],
    [['a', '--permits', '2', '--shared', '--', 'true'], 'Choose --shared or --permits'],
    [['a', '--wait', '1s', '--no-wait', '--', 'true'], 'Choose --wait or --no-wait'],
    [['a', '--store', 'http://x', '--', 'true'], "'http:' is not known"],
    [
      ['x'.repeat(2000), '--', 'true'],
      'at most 1024 bytes; this one has 2000. Use a hash of it. See',
    ],
  ])('%j is refused with 2', async (args, message) => {
    const { code, errors } = await runCli(['run', ...args], {
      environment: { PATH, HOLDFAST_STORE: store },
    });
    expect(errors).toContain(message);
    expect(code).toBe(2);
  });

  it('returns 127 and 126 without waiting for the lock', async () => {
    await using _held = await locks.mutex('missing').acquire();
    expect(await run('missing', '--', 'no-such-command')).toEqual({
      code: 127,
      output: '',
      errors: "holdfast: 'no-such-command' was not found.\n",
    });
    writeFileSync(join(folder, 'text'), 'no program', { mode: 0o644 });
    expect((await run('missing', '--', join(folder, 'text'))).code).toBe(126);
    expect((await run('missing', '--', '/etc')).code).toBe(126);
    expect((await run('missing', '--', '/etc/no-such-command')).code).toBe(127);
  });

  // A shell passes the byte: Node cannot pass arguments that are not UTF-8.
  async function runWritten(words: string): Promise<{ code: number | null; text: string }> {
    const script = `byte=$(printf '\\351'); ${words}`;
    await using shell = new CliProcess('setsid', ['sh', '-c', script], { HOLDFAST_STORE: store });
    return { code: await shell.ended(), text: shell.text };
  }

  it('refuses arguments that are not UTF-8 with 2', async () => {
    expect(await runWritten(`exec ${runCommand('utf8 -- printf %s "caf$byte"')}`)).toEqual({
      code: 2,
      text: expect.stringMatching(/^holdfast: 'caf.+' is not UTF-8, so Node cannot pass it on/),
    });
    const { code } = await runWritten(`exec ${runCommand('utf8 -- printf %s "caf\u{FFFD}"')}`);
    expect(code).toBe(0);
  });

  it('warns of a variable that is not UTF-8', async () => {
    const { code, text } = await runWritten(`CAFE="$byte" exec ${runCommand('utf8 -- true')}`);
    expect(code).toBe(0);
    expect(text).toBe(
      'holdfast: the variable CAFE is not UTF-8: the command gets it with U+FFFD instead of those bytes.\n',
    );
    expect((await runWritten(`CAFE="\u{FFFD}" exec ${runCommand('utf8 -- true')}`)).text).toBe('');
  });

  it('finds commands in /bin and /usr/bin without a PATH', async () => {
    await using runner = startRun(['bare', '--store', store, '--', 'true'], { PATH: undefined });
    expect(await runner.ended()).toBe(0);
  });

  it('returns 69 when the store is unreachable', async () => {
    const { code, errors } = await runCli(
      ['run', 'a', '--store', 'redis://127.0.0.1:1', '--', 'true'],
      {
        environment: { PATH },
      },
    );
    expect(code).toBe(69);
    expect(errors).toContain('Could not connect to 127.0.0.1:1 (ECONNREFUSED)');
  });

  it('prints help with every option and every code', async () => {
    const { code, output } = await runCli(['run', '--help']);
    expect(code).toBe(0);
    for (const word of ['--no-wait', '--max-hold', 'HOLDFAST_FENCE', '69', '75', '79', '124']) {
      expect(output).toContain(word);
    }
  });
});

describe('a process that a command leaves', () => {
  it('in its group is ended before the lock is free', async () => {
    using line = new Lifeline();
    const stubborn = `trap "" TERM; exec 9>"${line.path}"; echo $$ >&9; exec sleep 1000`;
    const script = `sh -c '${stubborn}' & read go`;
    await using runner = startRun(['left', '--store', store, '--', 'sh', '-c', script]);
    const pid = await line.next();
    const check = ['sh', '-c', isDead(pid)];
    await using next = startRun(['left', '--store', store, '--', ...check]);
    runner.type('go\n');
    await next.waitFor(/dead/);
    await line.ended();
    expect(await runner.ended()).toBe(0);
  });

  it('in its own session continues', async () => {
    using line = new Lifeline();
    const daemon = `exec 9>"${line.path}"; echo $$ >&9; read go; echo still here >&9`;
    const input = join(folder, 'daemon');
    const script = `mkfifo "${input}"; setsid sh -c '${daemon}' <>"${input}" >/dev/null 2>&1 & read go`;
    await using runner = startRun(['daemon', '--store', store, '--', 'sh', '-c', script]);
    await line.next();
    runner.type('go\n');
    expect(await runner.ended()).toBe(0);
    writeFileSync(input, 'go\n');
    expect(await line.next()).toBe('still here');
    await line.ended();
  });
});
