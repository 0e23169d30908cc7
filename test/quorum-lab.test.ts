import { describe, expect, it } from 'vitest';
import { QUORUM_VARIANTS } from '../src/lab/index.ts';
import { runCli } from './cli-process.ts';
import { withinMs } from './within.ts';

describe('holdfast lab quorum', () => {
  it('prints the states of the scheme and a schedule for each broken variant', {
    timeout: withinMs(60_000),
  }, async () => {
    const { code, output } = await runCli(['lab', 'quorum']);
    const stdout = Buffer.from(output, 'latin1').toString('utf8');
    expect(code).toBe(0);
    for (const { name, about } of QUORUM_VARIANTS)
      expect(stdout).toContain(`\n${name}: ${about}\n`);
    expect(stdout).toMatch(/^scheme: .*\n {2}no failure in \d+ states$/m);
    expect(stdout).toMatch(/^no-confirm: .*\n {3}1 {2}A requests votes\n/m);
    expect(stdout.match(/^ {2}→ {3}fence \d+ is granted/gm)).toHaveLength(7);
  });
});
