import type { LogEntry } from '../../server/index.ts';
import type { ServeInput } from '../serve-options.ts';
import type { ServerFacts } from './banner.ts';

/** The start data of the server thread. */
export type ServerThreadData = ServeInput;

/** Messages of the server thread. */
export type ServerMessage =
  | { readonly kind: 'listening'; readonly facts: ServerFacts }
  /** The server did not start. The text says what to do, after the lines of `details`. */
  | {
      readonly kind: 'refused';
      readonly message: string;
      readonly details: readonly string[];
      readonly isUsage: boolean;
    }
  /** The reply to the command of the page with this id, encoded; null if it is too large. */
  | { readonly kind: 'reply'; readonly id: number; readonly bytes: Uint8Array | null }
  /** A line for the log. */
  | { readonly kind: 'log'; readonly entry: LogEntry }
  /** The server has ended regularly. */
  | { readonly kind: 'ended'; readonly exitCode: number };

/** Messages to the server thread. */
export type ServerOrder =
  /** Listens. The mark is a file, see RunMark; `graceMs` is how long an earlier one counts. */
  | { readonly kind: 'start'; readonly mark: string | undefined; readonly graceMs: number }
  | { readonly kind: 'stop' }
  /** A command of the page. */
  | { readonly kind: 'command'; readonly id: number; readonly argv: readonly string[] }
  | { readonly kind: 'password'; readonly password: string }
  /** Reads the files of the certificate again. */
  | { readonly kind: 'reload-certificate' };
