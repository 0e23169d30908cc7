import type { Script, ScriptRunner } from '../../client/index.ts';
import type { Clock } from '../../clock/index.ts';
import { RedisStore } from '../redis/redis-store.ts';
import { withAdvice } from '../redis/script-fault.ts';
import {
  ADMIT_SCRIPT,
  NODE_KEY,
  QUEUE_PREFIX,
  VOTE_SCRIPT,
  voteKeys,
  WAIT_KEY,
} from './node-script.ts';

export interface QuorumNodeSettings {
  readonly clock: Clock;
  readonly clientId: string;
  readonly requestTimeoutMs: number;
}

/** One server of the quorum. Each request has a reply or an error within the timeout. */
export class QuorumNode {
  /** For messages. */
  readonly label: string;
  /** An ordinary lock store on the same server, whose mutexes serve as queues. */
  readonly queue: RedisStore;
  /** Whether the last request had a reply. */
  isUp = true;
  readonly #scripts: ScriptRunner;
  readonly #clock: Clock;
  readonly #requestTimeoutMs: number;
  #isClosed = false;

  constructor(
    label: string,
    scripts: ScriptRunner,
    { clock, clientId, requestTimeoutMs }: QuorumNodeSettings,
  ) {
    this.label = label;
    this.#scripts = scripts;
    this.#clock = clock;
    this.#requestTimeoutMs = requestTimeoutMs;
    const keys = { prefix: QUEUE_PREFIX };
    this.queue = new RedisStore(scripts, { clock, clientId, requestTimeoutMs, keys });
  }

  /** Sends a request on a lock: see VOTE_SCRIPT. */
  vote(name: string, args: readonly (string | number)[]): Promise<unknown[]> {
    return this.run(VOTE_SCRIPT, voteKeys(name), args);
  }

  /** Reads or changes whether the node votes: see ADMIT_SCRIPT. */
  async admission(verb: string, ...args: readonly (string | number)[]): Promise<NodeState> {
    const keys = [NODE_KEY, WAIT_KEY];
    const reply = await this.run(ADMIT_SCRIPT, keys, [verb, ...args]);
    const [state, runId, max, waitMs, uptimeMs, leaseMs, size, place] = reply;
    return {
      status: String(state) as NodeState['status'],
      runId: String(runId),
      max: Number(max),
      waitMs: Number(waitMs),
      uptimeMs: Number(uptimeMs),
      leaseMs: Number(leaseMs),
      size: Number(size),
      place: Number(place),
    };
  }

  run(script: Script, keys: string[], args: readonly (string | number)[]): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        timer.cancel();
        this.isUp = false;
        reject(withAdvice(error));
      };
      const timer = this.#clock.setTimer(this.#requestTimeoutMs, () =>
        fail(new Error(`no answer within ${this.#requestTimeoutMs} ms`)),
      );
      if (this.#isClosed) return fail(new Error('the store was closed'));
      // The client may throw synchronously.
      new Promise((sent) => sent(this.#scripts.run(script, keys, args.map(String)))).then(
        (reply) => {
          timer.cancel();
          this.isUp = true;
          resolve(reply as unknown[]);
        },
        fail,
      );
    });
  }

  /** Also closes the connections that the node opened. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.queue.close();
  }
}

/** Whether a node votes. */
export interface NodeState {
  /** `out`: it started since it voted. `waiting`: leases from before may still run. `due`: they have ended. */
  readonly status: 'voting' | 'out' | 'waiting' | 'due';
  readonly runId: string;
  /** The largest fence that it knows. */
  readonly max: number;
  readonly waitMs: number;
  readonly uptimeMs: number;
  /** The longest lease that a client uses. */
  readonly leaseMs: number;
  /** The number of nodes of its quorum. 0: it was not admitted yet. */
  readonly size: number;
  /** Its place in the list of the client that admitted it, from 1 on. 0: it was not admitted yet. */
  readonly place: number;
}
