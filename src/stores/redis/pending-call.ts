import type { Script } from '../../client/index.ts';
import { Scheduled } from '../../lock/index.ts';
import type { LockCall } from './lock-call.ts';
import type { SentTimes } from './lock-waiters.ts';

/** Converts the reply to one request. */
export type Parse<Result> = (reply: unknown, sent: SentTimes) => Result;

/** A call, and the callbacks for its result. */
export interface PendingCall extends LockCall {
  readonly parse: Parse<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  /** Whether the call may take the lock or enter its queue. */
  readonly acquires: boolean;
  /** Receives the fence of a grant whose reply arrived after the timeout. */
  readonly onLate: ((fence: number, sent: SentTimes) => void) | undefined;
}

export function pendingCall<Result>(
  { key, operation, token, number }: LockCall,
  parse: Parse<Result>,
  resolve: (result: Result) => void,
  reject: (error: unknown) => void,
  acquires: boolean,
  onLate?: PendingCall['onLate'],
): PendingCall {
  return { key, operation, token, number, parse, resolve, reject, acquires, onLate };
}

/** If the reply cannot be parsed, only this call is rejected. */
export function settle(
  { parse, resolve, reject }: PendingCall,
  reply: unknown,
  sent: SentTimes,
): void {
  try {
    resolve(parse(reply, sent) as never);
  } catch (error) {
    reject(error);
  }
}

export function failAll(calls: readonly PendingCall[], error: unknown): void {
  for (const { reject } of calls) reject(error);
}

/** Splits calls into groups: `all` with its `also` calls, and each other call alone. */
export function groupsOf(calls: readonly PendingCall[]): PendingCall[][] {
  const groups: PendingCall[][] = [];
  for (const call of calls) {
    if (call.operation.startsWith('also')) groups.at(-1)!.push(call);
    else groups.push([call]);
  }
  return groups;
}

/** The requests of one call, until its reply arrives or it times out. */
export class SentBatch extends Scheduled<SentBatch> {
  readonly calls: readonly PendingCall[];
  readonly times: SentTimes;
  readonly lossCount: number;
  readonly sessionId: string | undefined;
  readonly script: Script;
  isOver = false;

  constructor(
    calls: readonly PendingCall[],
    times: SentTimes,
    lossCount: number,
    sessionId: string | undefined,
    script: Script,
  ) {
    super();
    this.calls = calls;
    this.times = times;
    this.lossCount = lossCount;
    this.sessionId = sessionId;
    this.script = script;
  }

  fail(error: unknown): void {
    this.unschedule();
    if (this.isOver) return;
    this.isOver = true;
    failAll(this.calls, error);
  }
}
