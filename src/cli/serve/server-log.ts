import { systemClock } from '../../clock/index.ts';
import type { LogEntry } from '../../server/index.ts';
import { messageText, safeJson } from '../printable.ts';
import type { Io } from '../verb.ts';

/** Writes the log of the server to stderr. */
export class ServerLog {
  readonly isJson: boolean;
  readonly #errors: Io['errors'];

  /** `format` is the value of --log-format. The server refuses other words than text and json. */
  constructor({ errors }: Io, format = 'text') {
    this.#errors = errors;
    this.isJson = format.toLowerCase() === 'json';
  }

  write(entry: LogEntry): void {
    this.#errors.write(`${logLine(entry, systemClock.wallMs(), this.isJson)}\n`);
  }

  notice(event: string, message: string): void {
    this.write({ level: 'notice', event, message });
  }

  warn(event: string, message: string): void {
    this.write({ level: 'warning', event, message });
  }
}

/** One line of the log, without its line feed: text for people, or JSON for programs. */
export function logLine(entry: LogEntry, wallMs: number, isJson: boolean): string {
  const time = new Date(wallMs).toISOString();
  const { level, event, fields = {} } = entry;
  const message = messageText(entry.message);
  return isJson ? safeJson({ time, level, event, message, fields }) : `${time} ${message}`;
}
