import { createHash } from 'node:crypto';
import type { Hearer } from '../lock/index.ts';

/** Whatever can run a script on a Redis, and hear messages from it. */
export interface ScriptRunner {
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
  /** The same, without the turns that a promise takes to tell. */
  runAndTell?(script: Script, keys: string[], args: string[], hearer: Hearer<unknown>): void;
  /** Hears one channel. `onGap` is called when messages may have been lost: after each reconnection. */
  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void>;
  /** In a cluster: which requests may travel together. Left out: all. */
  slotOf?(key: string): number;
  /** Calls back when all locks are lost; where they can end with something other than their lease. */
  onLost?(listener: (reason: Error) => void): void;
  /** The lock of this key and owner is no longer to end with this program. */
  disown?(key: string, owner: string): Promise<void>;
  /** Where the server learns of the end of this program: it then runs the script, unless that is taken back. */
  leaveWill?(name: string, script: Script, key: string, args: readonly string[]): Promise<void>;
  takeBackWill?(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Tells what a promise comes to. */
export function tell(hearer: Hearer<unknown>, promise: Promise<unknown>): void {
  promise.then(
    (result) => hearer.answered(result),
    (error: unknown) => hearer.failed(error),
  );
}

export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
