import { type Reply, SimpleReply } from '../../src/resp/index.ts';
import { type Argv, nameOf } from './generators.ts';
import { orderedMessages } from './messages.ts';
import { isPush, RawClient } from './raw-client.ts';
import { ruleFor, show } from './rules.ts';

export interface Ports {
  readonly redis: number;
  readonly ours: number;
}

/** The two servers did not reply the same. */
export class Difference extends Error {}

/** A session on both servers. Every command goes to both, and their replies are compared. */
export class Pair {
  readonly redis: RawClient;
  readonly ours: RawClient;
  /** The ids of the session, for CLIENT commands. */
  readonly redisId: string;
  readonly oursId: string;
  /** The queued commands of a transaction; null outside of one. */
  queue: Argv[] | null = null;
  /** The command that is blocked on both servers, or null. */
  blocked: Argv | null = null;
  /** Has subscribed since the last RESET, even if it has unsubscribed since. */
  isSubscribed = false;
  #messages: { redis: Reply[]; ours: Reply[] } = { redis: [], ours: [] };

  static async connect({ redis, ours }: Ports): Promise<Pair> {
    const clients = [await RawClient.connect(redis), await RawClient.connect(ours)] as const;
    // With a password the ids stay unknown.
    const ids = await Promise.all(clients.map((client) => client.request('CLIENT', 'ID')));
    return new Pair(clients, [String(ids[0]), String(ids[1])]);
  }

  private constructor(
    [redis, ours]: readonly [RawClient, RawClient],
    [redisId, oursId]: readonly [string, string],
  ) {
    this.redis = redis;
    this.ours = ours;
    this.redisId = redisId;
    this.oursId = oursId;
  }

  /** Sends without waiting for replies. `<id of 0>` is replaced by the id of `peers[0]`, and so on. */
  send(commands: readonly Argv[], peers: readonly Pair[] = []): void {
    this.redis.send(fillIn(commands, (number) => peers[number]!.redisId));
    this.ours.send(fillIn(commands, (number) => peers[number]!.oursId));
  }

  /** Waits for the replies to commands that were sent, and compares them. Returns those of Redis. */
  async compare(commands: readonly Argv[]): Promise<Reply[]> {
    const [redis, ours] = await this.#both((client) => client.take(commands.length));
    return this.#compareFrames(redis, ours, commands);
  }

  async exchange(commands: readonly Argv[], peers: readonly Pair[] = []): Promise<Reply[]> {
    this.send(commands, peers);
    return this.compare(commands);
  }

  /** Runs commands that reply with any number of messages. */
  async exchangeMessages(commands: readonly Argv[]): Promise<void> {
    this.isSubscribed = true;
    this.send([...commands, ['PING', END]]);
    const [redis, ours] = await this.#both((client) => client.takeThroughPong(END));
    this.#compareFrames(redis, ours, commands);
  }

  /**
   * Compares the messages since the last call. They are compared separately from replies: the order of a reply and of
   * messages that the same command caused is not specified in RESP3.
   */
  compareMessages(): void {
    const redis = orderedMessages(this.#messages.redis);
    const ours = orderedMessages(this.#messages.ours);
    const at = redis.findIndex((message, index) => message !== ours[index]);
    if (at >= 0 || redis.length !== ours.length) {
      const place = at < 0 ? redis.length : at;
      throw unequal(`message ${place + 1}`, redis[place], ours[place]);
    }
    this.#messages = { redis: [], ours: [] };
  }

  destroy(): void {
    this.redis.destroy();
    this.ours.destroy();
  }

  /** Reads from one server after the other, so that an error shows which of them did not reply. */
  async #both(take: (client: RawClient) => Promise<Reply[]>): Promise<[Reply[], Reply[]]> {
    const redis = await take(this.redis).catch((error) => fail('Redis', error));
    const ours = await take(this.ours).catch((error) => fail('our server', error));
    return [redis, ours];
  }

  #compareFrames(redis: Reply[], ours: Reply[], commands: readonly Argv[]): Reply[] {
    this.#messages.redis.push(...redis.filter(isPush));
    this.#messages.ours.push(...ours.filter(isPush));
    const replies = redis.filter((frame) => !isPush(frame));
    const mine = ours.filter((frame) => !isPush(frame));
    for (let at = 0; at < replies.length || at < mine.length; at++) {
      const argv = commands[at] ?? ['(more)'];
      const [theirs, own] = [replies[at], mine[at]];
      if (theirs === undefined || own === undefined || !this.#accepts(argv, theirs, own)) {
        throw unequal(showCommand(argv), shown(theirs), shown(own));
      }
      this.#follow(argv, theirs);
    }
    return replies;
  }

  #accepts(argv: Argv, redis: Reply, ours: Reply): boolean {
    if (isQueued(redis) || isQueued(ours)) return show(redis) === show(ours);
    if (nameOf(argv) !== 'exec') return ruleFor(argv)(redis, ours, argv);
    return this.#acceptsAll(redis, ours);
  }

  /** Compares the replies of a transaction, each by the rule of its command. */
  #acceptsAll(redis: Reply, ours: Reply): boolean {
    const queue = this.queue ?? [];
    if (!Array.isArray(redis) || !Array.isArray(ours)) return show(redis) === show(ours);
    if (redis.length !== ours.length) return false;
    // After HELLO, Redis switches the protocol inside of the reply; here the whole reply has one protocol.
    if (queue.some((argv) => nameOf(argv) === 'hello')) return true;
    return redis.every((reply, at) => {
      const argv = queue[at] ?? ['(none)'];
      return ruleFor(argv)(reply, ours[at]!, argv);
    });
  }

  /** Tracks the queue of a transaction by the replies of Redis. */
  #follow(argv: Argv, reply: Reply): void {
    const name = nameOf(argv);
    const isDone = reply instanceof SimpleReply;
    if (isQueued(reply)) this.queue?.push(argv);
    else if (name === 'multi' && isDone) this.queue = [];
    else if (name === 'exec' || ((name === 'discard' || name === 'reset') && isDone)) {
      this.queue = null;
    }
    if (name === 'reset' && isDone) this.isSubscribed = false;
  }
}

const END = 'end of messages';

function isQueued(reply: Reply): boolean {
  return reply instanceof SimpleReply && reply.text === 'QUEUED';
}

function fillIn(commands: readonly Argv[], id: (session: number) => string): Argv[] {
  return commands.map((argv) =>
    argv.some((word) => PLACEHOLDER.test(word))
      ? argv.map((word, at) =>
          at < 2 ? word : word.replace(PLACEHOLDER, (_, number) => id(Number(number))),
        )
      : argv,
  );
}

const PLACEHOLDER = /^<id of (\d)>$/;

function fail(who: string, error: Error): never {
  throw new Difference(`${who}: ${error.message}`);
}

function unequal(what: string, redis = '(nothing)', ours = '(nothing)'): Difference {
  return new Difference(`${what}\n    Redis: ${redis}\n    ours:  ${ours}`);
}

function shown(reply: Reply | undefined): string | undefined {
  return reply === undefined ? undefined : show(reply);
}

export function showCommand(argv: Argv): string {
  if (argv.length > 40) {
    return `${showCommand(argv.slice(0, 8))} … ${showCommand(argv.slice(-2))} (${argv.length} words)`;
  }
  return argv.map((word) => (/^[\w.*|:+-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
}
