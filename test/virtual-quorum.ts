import type { ScriptRunner } from '../src/client/index.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { Locks } from '../src/lock/index.ts';
import { engineRunner } from '../src/stores/index.ts';
import { QuorumLocks } from '../src/stores/quorum/quorum-locks.ts';
import { QuorumNode } from '../src/stores/quorum/quorum-node.ts';

export interface VirtualQuorumOptions {
  readonly nodeCount?: number;
  readonly maxLeaseMs?: number;
  /** The longest time that a message takes, one way. Default 0: requests are executed at once. */
  readonly maxDelayMs?: number;
  /** Whether messages arrive in the order in which they were sent, as on one connection. Default true. */
  readonly keepsOrder?: boolean;
  readonly random?: Random;
}

/** A quorum of engines in this process, on a virtual clock. */
export class VirtualQuorum {
  readonly clock: VirtualClock = virtualClock();
  readonly nodes: readonly VirtualNode[];
  readonly random: Random;
  readonly #maxLeaseMs: number;
  readonly #maxDelayMs: number;
  readonly #keepsOrder: boolean;
  #clientCount = 0;

  constructor(options: VirtualQuorumOptions = {}) {
    const { nodeCount = 3, maxLeaseMs = 1000, maxDelayMs = 0 } = options;
    const { keepsOrder = true, random = seededRandom(1) } = options;
    this.random = random;
    this.#maxLeaseMs = maxLeaseMs;
    this.#maxDelayMs = maxDelayMs;
    this.#keepsOrder = keepsOrder;
    this.nodes = Array.from({ length: nodeCount }, () => new VirtualNode(this.clock));
  }

  open(nodes: readonly VirtualNode[] = this.nodes, maxLeaseMs = this.#maxLeaseMs): QuorumLocks {
    const { clock, random } = this;
    const settings = { clock, clientId: `client${++this.#clientCount}`, requestTimeoutMs: 200 };
    const quorumNodes = nodes.map(
      (node, index) => new QuorumNode(`node ${index + 1}`, this.#runner(node), settings),
    );
    return new QuorumLocks(quorumNodes, { ...settings, random, maxLeaseMs });
  }

  openLocks(): Locks {
    return new Locks({
      store: this.open(),
      clock: this.clock,
      random: this.random,
      telemetry: false,
    });
  }

  #runner(node: VirtualNode): ScriptRunner {
    const listeners: Listener[] = [];
    const [requests, replies, messages] = [this.#way(), this.#way(), this.#way()];
    return {
      run: async (...call) => {
        await requests();
        const reply = await node.run(...call);
        await replies();
        return reply;
      },
      listen: async (channel, onMessage, onGap) => {
        const deliver = (text: string): void => void messages().then(() => onMessage(text));
        const listener = { channel, onMessage: deliver, onGap };
        listeners.push(listener);
        await node.listen(listener);
      },
      close: async () => node.unlisten(listeners),
    };
  }

  /** One way of a connection: resolves when a message that is sent now arrives. */
  #way(): () => Promise<void> {
    let lastMs = 0;
    return async () => {
      if (this.#maxDelayMs === 0) return;
      const nowMs = this.clock.monotonicMs();
      const dueMs = nowMs + this.random.next() * this.#maxDelayMs;
      lastMs = this.#keepsOrder ? Math.max(dueMs, lastMs) : dueMs;
      const delayMs = lastMs - nowMs;
      await new Promise<void>((resolve) => this.clock.setTimer(delayMs, resolve));
    };
  }
}

interface Listener {
  readonly channel: string;
  readonly onMessage: (text: string) => void;
  readonly onGap: () => void;
}

/** A server that can stop replying, and restart without its data. */
export class VirtualNode {
  isDown = false;
  readonly #clock: VirtualClock;
  readonly #listeners = new Set<Listener>();
  #engine: Engine;
  #runner: ScriptRunner;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    [this.#engine, this.#runner] = started(clock);
  }

  /** Never replies while the server is down. */
  async run(...call: Parameters<ScriptRunner['run']>): Promise<unknown> {
    if (this.isDown) return new Promise(() => {});
    return this.#runner.run(...call);
  }

  async listen(listener: Listener): Promise<void> {
    this.#listeners.add(listener);
    const onMessage = (text: string): void => {
      if (!this.isDown && this.#listeners.has(listener)) listener.onMessage(text);
    };
    await this.#runner.listen(listener.channel, onMessage, listener.onGap);
  }

  unlisten(listeners: readonly Listener[]): void {
    for (const listener of listeners) this.#listeners.delete(listener);
  }

  restart(): void {
    this.#engine.close();
    [this.#engine, this.#runner] = started(this.#clock);
    this.isDown = false;
    for (const listener of this.#listeners) {
      void this.listen(listener);
      listener.onGap();
    }
  }

  close(): void {
    this.#engine.close();
  }
}

let startCount = 0;

/** Each start has a seed of its own, and so a run id of its own. */
function started(clock: VirtualClock): [Engine, ScriptRunner] {
  const engine = createEngine({ clock, random: seededRandom(++startCount) });
  return [engine, engineRunner(engine)];
}
