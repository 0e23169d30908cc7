import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RECIPES } from '../src/lab/index.ts';
import { sentAlone } from '../src/lab/report/scripts.ts';
import { CliProcess } from './cli-process.ts';
import { freePort, startRealRedis } from './real-redis.ts';
import { RECIPE_FOLDER as FOLDER, launchRecipe, outputOfRecipe } from './recipe-program.ts';

const host = '127.0.0.1';
const FILES = readdirSync(FOLDER);
const PROGRAMS = FILES.filter((file) => /(?<!^common)\.(php|py|java)$/.test(file));
const TOKEN_PROGRAMS = PROGRAMS.filter((file) => file.startsWith('set-nx-px-'));
const TIMESTAMP_PROGRAMS = PROGRAMS.filter((file) => file.startsWith('timestamp-'));

/** Java compiles its program once, and not at each start. */
const classes = mkdtempSync(join(tmpdir(), 'holdfast-java-'));
const JAVA = ['java', '-XX:TieredStopAtLevel=1', '-cp', classes, 'SetNxPxGetDel'];

/** A server in a process of its own, and a client that sees which commands arrive there. */
class Watched {
  readonly port: number;
  readonly admin: Redis;
  readonly #monitor: Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #stop: () => PromiseLike<void>;

  private constructor(port: number, stop: () => PromiseLike<void>) {
    this.port = port;
    this.#stop = stop;
    this.admin = new Redis({ host, port });
    this.#monitor = connect(port, host);
    this.#lines = createInterface({ input: this.#monitor })[Symbol.asyncIterator]();
    this.#monitor.write('MONITOR\r\n');
  }

  static async start(port: number, stop: () => PromiseLike<void>): Promise<Watched> {
    const server = new Watched(port, stop);
    expect((await server.#lines.next()).value).toBe('+OK');
    return server;
  }

  /** The commands that arrived since the last call, without those that scripts call. */
  async commands(): Promise<string[][]> {
    await this.admin.echo('the end');
    const commands: string[][] = [];
    for (;;) {
      const { value: line } = await this.#lines.next();
      const argv = [...String(line).matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([word]) =>
        String(JSON.parse(word)),
      );
      if (argv[1] === 'the end') return commands;
      if (!/^\S+ \[0 lua\]/.test(line)) commands.push(argv);
    }
  }

  async stop(): Promise<void> {
    this.#monitor.destroy();
    this.admin.disconnect();
    await this.#stop();
  }
}

let servers: readonly Watched[];

beforeAll(async () => {
  execFileSync('javac', ['-d', classes, join(FOLDER, 'set-nx-px-get-del.java')]);
  servers = await Promise.all([startRedis(), startOurs()]);
});
afterAll(async () => {
  await Promise.all(servers?.map((server) => server.stop()) ?? []);
  rmSync(classes, { recursive: true });
});
beforeEach(async () => {
  await Promise.all(servers.map(({ admin }) => admin.flushall()));
  await onBoth((server) => server.commands());
});

async function startRedis(): Promise<Watched> {
  const server = await startRealRedis();
  return Watched.start(server.port, () => server.stop());
}

async function startOurs(): Promise<Watched> {
  const server = CliProcess.node(['serve', '--port', '0']);
  const [, port] = await server.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
  return Watched.start(Number(port), () => server[Symbol.asyncDispose]());
}

function launch(file: string, ...args: readonly (string | number)[]): CliProcess {
  return launchRecipe(file, args, file.endsWith('.java') ? JAVA : undefined);
}

function outputOf(file: string, ...args: readonly (string | number)[]): Promise<string> {
  return outputOfRecipe(file, args, file.endsWith('.java') ? JAVA : undefined);
}

async function onBoth<Result>(
  run: (server: Watched) => Promise<Result>,
): Promise<[Result, Result]> {
  const [redis, ours] = await Promise.all(servers.map(run));
  return [redis!, ours!];
}

/**
 * The outputs on redis-server and on Holdfast must be the same, byte for byte, after two replacements: a
 * Unix time of today, which has ten digits, becomes <time>, and a token of 32 hex digits becomes <token>.
 */
async function sameOnBoth(run: (server: Watched) => Promise<string>): Promise<string> {
  const [redis, ours] = await onBoth(async (server) => normalised(await run(server)));
  expect(ours).toBe(redis);
  return redis;
}

function normalised(text: string): string {
  return text.replace(/\b[0-9a-f]{32}\b/g, '<token>').replace(/\b[12]\d{9}\b/g, '<time>');
}

function recipeOf(file: string): string {
  return file.split('.')[0]!;
}

/** A command as programs print it: a script by its title, options of SET in capitals. */
function shown(argv: readonly string[]): string {
  const [name, ...args] = argv;
  const words = args.map((arg) => /^-- (.*)\n/.exec(arg)?.[1]?.replace(/.*/, '<$&>') ?? arg);
  if (name !== 'SET') return [name, ...words].join(' ');
  return [name, ...words.slice(0, 2), ...words.slice(2).map((word) => word.toUpperCase())].join(
    ' ',
  );
}

/** The commands in a program's output. */
function printedCommands(output: string): string[] {
  return output.split('\n').flatMap((line) => {
    const [commands, reply] = line.split(' -> ');
    return reply === undefined ? [] : commands!.split('; ');
  });
}

/** A command for comparison with the lab: options of SET in one order, scripts without the last newline. */
function canonical(argv: readonly string[]): string[] {
  const [name, key, value, ...options] = argv.map((arg) => normalised(arg).trimEnd());
  if (name !== 'SET') return argv.map((arg) => normalised(arg).trimEnd());
  const text = options.join(' ').toUpperCase();
  return [name, key!, value!, ...(text.match(/[EP]X \d+|NX/g) ?? []).sort()];
}

/**
 * What the recipe sends in the lab, where a token is A1, the time is about 1000 and a lease lasts 2 s. The
 * programs run with 600 s, so that no lease ends while a busy machine keeps a program waiting.
 */
function sentInLab(recipe: string): string[][] {
  const [variant] = RECIPES.find(({ name }) => name === recipe)!.variants;
  const replaced = (arg: string): string =>
    arg
      .replace(/^A1$/, '<token>')
      .replace(/^10\d\d$/, '<time>')
      .replace(/^2(000)?$/, '600$1');
  return sentAlone(recipe, variant!.name).map((argv) => canonical(argv.map(replaced)));
}

describe('the programs', () => {
  it('are there for each recipe that textbooks have, in PHP and in Python', () => {
    // No document has a sample of a loser that repairs the lock.
    const recipes = RECIPES.map(({ name }) => name).filter(
      (name) => name !== 'setnx-repaired-expire',
    );
    const textbook = recipes.slice(0, 10);
    const expected = textbook.flatMap((name) => [`${name}.php`, `${name}.py`]);
    expect(FILES).toEqual(expect.arrayContaining(expected));
    expect(PROGRAMS).toHaveLength(expected.length + 1);
  });

  it.each(PROGRAMS)('%s alone sends what the recipe sends in the lab', async (file) => {
    const seen = await onBoth(async (server) => {
      const output = await outputOf(file, host, server.port, 600);
      return { output, commands: await server.commands() };
    });
    for (const { output, commands } of seen) {
      expect(printedCommands(output)).toEqual(commands.map(shown));
      expect(commands.map(canonical)).toEqual(sentInLab(recipeOf(file)));
      expect(output).toMatch(/^working until Enter$/m);
      expect(output).toMatch(/ -> 1\n$/);
    }
    expect(normalised(seen[1].output)).toBe(normalised(seen[0].output));
  });

  it.each(PROGRAMS)('%s excludes a second one that starts at the same time', async (file) => {
    await sameOnBoth(async ({ port, admin }) => {
      await using one = launch(file, host, port, 600);
      await using other = launch(file, host, port, 600);
      const first = await Promise.race([one, other].map((each) => each.ended().then(() => each)));
      const second = first === one ? other : one;
      await second.waitFor(/working/);
      expect(first.text).not.toContain('working');
      expect(await admin.dbsize()).toBe(1);
      second.type('\n');
      expect(await second.ended()).toBe(0);
      expect(await admin.dbsize()).toBe(0);
      return first.text + second.text;
    });
  });

  it.each(TOKEN_PROGRAMS)('%s leaves the lock of another program alone', async (file) => {
    const output = await sameOnBoth(async ({ port, admin }) => {
      await using program = launch(file, host, port);
      await program.waitFor(/working/);
      await admin.set('lock', 'another');
      program.type('\n');
      await program.ended();
      expect(await admin.get('lock')).toBe('another');
      return program.text;
    });
    expect(output).toMatch(
      /GET lock -> another\n$|EVAL <compare and delete> 1 lock <token> -> 0\n$/,
    );
  });

  it.each(TIMESTAMP_PROGRAMS)('%s takes over a lock whose time is in the past', async (file) => {
    const output = await sameOnBoth(async ({ port, admin }) => {
      await admin.set('lock.foo', 1000);
      return await outputOf(file, host, port);
    });
    const takeOver = file.startsWith('timestamp-del-setnx')
      ? ['DEL lock.foo -> 1', 'SETNX lock.foo <time> -> 1']
      : ['GETSET lock.foo <time> -> 1000'];
    const lines = ['SETNX lock.foo <time> -> 0', 'GET lock.foo -> 1000', ...takeOver];
    expect(output).toBe([...lines, 'working until Enter', 'DEL lock.foo -> 1', ''].join('\n'));
  });

  it.each(['php', 'py'])(
    'timestamp-getset-checked.%s sends no DEL after its lease',
    async (kind) => {
      const file = `timestamp-getset-checked.${kind}`;
      const output = await sameOnBoth(({ port }) => outputOf(file, host, port, 0));
      expect(output).toBe('SETNX lock.foo <time> -> 1\nworking until Enter\n');
    },
  );
});

describe('redis-cli --eval', () => {
  it.each([
    ['lua-setnx-expire.lua', ['lock', ',', '1', '60'], ['1', '0'], '1'],
    ['lua-setnx-expire.keys.lua', ['lock', '1', '60'], ['1', '0'], '1'],
    ['set-nx-px-lua-del.lua', ['lock', ',', '1'], ['0', '0'], undefined],
  ])('runs %s', async (file, args, replies, value) => {
    const run = async ({ port }: Watched): Promise<string> => {
      const flags = ['-h', host, '-p', `${port}`, '--eval', join(FOLDER, file)];
      await using cli = new CliProcess('redis-cli', [...flags, ...args]);
      await cli.ended();
      return cli.text;
    };
    for (const reply of replies) expect(await sameOnBoth(run)).toBe(`${reply}\n`);
    for (const { admin } of servers) {
      expect(await admin.get('lock')).toBe(value ?? null);
      if (value !== undefined) expect(await admin.ttl('lock')).toBeGreaterThan(0);
    }
  });

  it('deletes the lock by set-nx-px-lua-del.lua if the token is right', async () => {
    const output = await sameOnBoth(async ({ port, admin }) => {
      await admin.set('lock', 'token');
      const script = join(FOLDER, 'set-nx-px-lua-del.lua');
      const flags = ['-h', host, '-p', `${port}`, '--eval', script];
      await using cli = new CliProcess('redis-cli', [...flags, 'lock', ',', 'token']);
      await cli.ended();
      return cli.text;
    });
    expect(output).toBe('1\n');
  });
});

describe('a program that cannot run', () => {
  it.each(['php', 'py', 'java'])('says why and how to start it (%s)', async (kind) => {
    const file = `set-nx-px-get-del.${kind}`;
    const closed = await freePort();
    const cases: [RegExp, ...(string | number)[]][] = [
      [/^no server answers at 127\.0\.0\.1:\d+: .*refused/, host, closed],
      [/^port must be a whole number up to 99999, not 'abc'\n/, host, 'abc'],
      [/^seconds must be a whole number up to 99999, not '-1'\n/, host, closed, '-1'],
    ];
    for (const [problem, ...args] of cases) {
      const output = await outputOf(file, ...args);
      expect(output).toMatch(problem);
      expect(output).toMatch(/\nusage: \w+ \S+ \[host \[port \[seconds\]\]\]\n$/);
    }
  });

  it.each([
    // Without php.ini, which loads extensions; without the folder of packages.
    { kind: 'php', command: ['php', '-n'], problem: /^PHP has no extension redis .* php-redis\./ },
    {
      kind: 'py',
      command: ['python3', '-S'],
      problem: /^\/\S+ has no module redis .* python3-redis,/,
    },
  ])('says what to install if the client is missing ($kind)', async (program) => {
    const { kind, command, problem } = program;
    const file = `set-nx-ex-del.${kind}`;
    const output = await outputOfRecipe(file, [], [...command, join(FOLDER, file)]);
    expect(output).toMatch(problem);
    expect(output.trimEnd()).not.toContain('\n');
  });

  it.each(['php', 'py', 'java'])('prints the error of the server (%s)', async (kind) => {
    const output = await sameOnBoth(async ({ port, admin }) => {
      await admin.config('SET', 'requirepass', 'secret');
      const text = await outputOf(`set-nx-px-get-del.${kind}`, host, port);
      await admin.config('SET', 'requirepass', '');
      return text;
    });
    expect(output).toMatch(/Authentication required/i);
  });
});
