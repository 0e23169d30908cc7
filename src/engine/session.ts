import type { Protocol, Reply } from '../resp/index.ts';
import type { User } from './acl/user.ts';
import type { BlockedCommand } from './blocking.ts';
import { ClientMemory } from './client-memory.ts';
import type { Command } from './command.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';

/** Receives what a session sends outside of `execute`. The engine calls it synchronously, inside of a unit of work. */
export interface SessionListener {
  /** A message that is not a reply: pub/sub, MONITOR. */
  push(reply: Reply): void;
  /** The reply of a blocked command. The session accepts commands again. */
  resume(reply: Reply): void;
  /** Another session ended this one (CLIENT KILL). Replies that were written before must still be sent. */
  close(): void;
  /** The session uses too much memory. Close it at once and drop unread replies. */
  evict?(reason: string): void;
}

export interface QueuedCommand {
  readonly command: Command;
  readonly argv: readonly string[];
}

/** The state of one client connection: selected database, transaction, subscriptions, name and address. */
export class Session {
  readonly engine: Engine;
  readonly id: number;
  readonly createdMs: number;
  readonly listener: SessionListener;
  readonly memory: ClientMemory;
  database: Database;
  protocol: Protocol = 2;
  authenticated: boolean;
  /** The user whose rights apply; `default` until the client signs in. */
  user: User;

  /** The queued commands of a transaction; null outside of MULTI. */
  queue: QueuedCommand[] | null = null;
  /** A command could not be queued: EXEC fails. */
  queueBroken = false;
  readonly watched = new Map<Database, Set<string>>();
  /** A watched key was changed: EXEC runs nothing. */
  watchBroken = false;

  readonly channels = new Set<string>();
  readonly patterns = new Set<string>();
  readonly shardChannels = new Set<string>();
  monitoring = false;

  /** The command that is blocked, or null. */
  blockedCommand: BlockedCommand | null = null;
  /** False inside of EXEC and scripts, where no command may block. */
  mayBlock = true;
  /** True for the session that runs the commands of scripts. */
  isScript = false;

  name = '';
  libraryName = '';
  libraryVersion = '';
  address = '';
  localAddress = '';
  noEvict = false;
  noTouch = false;
  /**
   * The mode of CLIENT REPLY, which the server applies. `off` drops replies. `skip-next` becomes `skip` when the
   * next command begins. `skip` drops that command's reply and then becomes `on`. Pushes are always sent.
   */
  replies: 'on' | 'off' | 'skip' | 'skip-next' = 'on';
  /** The connection ends after the current reply (QUIT, or CLIENT KILL of the own session). */
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
    this.user = engine.acl.defaultUser;
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

  /** RESET: restores the state of a new connection. */
  reset(): void {
    const { engine } = this;
    this.discardTransaction();
    engine.pubSub.leave(this);
    engine.monitors.delete(this);
    this.monitoring = false;
    engine.exitCommands.end(this);
    this.database = engine.database(0);
    this.protocol = 2;
    this.authenticated = !engine.needsPassword;
    this.user = engine.acl.defaultUser;
    this.name = '';
    // As in Redis, the reply of RESET itself is skipped after CLIENT REPLY SKIP.
    if (this.replies !== 'skip') this.replies = 'on';
    this.noEvict = false;
    this.noTouch = false;
  }

  /** Ends the transaction, the blocked command, subscriptions and the named session. Safe to call twice. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.discardTransaction();
    this.blockedCommand?.cancel();
    this.engine.forget(this);
    this.memory.close();
  }
}
