import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliProcess, runCli } from './cli-process.ts';

/** Clears the screen, sets the title of the window, and rings. */
const ATTACK = '\x1b[2Jowned\x1b]0;title\x07\x9b2J';
const HARMLESS = /\\x1b\[2Jowned\\x1b\]0;title\\x07/;
/** Control characters, in output with one char for each byte. */
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f]|(?<![\xc2-\xf4][\x80-\xbf]{0,2})[\x80-\x9f]/;

const { PATH = '' } = process.env;

/** A server that sends the same reply to every write of a client. */
async function startHostile(reply: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write(reply, 'latin1'));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const COMMANDS: [string, ...string[]][] = [
  ['run', 'job', '-n', '--', 'true'],
  ['run', 'job', '-n', '--session', '--', 'true'],
  ['ls'],
  ['show', 'job'],
  ['release', 'job'],
  ['ls', '--foreign'],
  ['check'],
];

describe('the error of a hostile server', () => {
  it.each(COMMANDS)('is printed without control characters: %s %s %s', async (verb, ...words) => {
    const at = await startHostile(`-ERR ${ATTACK}\r\n`);
    const { errors } = await runCli([verb, '--store', `redis://${at}`, ...words], {
      environment: { PATH },
    });
    expect(errors).toMatch(HARMLESS);
    expect(errors).not.toMatch(CONTROLS);
  });

  it.each(COMMANDS)('is printed in part when it is long: %s %s %s', async (verb, ...words) => {
    const at = await startHostile(`-ERR ${'x'.repeat(60_000)}\r\n`);
    const { errors } = await runCli([verb, '--store', `redis://${at}`, ...words], {
      environment: { PATH },
    });
    expect(Buffer.from(errors, 'latin1').toString()).toMatch(/xxx … xxx/);
    expect(errors.length).toBeLessThan(1100);
  });

  it('is printed without control characters at sign-in and by SELECT: cli', async () => {
    const at = await startHostile(`-ERR ${ATTACK}\r\n`);
    const { errors } = await runCli(['cli', '--store', `redis://u:p@${at}/3`, 'GET', 'a']);
    expect(errors).toMatch(/^Could not sign in: ERR .*\nCould not select the database: ERR .*\n$/);
    expect(errors).toMatch(HARMLESS);
    expect(errors).not.toMatch(CONTROLS);
  });

  it('may name another server of a cluster, with control characters: show', async () => {
    const at = await startHostile('-MOVED 5 \x1b[2Jhost.invalid:1\r\n');
    const { errors } = await runCli(['show', 'job', '--store', `redis://${at}`]);
    expect(errors).toContain('\\x1b[2J');
    expect(errors).not.toMatch(CONTROLS);
  });
});

describe('a reply of another shape than expected', () => {
  it.each([
    ['*1\r\n:5\r\n'],
    ['*1\r\n*3\r\n:1\r\n:2\r\n:3\r\n'],
    ['*2\r\n$1\r\n0\r\n$3\r\n\x1b[A\r\n'],
    ['$4\r\n\x1b[2J\r\n'],
    [':1\r\n'],
    ['$-1\r\n'],
  ])('%j returns exit code 69, or is no lock', async (reply) => {
    const at = await startHostile(reply);
    for (const [verb, ...words] of COMMANDS.slice(2)) {
      const { code, output, errors } = await runCli([verb, '--store', `redis://${at}`, ...words]);
      expect([0, 1, 69]).toContain(code);
      expect(output + errors).not.toMatch(CONTROLS);
      if (code === 69) expect(errors).toMatch(/^holdfast: 127\.0\.0\.1:\d+ does not answer as/);
    }
  });
});

describe('replies of the right shape with control characters', () => {
  const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;
  const list = (...items: string[]): string => `*${items.length}\r\n${items.join('')}`;
  const key = list(...[ATTACK, '6', ATTACK, '-1', '', '1', '', ATTACK].map(bulk));
  const page = (text: string): string => list(bulk(text), bulk(''));
  const refused = list(bulk(''), bulk(ATTACK));
  /** The reply to each script, which is recognised by a command that only it has. */
  const REPLIES: readonly (readonly [command: string, reply: string])[] = [
    ['CLUSTER\r\n', '-ERR no cluster\r\n'],
    ["'SCAN'", list(bulk('0'), bulk('1'), list(key), bulk('3'), bulk(ATTACK))],
    ["'INFO'", list(page(`maxmemory_policy:${ATTACK}`), page(`role:${ATTACK}`), refused)],
    ["'TIME'", bulk('1')],
  ];

  it.each([['check'], ['ls', '--foreign'], ['ls', '--foreign', '-q']])(
    '%s %s %s',
    async (...words) => {
      const server = createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', (data) => {
          const [, reply] = REPLIES.find(([command]) => data.includes(command))!;
          socket.write(reply, 'latin1');
        });
      }).listen(0, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const args = [...words, '--store', `redis://127.0.0.1:${port}`];
      const { code, output, errors } = await runCli(args);
      expect([0, 1]).toContain(code);
      expect(output + errors).toMatch(HARMLESS);
      expect(output + errors).not.toMatch(CONTROLS);
    },
  );
});

describe('replies of holdfast cli', () => {
  const STATUS = `+${ATTACK}\r\n`;

  it.each([
    ['a status', STATUS],
    ['an error', `-ERR ${ATTACK}\r\n`],
    ['a verbatim text', `=${ATTACK.length + 4}\r\ntxt:${ATTACK}\r\n`],
    ['a value', `$${ATTACK.length}\r\n${ATTACK}\r\n`],
    ['an item', `*1\r\n${STATUS}`],
    ['a double', `,${ATTACK}\r\n`],
    ['a big number', `(${ATTACK}\r\n`],
  ])('have no control characters for people: %s', async (_kind, reply) => {
    const at = await startHostile(reply);
    const { output } = await runCli(['cli', '--no-raw', '--store', `redis://${at}`, 'GET', 'a']);
    expect(output).not.toMatch(CONTROLS);
  });

  it('have none in a page such as that of INFO either, which keeps its lines', async () => {
    const at = await startHostile(`$${ATTACK.length + 10}\r\n# Server\r\n${ATTACK}\r\n`);
    const { output } = await runCli(['cli', '--no-raw', '--store', `redis://${at}`, 'INFO']);
    expect(output).toBe('# Server\r\n\\x1b[2Jowned\\x1b]0;title\\x07\\x9b2J');
  });

  it('are bytes for programs, as those of redis-cli', async () => {
    const at = await startHostile(STATUS);
    const { output } = await runCli(['cli', '--store', `redis://${at}`, 'GET', 'a']);
    expect(output).toBe(`${ATTACK}\n`);
  });

  it('have none on a terminal where -e prints the error', async () => {
    const at = await startHostile(`-ERR ${ATTACK}\r\n`);
    const args = ['cli', '-e', '--raw', '--store', `redis://${at}`, 'GET', 'a'];
    await using cli = CliProcess.terminal(args, {});
    await cli.ended();
    expect(cli.text).toMatch(HARMLESS);
    expect(cli.text.replaceAll('\r\n', '\n')).not.toMatch(CONTROLS);
  });
});
