import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliProcess, MAIN } from './cli-process.ts';
import { freePort, type RunningServer, spawnRealRedis, stopProcess } from './real-redis.ts';

// A real process draws the list every second: these tests wait for its output.

const ENTER = '\x1b[?1049h';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';

let port: number;
let server: RunningServer;
let redis: Redis;

async function startAgain(): Promise<void> {
  const child = await spawnRealRedis('--port', `${port}`, '--bind', '127.0.0.1');
  server = { host: '127.0.0.1', port, stop: () => stopProcess(child) };
}

beforeEach(async () => {
  port = await freePort();
  await startAgain();
  redis = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  redis.on('error', () => {});
});
afterEach(async () => {
  redis.disconnect();
  await server.stop();
});

const hold = (name: string): Promise<unknown> =>
  redis.mset(`lock:{${name}}`, 'o.1 ["web-1",4711,"nightly"]', `lock:{${name}}:fence`, 10 ** 15);

/** On a terminal of 20 rows; afterwards it says how the program ended and how it left the terminal. */
function watch(environment: Record<string, string> = { NO_COLOR: '1' }): CliProcess {
  const program = `'${process.execPath}' '${MAIN}' ls --watch --store redis://127.0.0.1:${port}`;
  const command = `stty cols 100 rows 20; ${program}; echo "code $?"; stty -a`;
  return new CliProcess('script', ['-qec', command, '/dev/null'], {
    TERM: 'xterm',
    NO_COLOR: undefined,
    ...environment,
  });
}

/** The process under `script` and its shell. */
function pidOf(terminal: CliProcess): number {
  const children = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
  return children(children(terminal.child.pid!));
}

function resize(terminal: CliProcess, columns: number, rows: number): void {
  const device = readlinkSync(`/proc/${pidOf(terminal)}/fd/1`);
  execFileSync('stty', ['-F', device, 'cols', `${columns}`, 'rows', `${rows}`]);
}

describe('ls --watch on a terminal', () => {
  it.each([
    ['q', 'q'],
    ['Ctrl-C', '\x03'],
  ])(
    'shows what comes and goes, until %s, and leaves the terminal as it was',
    async (_name, key) => {
      await hold('first');
      await using terminal = watch();
      await terminal.waitFor(/1 lock, 0 waiting[\s\S]*first +mutex +web-1:4711 nightly/);
      await hold('second');
      await terminal.waitFor(/2 locks, 0 waiting[\s\S]*first [\s\S]*second /);
      const start = terminal.screen.length;
      await redis.del('lock:{first}');
      await terminal.waitFor(/1 lock, 0 waiting[\s\S]*NAME.*\nsecond /, start);
      terminal.type(key);
      await terminal.waitFor(/code 0[\s\S]* echo /);
      const [before, after] = terminal.text.split(LEAVE);
      expect(before).toContain(ENTER);
      expect(before).not.toMatch(/\x1b\[\d+m/);
      expect(after).toMatch(/\nisig icanon [\s\S]* echo /);
    },
  );

  it('is cut to the size of the terminal, and drawn again when that changes', async () => {
    for (let index = 10; index < 40; index++) await hold(`lock-${index}`);
    await using terminal = watch();
    await terminal.waitFor(/30 locks[\s\S]*0 above, 13 below[\s\S]* FENCE [\s\S]*lock-26 /);
    const start = terminal.screen.length;
    resize(terminal, 60, 8);
    await terminal.waitFor(
      /0 above, 25 below[\s\S]*NAME +KIND +HOLDER +AGE +LEFT +WAITING\n/,
      start,
    );
    // The width changes before the height does: in between it may have been drawn too.
    const last = terminal.screen.slice(terminal.screen.lastIndexOf('holdfast ls'));
    const small = Buffer.from(last, 'latin1').toString('utf8');
    expect(small).not.toContain('lock-15');
    expect(Math.max(...small.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    terminal.type('\x1b[F');
    await terminal.waitFor(/25 above, 0 below[\s\S]*lock-35[\s\S]*lock-39/, start);
    terminal.type('q');
    await terminal.waitFor(/code 0/);
  });

  it('shows something on a terminal that does not know its size', async () => {
    await hold('first');
    await using terminal = watch();
    await terminal.waitFor(/first +mutex/);
    resize(terminal, 0, 0);
    const start = terminal.screen.length;
    await hold('second');
    await terminal.waitFor(/2 locks[\s\S]*first +mutex[\s\S]*second +mutex/, start);
    terminal.type('q');
    await terminal.waitFor(/code 0/);
  });

  it('shows the error of a store that fails, and continues when it is back', async () => {
    await hold('first');
    await using terminal = watch();
    await terminal.waitFor(/first /);
    await server.stop();
    await terminal.waitFor(
      /As of .*Could not connect to 127\.0\.0\.1:\d+ \(ECONNREFUSED\)[\s\S]*first /,
    );
    const start = terminal.screen.length;
    await startAgain();
    await hold('afterwards');
    await terminal.waitFor(/q quits[\s\S]*afterwards /, start);
    terminal.type('q');
    await terminal.waitFor(/code 0/);
  });

  it('leaves the terminal as it was also when a signal ends it', async () => {
    await using terminal = watch();
    await terminal.waitFor(/0 locks/);
    process.kill(pidOf(terminal), 'SIGTERM');
    await terminal.waitFor(/code 0[\s\S]*\nisig icanon /);
    expect(terminal.text).toContain(LEAVE);
  });

  it('has colours unless NO_COLOR is set', async () => {
    await redis.set('lock:{foreign}', 'token');
    await using terminal = watch({});
    await terminal.waitFor(/foreign /);
    expect(terminal.text).toContain('\x1b[2m(another program) token');
    terminal.type('q');
    await terminal.waitFor(/code 0/);
  });
});

describe('ls --watch into a pipe', () => {
  const args = (...more: string[]): string[] => [
    ...['ls', '--watch', '--store', `redis://127.0.0.1:${port}`],
    ...more,
  ];

  it('prints a block for each refresh, and the error of a store that fails', async () => {
    await hold('first');
    await using pipe = CliProcess.node(args());
    await pipe.waitFor(/^NAME.*\nfirst .*\n\nNAME.*\nfirst /);
    expect(pipe.text).not.toContain('\x1b');
    await server.stop();
    await pipe.waitFor(/holdfast: Could not connect/);
    const start = pipe.screen.length;
    await startAgain();
    await pipe.waitFor(/\n\nNo lock has a holder/, start);
  });

  it('prints a document on every line with --json', async () => {
    await hold('first');
    await using pipe = CliProcess.node(args('--json'));
    const [, one, two] = await pipe.waitFor(/^(.*)\n(.*)\n/);
    for (const line of [one!, two!]) {
      expect(JSON.parse(line)).toMatchObject({ truncated: false, locks: [{ name: 'first' }] });
    }
    expect(Date.parse(JSON.parse(two!).at)).toBeGreaterThan(Date.parse(JSON.parse(one!).at));
  });
});
