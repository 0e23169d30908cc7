import type { ServeValues } from '../serve-options.ts';

/** The start data of the server thread. */
export interface ServerThreadData {
  readonly values: ServeValues;
}

/** Messages of the server thread. */
export type ServerMessage =
  | { readonly kind: 'listening'; readonly addresses: readonly string[]; readonly port: number }
  /** The server did not start. The text says what to do. */
  | { readonly kind: 'refused'; readonly message: string; readonly isUsage: boolean }
  /** A line for the log. */
  | { readonly kind: 'report'; readonly message: string }
  /** The server has ended regularly. */
  | { readonly kind: 'ended'; readonly exitCode: number };

/** Messages to the server thread. */
export type ServerOrder =
  /** Listens. The mark is a file, see RunMark; `graceMs` is how long an earlier one counts. */
  | { readonly kind: 'start'; readonly mark: string | undefined; readonly graceMs: number }
  | { readonly kind: 'stop' }
  | { readonly kind: 'password'; readonly password: string };
