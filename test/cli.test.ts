import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { VERBS } from '../src/cli/dispatch.ts';
import { refusal } from '../src/cli/node-version.ts';
import { readServeOptions } from '../src/cli/serve-options.ts';
import { parseStoreAddress } from '../src/cli/store-address.ts';
import { RECIPES } from '../src/lab/index.ts';
import { CliProcess, MAIN, ROOT, runCli } from './cli-process.ts';
import { withinMs } from './within.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the verbs', () => {
  it('are listed without an argument', async () => {
    const { code, output } = await runCli([]);
    expect(code).toBe(0);
    expect(output).toMatch(/^ {2}serve +\S/m);
    expect(output).toMatch(/^ {2}cli +\S/m);
    expect(output).toMatch(/^ {2}lab +\S/m);
    expect((await runCli(['help'])).output).toBe(output);
    expect((await runCli(['--help'])).output).toBe(output);
  });

  it('are named after an unknown one, with exit code 2', async () => {
    const { code, output, errors } = await runCli(['srve']);
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(errors).toMatch(
      /^holdfast: There is no verb 'srve'; did you mean serve\? Known verbs: serve, .*, help, version\. See holdfast help\.\n$/,
    );
  });

  it.each([...VERBS.keys()])('%s has help with examples', async (verb) => {
    const { code, output } = await runCli([verb, '--help']);
    expect(code).toBe(0);
    expect(output).toMatch(/^Examples:\n {2}holdfast/m);
    expect((await runCli(['help', verb])).output).toBe(output);
    expect((await runCli([verb, '-h'])).output).toBe(output);
  });

  it('version, --version and -v print the version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const word of ['version', '--version', '-v']) {
      expect((await runCli([word])).output).toBe(`${version}\n`);
    }
  });

  it.each([
    ['serve', '--prt', '1'],
    ['serve', '--port'],
    ['serve', 'now'],
    ['cli', '--raw', '--no-raw', 'PING'],
    ['lab', 'rum'],
    ['cli', '--store', 'memcached://localhost', 'PING'],
  ])('refuse unknown options and values: %s %s', async (...args) => {
    const { code, errors } = await runCli(args);
    expect(code).toBe(2);
    expect(errors).toMatch(new RegExp(`^holdfast: .+\\. See holdfast ${args[0]} --help\\.\n$`));
  });
});

describe('holdfast man', () => {
  it('prints the help of every verb and the variables into a pipe', async () => {
    await using program = CliProcess.node(['man']);
    expect(await program.ended()).toBe(0);
    for (const verb of VERBS.keys()) expect(program.text).toContain(`holdfast ${verb}: `);
    expect(program.text).toMatch(/^ {2}HOLDFAST_PASSWORD$/m);
  });

  it('starts man with the page of the package on a terminal', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'man'), '#!/bin/sh\nhead -1 "$1"\n', { mode: 0o755 });
    const environment = { PATH: `${bin}:${process.env['PATH']}` };
    await using program = CliProcess.terminal(['man'], environment);
    expect(await program.ended()).toBe(0);
    expect(program.screen).toMatch(/^\.TH HOLDFAST 1 .*\n$/);
  });

  it('prints the texts on a terminal where man is not installed', async () => {
    const bin = join(folder, 'bin-without-man');
    mkdirSync(bin);
    // script starts a shell, which needs stty.
    symlinkSync('/bin/stty', join(bin, 'stty'));
    const command = `PATH=${bin}; stty cols 200; exec '${process.execPath}' '${MAIN}' man`;
    const args = ['-qec', command, '/dev/null'];
    await using program = new CliProcess('script', args, { SHELL: '/bin/sh', NO_COLOR: '1' });
    expect(await program.ended()).toBe(0);
    expect(program.screen).toContain('holdfast run: runs a command while it holds a lock');
  });
});

describe('holdfast lab', () => {
  it('list prints every recipe with its variants, and searches none', async () => {
    const beganMs = performance.now();
    const { code, output } = await runCli(['lab', 'list', '--lang', 'en']);
    const tookMs = performance.now() - beganMs;
    expect(code).toBe(0);
    expect(output).toMatch(/^setnx-only\n(?: {2}.*\n)+ {2}variants: crash, lost-reply, no-crash\n/);
    for (const { name } of RECIPES) expect(output).toMatch(new RegExp(`^${name}$`, 'm'));
    expect(output).not.toContain('interleavings');
    // The search of all recipes takes half a minute at least.
    expect(tookMs).toBeLessThan(withinMs(5000));
  });

  it('list --json has names, texts and variants', async () => {
    const list = JSON.parse((await runCli(['lab', 'list', '--json'])).output);
    expect(list.map(({ name }: { name: string }) => name)).toEqual(RECIPES.map(({ name }) => name));
    expect(list[0]).toMatchObject({ about: { en: expect.any(String) }, variants: [{}, {}, {}] });
  });

  it('without a part says that it searches, and names lab list', async () => {
    await using program = CliProcess.node(['lab', '--lang', 'en']);
    await program.waitFor(/^holdfast: searching all recipes, .* holdfast lab list prints them/);
  });
});

describe('SIGUSR1', () => {
  it.each([
    ['cli', ['cli'], 'GET a\n'],
    ['run', ['run', 'inspected', '--', 'cat'], 'GET a\n'],
  ])('does not open the inspector of Node: %s', async (_verb, args, input) => {
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(ANNOUNCE)}`];
    const environment = { HOLDFAST_RUNTIME_DIR: folder, HOLDFAST_LOCAL_IDLE_MS: '100' };
    await using program = CliProcess.node(args, { flags, environment });
    await program.waitFor(/listens to SIGUSR1/);
    program.child.kill('SIGUSR1');
    program.type(input);
    program.child.stdin!.end();
    await program.ended();
    expect(program.text).not.toContain('ws://');
  });
});

/** Reports when the program listens to SIGUSR1; before that Node opens its inspector. */
const ANNOUNCE = `
process.on('newListener', (name) => {
  if (name === 'SIGUSR1') setImmediate(() => process.stdout.write('listens to SIGUSR1\\n'));
});`;

describe('Node', () => {
  it.each(['18.20.8', '20.0.0', '20.18.3'])('%s is refused', (version) => {
    expect(refusal(version)).toContain(`needs Node 20.19 or later, and this is Node ${version}`);
  });

  it.each(['20.19.0', '20.20.2', '22.0.0', '100.1.0'])('%s is taken', (version) => {
    expect(refusal(version)).toBeUndefined();
  });
});

describe('options of serve', () => {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'from file\nnot this\n', { mode: 0o600 });

  it('come from flags, then from the environment', () => {
    const environment = {
      HOLDFAST_PORT: '7000',
      HOLDFAST_MAXCLIENTS: '5',
      HOLDFAST_UNPROTECTED: '1',
    };
    const { values } = readServeOptions(['--port', '7001'], environment);
    expect(values).toEqual({ port: '7001', maxclients: '5', unprotected: true });
  });

  it('read the password from a file', () => {
    const args = ['--password-file', passwordFile];
    expect(readServeOptions(args, {}).values.password).toBe('from file');
    expect(readServeOptions(args, { HOLDFAST_PASSWORD: 'variable' }).values.password).toBe(
      'from file',
    );
    expect(readServeOptions([], { HOLDFAST_PASSWORD: 'variable' }).values.password).toBe(
      'variable',
    );
    expect(() => readServeOptions([...args, '--password', 'x'], {})).toThrow('not both');
    expect(() => readServeOptions(['--password-file', folder], {})).toThrow('EISDIR');
  });

  it.each([
    ['--port', '65536'],
    ['--port', 'x'],
    ['--maxclients', '0'],
    ['--notify-keyspace-events', '?'],
    ['--maxmemory', 'x'],
    ['--restart-grace', 'x'],
  ])('are checked: %s %s', async (flag, value) => {
    await using server = CliProcess.node(['serve', flag, value]);
    expect(await server.ended()).toBe(2);
    expect(server.text).toContain(`${flag} cannot be '${value}' (`);
  });

  it('take only a clear yes or no from the environment', () => {
    expect(readServeOptions([], { HOLDFAST_UNPROTECTED: 'no' }).values.unprotected).toBe(false);
    expect(() => readServeOptions([], { HOLDFAST_UNPROTECTED: 'maybe' })).toThrow('write 1 or 0');
  });
});

describe.runIf(process.platform === 'linux')('output', () => {
  const help = (where: string) => {
    const words = `'${process.execPath}' '${MAIN}' --help`;
    return spawnSync('bash', ['-c', `${words} ${where}; exit "\${PIPESTATUS[0]}"`]);
  };

  it('that cannot be written is an error, with exit code 1', () => {
    const { status, stderr } = help('>/dev/full');
    expect(String(stderr)).toBe('holdfast: the output cannot be written (ENOSPC).\n');
    expect(status).toBe(1);
  });

  it('into a closed pipe is no error', () => {
    const { status, stderr } = help('| true');
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' });
  });
});

describe('the address of a store', () => {
  it('has host, port, database, user and password', () => {
    expect(parseStoreAddress('redis://me:p%40ss@[::1]:7001/3')).toEqual({
      label: '[::1]:7001',
      socket: { host: '::1', port: 7001 },
      isSecure: false,
      user: 'me',
      password: 'p@ss',
      database: 3,
    });
    expect(parseStoreAddress('redis://localhost')).toMatchObject({
      socket: { host: 'localhost', port: 6379 },
      password: '',
      database: 0,
    });
    expect(parseStoreAddress('rediss://host')).toMatchObject({ isSecure: true });
    expect(() => parseStoreAddress('redis://host?db=3')).toThrow('no options after a ?');
    expect(parseStoreAddress('unix:/run/a%20b').socket).toEqual({ path: '/run/a b' });
  });

  it.each([
    ['http://host', "'http:' is not known"],
    ['127.0.0.1:6379', 'A store is redis://'],
    ['redis://host/one', 'A database is a number'],
    ['redis:user:secret@host', 'A database is a number'],
    ['redis://:%zz@host', '%25'],
  ])('is refused: %s', (address, message) => {
    expect(() => parseStoreAddress(address)).toThrow(message);
    expect(() => parseStoreAddress(address)).not.toThrow('secret');
  });
});
