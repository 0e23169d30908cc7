import { systemRandom } from '../../clock/index.ts';

/** The operations that a store needs of a Redis client. Each client library has its own implementation. */
export interface RedisLink extends ScriptCommands {
  info(section: string): Promise<unknown>;
  /**
   * Subscribes on a connection of its own. Resolves or rejects when that connection has ended, or has stopped
   * replying. Does not reconnect, so that the caller knows of every gap. Aborting the signal ends it.
   */
  subscribe(channel: string, handlers: SubscriptionHandlers, signal: AbortSignal): Promise<void>;
  /** For a client with one connection. Undefined if a later request may overtake an earlier one. */
  readonly plain?: PlainLink;
  /** In a cluster: the slot of a key, as the server sees that key. */
  slotOf?(key: string): number;
  /** Closes the connections that the link opened for itself. May be called more than once. */
  close?(): void;
}

export interface ScriptCommands {
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  eval(text: string, keys: string[], args: string[]): Promise<unknown>;
}

/** Any command, in order with the scripts. */
export interface PlainLink {
  /** The client puts this before the keys of scripts, but not of these commands. */
  readonly keyPrefix: string;
  command(args: string[]): Promise<unknown>;
  /**
   * Opens a connection of its own, sends one command, and resolves with its reply. The connection stays open and
   * does not reconnect. Aborting the signal before the reply closes it.
   */
  open(args: string[], signal: AbortSignal): Promise<OwnConnection>;
}

export interface OwnConnection {
  /** Resolves when the connection has ended, or has stopped replying. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface SubscriptionHandlers {
  /** The server confirmed the subscription: no later message is lost. */
  onSubscribed(): void;
  onMessage(text: string): void;
}

/** Picks another node at each call, the first one at random, so that clients spread over the nodes. */
export function inTurn(): <Node>(nodes: readonly Node[]) => Node {
  let turn = Math.floor(systemRandom.next() * 2 ** 20);
  return (nodes) => {
    const node = nodes[turn++ % nodes.length];
    if (node === undefined) throw new Error('no node of the cluster is known');
    return node;
  };
}

/** Clients are recognized by their shape, since instanceof fails between copies of a package. */
export function hasMethod(client: object, name: string): boolean {
  return typeof (client as Record<string, unknown>)[name] === 'function';
}
