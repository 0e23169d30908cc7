import type { Clock, Timer } from '../../clock/index.ts';

/** Between two attempts to open the connection again. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5000;

/** A connection that receives the messages of one channel. */
export interface ListenConnection {
  /** Resolves when the connection has ended, or was closed: a server that is gone does not confirm the end. */
  readonly ended: Promise<unknown>;
  close(): void;
}

/** Opens a connection. Resolves when the server has confirmed LISTEN, and rejects if it does not in time. */
export type OpenListen = (
  channel: string,
  onMessage: (text: string) => void,
) => Promise<ListenConnection>;

export interface ListenerOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly channel: string;
  readonly open: OpenListen;
  onMessage(text: string): void;
  /** The connection is open: messages before that are lost. */
  onOpen(): void;
  /** The connection receives nothing, although messages were sent to it. */
  onDeaf(): void;
}

/**
 * Keeps one channel subscribed until it is closed: when the connection ends, or is deaf, it opens another. A connection
 * through a pooler in transaction mode accepts LISTEN and never receives a message, so only a message shows that it
 * works.
 */
export class Listener {
  readonly #options: ListenerOptions;
  #connection: ListenConnection | undefined;
  #lastMessageMs: number | undefined;
  #probeTimer: Timer | undefined;
  #pauseMs = MIN_PAUSE_MS;
  #isClosed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    void this.#run();
  }

  /** Whether a message has arrived on the open connection. */
  get isWorking(): boolean {
    return this.#connection !== undefined && this.#lastMessageMs !== undefined;
  }

  /** Whether the connection is open, and received no message for this time. */
  isSilentFor(durationMs: number): boolean {
    if (this.#connection === undefined) return false;
    const sinceMs = this.#lastMessageMs ?? Number.NEGATIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= durationMs;
  }

  /** A message was sent to the channel. If none arrives in time, the connection is closed and another one opened. */
  expectMessage(): void {
    if (this.#connection === undefined || this.#probeTimer !== undefined) return;
    const connection = this.#connection;
    this.#probeTimer = this.#options.clock.setTimer(this.#options.timeoutMs, () => {
      if (!this.isWorking) this.#options.onDeaf();
      connection.close();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#probeTimer?.cancel();
    this.#connection?.close();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#isClosed) {
      await this.#listen().catch(() => {});
      this.#ended();
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => clock.setTimer(this.#pauseMs, resolve));
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    }
  }

  /** Opens the connection, and resolves when it has ended. */
  async #listen(): Promise<void> {
    const { open, channel, onMessage, onOpen } = this.#options;
    const connection = await open(channel, (text) => {
      this.#received();
      onMessage(text);
    });
    if (this.#isClosed) {
      connection.close();
      return;
    }
    this.#connection = connection;
    onOpen();
    await connection.ended;
  }

  #received(): void {
    this.#lastMessageMs = this.#options.clock.monotonicMs();
    this.#pauseMs = MIN_PAUSE_MS;
    this.#probeTimer?.cancel();
    this.#probeTimer = undefined;
  }

  #ended(): void {
    this.#connection = undefined;
    this.#lastMessageMs = undefined;
    this.#probeTimer?.cancel();
    this.#probeTimer = undefined;
  }
}
