import { createHash } from 'node:crypto';

/** Runs scripts on a Redis server, and receives messages from it. */
export interface ScriptRunner {
  /** The runner has connections of its own, which do not keep the process alive while they are idle. */
  readonly ownsConnections?: true;
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Subscribes to one channel. `onGap` is called when messages may have been lost: after each reconnection. `onLost`
   * is called when the connection has ended, before the reconnection.
   */
  listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
    onLost?: () => void,
  ): Promise<void>;
  /** The cluster slot of a key: one call has keys of one slot. Left out: the server is no cluster. */
  slotOf?(key: string): number;
  close(): Promise<void>;
}

export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Scripts that the server runs when the session of this client ends. */
export interface ExitCommands {
  setExit(name: string, script: Script, key: string, args: readonly string[]): Promise<void>;
  dropExit(name: string): Promise<void>;
}

/** Whether a script failed because a key has another type. Other errors do not depend on the key. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && /\bWRONGTYPE\b/.test(error.message);
}
