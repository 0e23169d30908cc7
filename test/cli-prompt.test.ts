import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { type Server, startServer } from '../src/server/index.ts';
import { CliProcess } from './cli-process.ts';

let home: string;
let engine: Engine;
let server: Server;
let cli: CliProcess;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-home-'));
  engine = createEngine();
  server = await startServer({ engine, port: 0 });
  cli = openTerminal();
});
afterEach(async () => {
  await cli[Symbol.asyncDispose]();
  await server.close();
  engine.close();
  rmSync(home, { recursive: true });
});

function openTerminal(): CliProcess {
  return CliProcess.terminal(['cli', '--store', `redis://127.0.0.1:${server.port}`], {
    HOME: home,
  });
}

const PROMPT = /^(?:127\.0\.0\.1:\d+\S*|not connected)> $/m;

/** Types a line at the prompt. Returns the output up to the next prompt, and that prompt. */
async function ask(line: string): Promise<{ shown: string; prompt: string }> {
  await cli.waitFor(new RegExp(`${PROMPT.source}$`, 'm'));
  const start = cli.screen.length;
  cli.type(`${line}\r`);
  const match = await cli.waitFor(/^[\s\S]*?\n([\s\S]*?)^(\S+(?: connected)?> )$/m, start);
  return { shown: match[1]!, prompt: match[2]!.replace(`127.0.0.1:${server.port}`, '') };
}

describe('the dialogues that SETNX is explained by', () => {
  it('come out to the letter', async () => {
    const dialogue = [
      ['EXISTS job', '(integer) 0\n'],
      ['SETNX job "programmer"', '(integer) 1\n'],
      ['SETNX job "code-farmer"', '(integer) 0\n'],
      ['GET job', '"programmer"\n'],
      ['SETNX mykey "hello"', '(integer) 1\n'],
      ['SETNX mykey "hello2"', '(integer) 0\n'],
      ['GET mykey', '"hello"\n'],
      ['GETSET fresh "value1"', '(nil)\n'],
      ['GETSET fresh "value2"', '"value1"\n'],
      ['set Test uuid NX PX 3000', 'OK\n'],
      ['set Test uuid NX PX 3000', '(nil)\n'],
      ['setnx', "(error) ERR wrong number of arguments for 'setnx' command\n"],
    ] as const;
    for (const [line, reply] of dialogue) expect((await ask(line)).shown, line).toBe(reply);
  });
});

describe('the prompt', () => {
  it('shows the database and the transaction', async () => {
    const prompts = [
      ['SELECT 2', '[2]> '],
      ['MULTI', '[2](TX)> '],
      ['SELECT 3', '[3](TX)> '],
      ['DISCARD', '[2]> '],
      ['MULTI', '[2](TX)> '],
      ['SELECT 4', '[4](TX)> '],
      ['EXEC', '[4]> '],
      ['MULTI', '[4](TX)> '],
      ['nosuch', '[4](TX)> '],
      ['EXEC', '[4]> '],
      ['SELECT 99', '[4]> '],
      ['SELECT 0', '> '],
    ] as const;
    for (const [line, prompt] of prompts) expect((await ask(line)).prompt, line).toBe(prompt);
  });

  it('listens after SUBSCRIBE until Ctrl-C, then takes commands again', async () => {
    await ask('SELECT 1');
    cli.type('SUBSCRIBE news\r');
    await cli.waitFor(/^Reading messages\.\.\. \(press Ctrl-C to quit\)\n1\) "subscribe"/m);
    execute(engine.session(), ['PUBLISH', 'news', 'first']);
    await cli.waitFor(/^1\) "message"\n2\) "news"\n3\) "first"\n/m);
    const start = cli.screen.length;
    cli.type('\x03');
    await cli.waitFor(/^127\S+\[1\]> $/m, start);
    expect(await ask('PING')).toEqual({ shown: 'PONG\n', prompt: '[1]> ' });
  });

  it('listens after MONITOR, too', async () => {
    await ask('PING');
    cli.type('MONITOR\r');
    await cli.waitFor(/^OK\n$/m);
    execute(engine.session(), ['SETNX', 'job', 'mine']);
    await cli.waitFor(/^\d+\.\d{6} \[0 .*\] "SETNX" "job" "mine"$/m);
  });

  it('stops a blocked command at Ctrl-C', async () => {
    await ask('PING');
    cli.type('BLPOP list 0\r');
    await cli.waitFor(/BLPOP list 0\n/);
    const start = cli.screen.length;
    cli.type('\x03');
    await cli.waitFor(/^127\S+> $/m, start);
    expect((await ask('PING')).shown).toBe('PONG\n');
  });

  it('says that the connection was lost, and connects again for the next command', async () => {
    await ask('SET key value');
    const { port } = server;
    await server.close();
    await cli.waitFor(
      /The connection was lost\. The next command connects again\.\nnot connected> $/m,
    );
    expect((await ask('GET key')).shown).toMatch(
      /^Could not connect to .+ \(ECONNREFUSED\)\. Start/,
    );
    server = await startServer({ engine, port });
    expect(await ask('GET key')).toEqual({ shown: '"value"\n', prompt: '> ' });
  });

  it('completes names at Tab, then shows the arguments', async () => {
    await ask('PING');
    cli.type('SETN\t');
    await cli.waitFor(/> SETNX $/m);
    cli.type('\t');
    await cli.waitFor(/SETNX key value\n127\S+> SETNX $/m);
    cli.type('job mine\r');
    await cli.waitFor(/^\(integer\) 1$/m);
  });

  it('explains commands', async () => {
    const { shown } = await ask('help setnx');
    expect(shown).toMatch(
      /^\n {2}SETNX key value\n {2}summary: .+\n {2}since: 1\.0\.0\n {2}group: string\n {2}complexity: O\(1\)\n\n?$/,
    );
  });

  it.each(['exit\r', 'quit\r', '\x04', '\x03'])('ends at %j', async (typed) => {
    await ask('PING');
    cli.type(typed);
    expect(await cli.ended()).toBe(0);
  });

  it('colours errors unless NO_COLOR is set', async () => {
    await ask('nosuch');
    expect(cli.text).not.toContain('\x1b[31m');
    const args = ['cli', '--store', `redis://127.0.0.1:${server.port}`, 'nosuch'];
    await using coloured = CliProcess.terminal(args, { HOME: home, NO_COLOR: '' });
    await coloured.ended();
    expect(coloured.text).toContain('\x1b[31m(error) ERR unknown command');
  });
});

describe('the history', () => {
  const path = (): string => join(home, '.holdfast_history');

  it('is kept for the owner alone, and never with a password', async () => {
    for (const line of [
      'SET key value',
      'AUTH secret',
      'auth "secret',
      'HELLO 3 AUTH default secret',
      'CONFIG SET requirepass secret',
      'CONFIG SET requirepass ""',
      'AUTHsecret',
      'GET author:hello',
    ]) {
      await ask(line);
    }
    expect(readFileSync(path(), 'utf8')).toBe('SET key value\nGET author:hello\n');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    // Nor does the arrow key bring one back.
    const start = cli.screen.length;
    cli.type('\x1b[A\x1b[A');
    await cli.waitFor(/> SET key value$/m, start);
  });

  it('comes back the next time', async () => {
    await cli[Symbol.asyncDispose]();
    writeFileSync(path(), 'GET old\n');
    cli = openTerminal();
    await ask('PING');
    const start = cli.screen.length;
    cli.type('\x1b[A\x1b[A');
    await cli.waitFor(/> GET old$/m, start);
  });
});
