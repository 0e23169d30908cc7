import type { LogEntry } from '../../server/index.ts';
import { messageText, safeJson } from '../printable.ts';

/** One line of the log, without its line feed: text for people, or JSON for programs. */
export function logLine(entry: LogEntry, wallMs: number, format = 'text'): string {
  const time = new Date(wallMs).toISOString();
  const { level, event, fields = {} } = entry;
  const message = messageText(entry.message);
  return format === 'json'
    ? safeJson({ time, level, event, message, fields })
    : `${time} ${message}`;
}
