import { expect, it } from 'vitest';
import { commandHelp } from './command-help.ts';
import { PLAIN } from './paint.ts';

const help = (...words: string[]): string => commandHelp(words, PLAIN);

it('shows the history of a command', () => {
  expect(help('SET')).toContain(`
  complexity: O(1); with a time to live O(log(N)) here, for N keys with a deadline
  history:
    2.6.12: Options NX, XX, EX and PX
    6.0.0: Option KEEPTTL
    6.2.0: Options GET, EXAT and PXAT
    7.0.0: NX and GET may stand together
`);
});

it('shows since when a command is deprecated, and what replaces it', () => {
  expect(help('getset')).toContain('\n  deprecated: since 6.2.0, use SET with GET\n');
  expect(help('setnx')).not.toContain('deprecated');
});

it('leaves out a complexity that is not given', () => {
  expect(help('monitor')).not.toContain('complexity');
});
