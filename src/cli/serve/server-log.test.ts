import { expect, it } from 'vitest';
import type { LogEntry } from '../../server/index.ts';
import { logLine } from './server-log.ts';

const entry: LogEntry = {
  level: 'warning',
  event: 'client-closed',
  message: 'closed 1.2.3.4:5: \x1b[31m"evil"\n',
  fields: { address: '1.2.3.4:5', bytes: 7 },
};

it('writes one line of text without control characters', () => {
  expect(logLine(entry, 0, false)).toBe(
    '1970-01-01T00:00:00.000Z closed 1.2.3.4:5: \\x1b[31m"evil"\\n',
  );
});

it('writes one line of JSON with time, level, event, message and fields', () => {
  const line = logLine(entry, 0, true);
  expect(line).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    time: '1970-01-01T00:00:00.000Z',
    level: 'warning',
    event: 'client-closed',
    message: 'closed 1.2.3.4:5: \\x1b[31m"evil"\\n',
    fields: { address: '1.2.3.4:5', bytes: 7 },
  });
});
