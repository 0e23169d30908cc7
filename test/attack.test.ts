import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';
import { withinMs } from './within.ts';

const runFile = promisify(execFile);
const SCRIPT = join(ROOT, 'scripts/attack/main.js');
/** Longer than an attack and its server take. A server that hangs is killed after a minute. */
const TIMEOUT_MS = withinMs(100_000);
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

interface Result {
  readonly name: string;
  readonly faults: readonly string[];
}

/** Runs attacks of `scripts/attack`. Returns the exit code and the failures by name. */
async function attack(
  ...args: string[]
): Promise<{ code: number; faults: Record<string, string> }> {
  const { code, stdout } = await runFile(
    process.execPath,
    [SCRIPT, '--no-redis', '--seconds', '4', '--json', ...args],
    { maxBuffer: MAX_OUTPUT_BYTES },
  ).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  const results = JSON.parse(stdout) as Result[];
  return { code, faults: Object.fromEntries(results.map((r) => [r.name, r.faults.join('; ')])) };
}

describe('hostile clients', () => {
  // The rows with `quick`. All attacks run with `npm run attack`, beside redis-server.
  const quick = execFileSync(process.execPath, [SCRIPT, '--list', '--only', 'quick'], {
    encoding: 'utf8',
  });
  const names = [...quick.matchAll(/^\S+ +(\S+)/gm)].map(([, name]) => name!);

  it.each(names)(
    'do not crash, stall or fill the server: %s',
    { timeout: TIMEOUT_MS },
    async (name) => {
      expect(await attack('--only', name)).toEqual({ code: 0, faults: { [name]: '' } });
    },
  );

  it('get errors when a heap of 128 MB is full', { timeout: TIMEOUT_MS }, async () => {
    const name = 'fill-set-64-kb';
    const { faults } = await attack('--only', name, '--heap', '128');
    expect(faults).toEqual({ [name]: '' });
  });
});

describe('the attack suite', () => {
  it('detects a crash, a stall, bytes of another client and a closed client', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { code, faults } = await attack('--only', 'control');
    expect(code).toBe(1);
    expect(faults).toEqual({
      'control-kill': 'the server ended: SIGKILL',
      'control-stop': 'stall over 1000 ms',
      'control-foreign-bytes': expect.stringMatching(/^\d+ foreign bytes: .*of another client/),
      'control-kill-innocent': 'the innocent client was closed',
    });
  });
});
