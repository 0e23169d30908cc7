import type { ServeValues } from '../serve-options.ts';

/** What the thread of the server needs to start. */
export interface ServerThreadData {
  readonly values: ServeValues;
  /** How long it takes no writes, because locks of the run before may still be held. */
  readonly graceMs: number;
}

/** From the thread of the server. */
export type ServerMessage =
  | { readonly kind: 'listening'; readonly addresses: readonly string[]; readonly port: number }
  /** It did not start; the text says what to do. */
  | { readonly kind: 'refused'; readonly message: string }
  /** A line for the log. */
  | { readonly kind: 'report'; readonly message: string }
  /** It has ended in order, and some lease may still be held for so long. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly leaseMs: number };

/** To the thread of the server. */
export type ServerOrder =
  | { readonly kind: 'stop' }
  | { readonly kind: 'password'; readonly password: string };
