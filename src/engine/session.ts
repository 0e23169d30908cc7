import type { Protocol, Reply } from '../resp/index.ts';
import type { Waiter } from './blocking.ts';
import { ClientMemory } from './client-memory.ts';
import type { Command } from './command.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';

/** What a session says without being asked. All of it is called from inside the engine's own turn. */
export interface SessionListener {
  /** A message that answers no command: pub/sub, MONITOR. */
  push(reply: Reply): void;
  /** The answer of a command that had been parked. The session takes commands again. */
  resume(reply: Reply): void;
  /** Somebody ended this session (CLIENT KILL); what was written before still counts. */
  close(): void;
  /** The session takes too much memory: close it at once, unread replies and all. */
  evict?(reason: string): void;
}

export interface QueuedCommand {
  readonly command: Command;
  readonly argv: readonly string[];
}

/** One client: its selected database, its transaction, its subscriptions and what is known of it. */
export class Session {
  readonly engine: Engine;
  readonly id: number;
  readonly createdMs: number;
  readonly listener: SessionListener;
  readonly memory: ClientMemory;
  database: Database;
  protocol: Protocol = 2;
  authenticated: boolean;

  /** Commands since MULTI; null outside of a transaction. */
  queue: QueuedCommand[] | null = null;
  /** A command could not be queued, so that EXEC must refuse. */
  queueBroken = false;
  readonly watched = new Map<Database, Set<string>>();
  watchBroken = false;

  readonly channels = new Set<string>();
  readonly patterns = new Set<string>();
  readonly shardChannels = new Set<string>();
  monitoring = false;

  /** What the session waits for; null unless it is parked. */
  waiter: Waiter | null = null;
  /** Inside EXEC and scripts nothing may wait. */
  mayPark = true;
  /** The session that a script's commands run in, not a client. */
  isScript = false;

  name = '';
  libraryName = '';
  libraryVersion = '';
  address = '';
  localAddress = '';
  noEvict = false;
  noTouch = false;
  /**
   * CLIENT REPLY, for whoever writes the replies: `off` drops them; `skip-next` becomes `skip` when the
   * next command begins; `skip` drops that command's reply and then becomes `on`. Pushes always pass.
   */
  replies: 'on' | 'off' | 'skip' | 'skip-next' = 'on';
  /** The connection ends after the reply that is being written (QUIT, CLIENT KILL of oneself). */
  closing = false;
  lastCommand = 'NULL';
  lastUsedMs: number;
  closed = false;

  constructor(engine: Engine, id: number, listener: SessionListener) {
    this.engine = engine;
    this.id = id;
    this.listener = listener;
    this.memory = new ClientMemory(engine.memory.clients, (reason) => listener.evict?.(reason));
    this.database = engine.database(0);
    this.authenticated = !engine.needsPassword;
    this.createdMs = engine.clock.monotonicMs();
    this.lastUsedMs = this.createdMs;
  }

  get subscriptionCount(): number {
    return this.channels.size + this.patterns.size + this.shardChannels.size;
  }

  /** Adds a command to the transaction that MULTI began. */
  enqueue(queued: QueuedCommand): void {
    this.queue!.push(queued);
    this.memory.add('queue', argumentBytes(queued.argv));
  }

  unwatchAll(): void {
    for (const [database, keys] of this.watched) {
      for (const key of keys) database.unwatch(key, this);
    }
    this.watched.clear();
    this.memory.set('watches', 0);
    this.watchBroken = false;
  }

  discardTransaction(): void {
    this.queue = null;
    this.memory.set('queue', 0);
    this.queueBroken = false;
    this.unwatchAll();
  }

  /** RESET: as if the client had just connected. */
  reset(): void {
    const { engine } = this;
    this.discardTransaction();
    engine.pubSub.leave(this);
    engine.monitors.delete(this);
    this.monitoring = false;
    engine.wills.end(this);
    this.database = engine.database(0);
    this.protocol = 2;
    this.authenticated = !engine.needsPassword;
    this.name = '';
    this.replies = 'on';
    this.noEvict = false;
    this.noTouch = false;
  }

  /** Leaves everything that the session had joined. Safe to call twice. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.discardTransaction();
    this.waiter?.leave();
    this.engine.forget(this);
    this.memory.close();
  }
}
