import { expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import type { LogEntry } from './log-entry.ts';
import { ThrottledLog } from './throttled-log.ts';

it('writes 100 lines a second, and then how many it has dropped', () => {
  const clock = virtualClock();
  const lines: string[] = [];
  const log = new ThrottledLog(clock, ({ message }) => lines.push(message));
  for (let count = 0; count < 250; count++) log.write(entry(`line ${count}`));
  expect(lines).toHaveLength(100);
  clock.advance(1000);
  log.write(entry('next'));
  expect(lines.slice(100)).toEqual(['150 more lines were dropped: too many in one second', 'next']);
});

function entry(message: string): LogEntry {
  return { level: 'notice', event: 'test', message };
}
