/** In the order of `loglevel`, the lowest first. */
export const LOG_LEVELS = ['debug', 'verbose', 'notice', 'warning'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** One line of the log. */
export interface LogEntry {
  readonly level: LogLevel;
  /** A short constant name, for filters: `client-closed`. */
  readonly event: string;
  /** One sentence for people. */
  readonly message: string;
  /** The variable parts of the message. */
  readonly fields?: Readonly<Record<string, string | number>>;
}
