import { expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { ThrottledLog } from './throttled-log.ts';

it('writes 100 lines a second, and then how many it has dropped', () => {
  const clock = virtualClock();
  const lines: string[] = [];
  const log = new ThrottledLog(clock, (line) => lines.push(line));
  for (let count = 0; count < 250; count++) log.write(`line ${count}`);
  expect(lines).toHaveLength(100);
  clock.advance(1000);
  log.write('next');
  expect(lines.slice(100)).toEqual(['150 more lines were dropped: too many in one second', 'next']);
});
