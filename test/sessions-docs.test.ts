import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from './cli-process.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';

const text = readFileSync(join(ROOT, 'docs', 'sessions.md'), 'utf8');

function blocks(language: string): string[] {
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
  return [...found].map(([, code]) => code!);
}

let server: RunningServer;

beforeAll(async () => {
  server = await startHoldfast();
});

afterAll(async () => {
  await server.stop();
});

describe('the guide to sessions', () => {
  it.each(blocks('ts').map((code) => [code]))(
    'has programs that print what their comments say',
    async (code) => {
      const folder = mkdtempSync('/tmp/holdfast-docs-');
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const program = join(folder, 'program.mjs');
      const placed = code
        .replace("'holdfast/local'", `'${new URL('./public/local.js', BUILD)}'`)
        .replace("'holdfast'", `'${BUILD}'`)
        .replace(':6379', `:${server.port}`);
      writeFileSync(program, placed);
      const env = { HOLDFAST_RUNTIME_DIR: join(folder, 'run'), HOLDFAST_LOCAL_IDLE_MS: '100' };
      const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
      const promised = [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, output]) => `${output}\n`);
      expect(stdout).toBe(promised.join(''));
    },
  );

  it('shows the replies of the commands', async () => {
    const clients = new Map<string, Redis>();
    const clientOf = (name: string): Redis => {
      const known = clients.get(name) ?? new Redis(server);
      clients.set(name, known);
      return known;
    };
    const lines = blocks('text')[0]!.trimEnd().split('\n');
    for (const [index, line] of lines.entries()) {
      const [, name, command] = /^(\w)> (.*)$/.exec(line) ?? [];
      if (line === "A's connection ends") await clientOf('A').quit();
      else if (name !== undefined) {
        expect(await replyTo(clientOf(name), command!.split(' '))).toBe(lines[index + 1]);
      }
    }
    expect(clients.size).toBe(3);
    for (const client of clients.values()) client.disconnect();
  });
});

async function replyTo(client: Redis, [name, ...args]: string[]): Promise<unknown> {
  const reply = await client.call(name!, args).catch(({ message }: Error) => message);
  return reply ?? '(nil)';
}
