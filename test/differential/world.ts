import type { Reply } from '../../src/resp/index.ts';
import { type Argv, nameOf, said } from './generators.ts';
import { Difference, Pair, type Ports, showCommand } from './pair.ts';
import type { RawClient } from './raw-client.ts';
import { BLOCKING, SESSION_COUNT, type Step, SUBSCRIBING } from './steps.ts';

export interface Sequence {
  readonly protocol: 2 | 3;
  /** What is there before the first step. */
  readonly furniture: readonly Argv[];
  readonly steps: readonly Step[];
}

/**
 * Redis and our server, side by side, with the same sessions on both. Every step is done on both, and
 * what comes back must be the same: replies, messages, events, and at last all that is stored.
 */
export class World {
  readonly #ports: Ports;
  #sessions: Pair[] = [];
  #control!: Pair;
  #events!: Pair;
  #isSound = false;
  commandCount = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Throws a Difference where the two part. */
  async run({ furniture, steps, protocol }: Sequence): Promise<void> {
    await this.#begin(protocol);
    this.#isSound = false;
    await this.#control.exchange(furniture);
    for (const [at, step] of steps.entries()) {
      await told(`in step ${at + 1}`, this.#take(step));
    }
    for (const session of this.#sessions) await told('at the end', this.#release(session));
    await told('in messages', this.#compareMessages());
    await told('in events', this.#compareEvents());
    await told('in what is stored', this.#compareStores());
    this.#isSound = true;
  }

  close(): void {
    for (const pair of [this.#control, this.#events, ...this.#sessions]) pair?.destroy();
    this.#sessions = [];
  }

  async #begin(protocol: 2 | 3): Promise<void> {
    if (!this.#isSound) await this.#connect();
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
    if (this.#isLeftOpen(session, commands)) return;
    this.commandCount += commands.length;
    const name = nameOf(commands[0]!);
    if (session.queue === null && BLOCKING.has(name)) await this.#block(session, commands[0]!);
    else if (SUBSCRIBING.has(name)) await session.exchangeMessages(commands);
    else await session.exchange(commands, this.#sessions);
  }

  /**
   * Where Redis promises nothing: messages may stand in the middle of the reply of a transaction that
   * caused them, and SWAPDB serves who waits for several keys in the order of hashes.
   */
  #isLeftOpen(session: Pair, commands: readonly Argv[]): boolean {
    const names = commands.map((argv) => nameOf(said(argv)));
    if (session.queue !== null && names.some((name) => SUBSCRIBING.has(name))) return true;
    if (session.isSubscribed && names.includes('multi')) return true;
    if (this.#sessions.every(({ blocked }) => blocked === null)) return false;
    const queued = session.queue?.map((argv) => nameOf(said(argv))) ?? [];
    return names.includes('swapdb') || (names.includes('exec') && queued.includes('swapdb'));
  }

  /** PING goes before, in the same write: once it was answered, the command has been met as well. */
  async #block(session: Pair, argv: Argv): Promise<void> {
    session.send([['PING'], argv], this.#sessions);
    await session.compare([['PING']]);
    if (await this.#isBlocked(session)) session.blocked = argv;
    else await session.compare([argv]);
  }

  /** Sees whether a session that waited was served, and ends its wait if it was not. */
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
    throw new Difference(`${redis ? 'Redis' : 'our server'} waits, the other does not`);
  }

  /** RESET ends every state, and its answer stands after all messages. */
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
    const questions = keys.flatMap((key, at) => questionsAbout(key, types[at]!));
    await this.#control.exchange(questions);
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

function questionsAbout(key: string, type: Reply): Argv[] {
  const read = READERS[(type as { text: string }).text]!;
  return [read(key), ['OBJECT', 'ENCODING', key], ['PEXPIRETIME', key]];
}

async function isBlocked(control: RawClient, id: string): Promise<boolean> {
  const line = await control.ask('CLIENT', 'LIST', 'ID', id);
  return /flags=\w*b/.test(String(line));
}

async function told(where: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    throw new Difference(`${where}: ${error.message}`);
  }
}

/** A sequence as one would type it. */
export function showSequence({ protocol, furniture, steps }: Sequence): string {
  const lines = steps.flatMap(({ session, commands }, at) =>
    commands.map((argv) => `${at + 1}. session ${session}> ${showCommand(argv)}`),
  );
  const before = furniture.map((argv) => `before> ${showCommand(argv)}`);
  return [`RESP${protocol}`, ...before, ...lines].join('\n');
}
