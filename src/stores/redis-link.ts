import { systemRandom } from '../clock/index.ts';

/** What the store needs of a Redis, whichever client library reaches it. */
export interface RedisLink {
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  eval(text: string, keys: string[], args: string[]): Promise<unknown>;
  info(section: string): Promise<unknown>;
  /**
   * Opens a connection of its own, subscribes, and resolves or rejects when that connection has ended.
   * It is not reconnected: whoever called knows of every gap. An abort of the signal ends it.
   */
  hear(channel: string, ears: Ears, signal: AbortSignal): Promise<void>;
  /** Of a client with one connection. Left out: what it sends may be overtaken by what it sends later. */
  readonly plain?: PlainLink;
  /** In a cluster: the slot of a key, as the server will see that key. */
  slotOf?(key: string): number;
}

/** Any command, in order with the scripts. */
export interface PlainLink {
  /** Set before the keys of scripts, but not of these commands. */
  readonly keyPrefix: string;
  command(words: string[]): Promise<unknown>;
  /**
   * Opens a connection of its own, which says one command and stays open; resolves when that was answered.
   * It is not reconnected. An abort of the signal before that ends it.
   */
  open(words: string[], signal: AbortSignal): Promise<OwnConnection>;
}

export interface OwnConnection {
  readonly ended: Promise<void>;
  close(): void;
}

export interface Ears {
  /** From now on no message is lost. */
  onSubscribed(): void;
  onMessage(text: string): void;
}

/** One node of those that are there, another one each time, and the first by chance: clients spread. */
export function inTurn(): <Node>(nodes: readonly Node[]) => Node {
  let turn = Math.floor(systemRandom.next() * 2 ** 20);
  return (nodes) => {
    const node = nodes[turn++ % nodes.length];
    if (node === undefined) throw new Error('no node of the cluster is known');
    return node;
  };
}

/** Clients are told by their shape, since instanceof fails between copies of a package. */
export function hasMethod(client: object, name: string): boolean {
  return typeof (client as Record<string, unknown>)[name] === 'function';
}
