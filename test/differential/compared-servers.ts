import type { Reply } from '../../src/resp/index.ts';
import { type Argv, innerCommand, nameOf } from './generators.ts';
import { Difference, Pair, type Ports, showCommand } from './pair.ts';
import type { RawClient } from './raw-client.ts';
import { BLOCKING, SESSION_COUNT, type Step, SUBSCRIBING } from './steps.ts';

export interface Sequence {
  readonly protocol: 2 | 3;
  /** The commands before the first step. */
  readonly initialData: readonly Argv[];
  readonly steps: readonly Step[];
}

/**
 * Redis and our server with the same sessions. Every step runs on both, and replies, messages, events and the stored
 * data at the end must be equal.
 */
export class ComparedServers {
  readonly #ports: Ports;
  #sessions: Pair[] = [];
  #control!: Pair;
  #events!: Pair;
  #isClean = false;
  commandCount = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Runs a sequence. Throws a Difference if the servers differ. */
  async run({ initialData, steps, protocol }: Sequence): Promise<void> {
    await this.#begin(protocol);
    this.#isClean = false;
    await this.#control.exchange(initialData);
    for (const [at, step] of steps.entries()) {
      await labelled(`in step ${at + 1}`, this.#take(step));
    }
    for (const session of this.#sessions) await labelled('at the end', this.#release(session));
    await labelled('in messages', this.#compareMessages());
    await labelled('in events', this.#compareEvents());
    await labelled('in the stored data', this.#compareStores());
    this.#isClean = true;
  }

  close(): void {
    for (const pair of [this.#control, this.#events, ...this.#sessions]) pair?.destroy();
    this.#sessions = [];
  }

  async #begin(protocol: 2 | 3): Promise<void> {
    if (!this.#isClean) await this.#connect();
    await this.#control.exchange([
      ['RESET'],
      ['FLUSHALL'],
      ['SCRIPT', 'FLUSH'],
      ['CONFIG', 'SET', 'notify-keyspace-events', 'KEAmn'],
    ]);
    for (const session of this.#sessions) await session.exchange([['HELLO', `${protocol}`]]);
    await this.#events.exchangeMessages([]);
  }

  async #connect(): Promise<void> {
    this.close();
    this.#control = await Pair.connect(this.#ports);
    this.#events = await Pair.connect(this.#ports);
    await this.#events.exchangeMessages([
      ['HELLO', '3'],
      ['PSUBSCRIBE', '__key*@*__:*'],
    ]);
    for (let left = SESSION_COUNT; left > 0; left--) {
      this.#sessions.push(await Pair.connect(this.#ports));
    }
  }

  async #take({ session: number, commands }: Step): Promise<void> {
    const session = this.#sessions[number]!;
    if (commands.length === 0) return;
    await this.#release(session);
    if (this.#isUnspecified(session, commands)) return;
    this.commandCount += commands.length;
    const name = nameOf(commands[0]!);
    if (session.queue === null && BLOCKING.has(name)) await this.#block(session, commands[0]!);
    else if (SUBSCRIBING.has(name)) await session.exchangeMessages(commands);
    else await session.exchange(commands, this.#sessions);
  }

  /**
   * Steps whose result Redis does not specify: messages may come inside of the reply of the transaction that caused
   * them, and SWAPDB serves blocked clients in hash order.
   */
  #isUnspecified(session: Pair, commands: readonly Argv[]): boolean {
    const names = commands.map((argv) => nameOf(innerCommand(argv)));
    if (session.queue !== null && names.some((name) => SUBSCRIBING.has(name))) return true;
    if (session.isSubscribed && names.includes('multi')) return true;
    if (this.#sessions.every(({ blocked }) => blocked === null)) return false;
    const queued = session.queue?.map((argv) => nameOf(innerCommand(argv))) ?? [];
    return names.includes('swapdb') || (names.includes('exec') && queued.includes('swapdb'));
  }

  /** PING is sent in the same write before the command: after its reply the command has run too. */
  async #block(session: Pair, argv: Argv): Promise<void> {
    session.send([['PING'], argv], this.#sessions);
    await session.compare([['PING']]);
    if (await this.#isBlocked(session)) session.blocked = argv;
    else await session.compare([argv]);
  }

  /** Unblocks a session that is still blocked, and compares the replies. */
  async #release(session: Pair): Promise<void> {
    const argv = session.blocked;
    if (argv === null) return;
    session.blocked = null;
    if (await this.#isBlocked(session)) {
      await this.#control.exchange([['CLIENT', 'UNBLOCK', '<id of 0>']], [session]);
    }
    await session.compare([argv]);
  }

  async #isBlocked(session: Pair): Promise<boolean> {
    const redis = await isBlocked(this.#control.redis, session.redisId);
    const ours = await isBlocked(this.#control.ours, session.oursId);
    if (redis === ours) return redis;
    throw new Difference(`${redis ? 'Redis' : 'our server'} is blocked, the other is not`);
  }

  /** RESET ends subscriptions, and its reply comes after all messages. */
  async #compareMessages(): Promise<void> {
    for (const session of this.#sessions) {
      await session.exchange([['RESET']]);
      session.compareMessages();
    }
  }

  async #compareEvents(): Promise<void> {
    await this.#events.exchangeMessages([]);
    this.#events.compareMessages();
  }

  async #compareStores(): Promise<void> {
    for (const database of DATABASES) {
      const [, , keys] = await this.#control.exchange([
        ['SELECT', database],
        ['DBSIZE'],
        ['KEYS', '*'],
      ]);
      if (!Array.isArray(keys) || keys.length === 0) continue;
      await this.#compareKeys(keys as string[]);
    }
  }

  async #compareKeys(keys: readonly string[]): Promise<void> {
    const types = await this.#control.exchange(keys.map((key) => ['TYPE', key]));
    const reads = keys.flatMap((key, at) => readsOf(key, types[at]!));
    await this.#control.exchange(reads);
  }
}

const DATABASES = ['0', '1', '2', '9'];

const READERS: Readonly<Record<string, (key: string) => Argv>> = {
  string: (key) => ['GET', key],
  list: (key) => ['LRANGE', key, '0', '-1'],
  hash: (key) => ['HGETALL', key],
  set: (key) => ['SMEMBERS', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
};

function readsOf(key: string, type: Reply): Argv[] {
  const read = READERS[(type as { text: string }).text]!;
  return [read(key), ['OBJECT', 'ENCODING', key], ['PEXPIRETIME', key]];
}

async function isBlocked(control: RawClient, id: string): Promise<boolean> {
  const line = await control.request('CLIENT', 'LIST', 'ID', id);
  return /flags=\w*b/.test(String(line));
}

async function labelled(where: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    throw new Difference(`${where}: ${error.message}`);
  }
}

/** Formats a sequence for an error message. */
export function showSequence({ protocol, initialData, steps }: Sequence): string {
  const lines = steps.flatMap(({ session, commands }, at) =>
    commands.map((argv) => `${at + 1}. session ${session}> ${showCommand(argv)}`),
  );
  const before = initialData.map((argv) => `before> ${showCommand(argv)}`);
  return [`RESP${protocol}`, ...before, ...lines].join('\n');
}
