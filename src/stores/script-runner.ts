import { createHash } from 'node:crypto';

/** Whatever can run a script on a Redis, and hear messages from it. */
export interface ScriptRunner {
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
  /** Hears one channel. `onGap` is called when messages may have been lost: after each reconnection. */
  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void>;
  /** In a cluster: which requests may travel together. Left out: all. */
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
