import { type VirtualClock, virtualClock } from '../clock/index.ts';
import { COMMANDS, createEngine, type Engine, execute, type Session } from '../engine/index.ts';
import { type PushReply, type Reply, SimpleReply } from '../resp/index.ts';
import { LabError } from './lab-error.ts';
import type { Algorithm, Answer, CommandAction } from './recipe.ts';
import type { StoreView } from './store-view.ts';

/** All keys at one moment. Equal contents are one object, so that states compare by `id`. */
export interface Image {
  readonly id: number;
  readonly entries: readonly Entry[];
  /** The lock's own key. */
  readonly lock: LockEntry | undefined;
  /** Grants and queue, if the algorithm stores them. */
  readonly view: StoreView | undefined;
}

export interface Entry {
  readonly key: string;
  readonly type: string;
  /** A string's text, or the arguments that rebuild a collection in the same order. */
  readonly parts: readonly string[];
  /** When the key ends; NEVER without a TTL. */
  readonly deadlineMs: number;
}

interface LockEntry {
  readonly value: string;
  /** When the lock's lease ends, by its TTL or by its value. */
  readonly endMs: number;
}

export interface Result {
  readonly answer: Answer;
  readonly image: Image;
  readonly messages: readonly Message[];
}

/** A message that a command published. */
export interface Message {
  readonly channel: string;
  readonly text: string;
}

/** The parts of an algorithm that the store uses. */
type LockKeys = Pick<Algorithm, 'name' | 'lockKey' | 'leaseEnd' | 'view'>;

export const NEVER = Number.POSITIVE_INFINITY;
/** The wall time at which every world starts. Small, so that Unix times are short in a trace. */
export const START_MS = 1_000_000;

/**
 * The store as a function: from an image, a time and a command to a reply and the next image. The
 * commands run on a real engine, which is restored to the image first unless it is in that state
 * already. So a single run from start to end never restores the engine.
 *
 * The effect of a command depends only on the image, the time and its arguments. Commands of which this is
 * not true are refused. With `remembers`, results are memoized.
 */
export class Store {
  readonly empty: Image;
  /** Memoizes: equal contents are one image object, and a command runs once for each image and time. */
  readonly remembers: boolean;
  /** How often the engine was restored to another state, and how many commands it ran. */
  restored = 0;
  executed = 0;
  readonly #recipe: LockKeys;
  readonly #clock: VirtualClock = virtualClock(START_MS);
  readonly #engine: Engine = createEngine({
    clock: this.#clock,
    random: ZERO_RANDOM,
    settings: {
      maxmemory: String(MAX_ENGINE_BYTES),
      'script-budget-steps': String(MAX_SCRIPT_STEPS),
    },
  });
  readonly #session: Session = this.#engine.session();
  #messages: Message[] = [];
  readonly #images = new Map<string, Image>();
  readonly #results = new Map<CommandAction | null, Map<number, Result>>();
  #nextId = 0;
  #current: Image;

  constructor(recipe: LockKeys, remembers: boolean) {
    this.#recipe = recipe;
    this.remembers = remembers;
    this.empty = this.#intern([]);
    this.#subscribeToAll();
    this.#current = this.empty;
  }

  /** Runs a command, or a transaction as one unit. */
  run(image: Image, nowMs: number, action: CommandAction): Result {
    return this.#remembered(image, nowMs, action, () => this.#execute(image, nowMs, action));
  }

  /** The image when time has passed and nothing else has happened. */
  at(image: Image, nowMs: number): Image {
    if (image.entries.every(({ deadlineMs }) => deadlineMs === NEVER)) return image;
    return this.#remembered(image, nowMs, null, () => {
      this.#enter(image, nowMs);
      return { answer: null, image: this.#capture(nowMs), messages: [] };
    }).image;
  }

  #remembered(
    image: Image,
    nowMs: number,
    action: CommandAction | null,
    make: () => Result,
  ): Result {
    if (!this.remembers) return make();
    const results = this.#results.get(action) ?? new Map<number, Result>();
    this.#results.set(action, results);
    const key = image.id * MAX_RUN_MS + (nowMs - START_MS);
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = make();
    results.set(key, result);
    return result;
  }

  #execute(image: Image, nowMs: number, { lines }: CommandAction): Result {
    this.#enter(image, nowMs);
    let answer: Answer = null;
    this.#messages = [];
    for (const argv of lines) {
      this.#allow(argv, lines.length > 1);
      answer = this.#answer(argv);
    }
    this.#limitKeys(lines.at(-1)!);
    return { answer, image: this.#capture(nowMs), messages: this.#messages };
  }

  #subscribeToAll(): void {
    const listener = this.#engine.session({
      push: (reply) => {
        const [kind, , channel, text] = (reply as PushReply).items as string[];
        if (kind === 'pmessage') this.#messages.push({ channel: channel!, text: text! });
      },
      resume() {},
      close() {},
    });
    execute(listener, ['PSUBSCRIBE', '*']);
  }

  #answer(argv: readonly string[]): Answer {
    this.executed++;
    const outcome = execute(this.#session, argv);
    if (typeof outcome === 'symbol') throw this.#refusal(argv, 'it waits');
    return plain(outcome, (message) => this.#refusal(argv, message));
  }

  #allow(argv: readonly string[], inTransaction: boolean): void {
    const command = COMMANDS.get(argv[0]!.toLowerCase());
    if (command === undefined) throw this.#refusal(argv, 'there is no such command');
    if (inTransaction && TRANSACTION.has(command.name)) return;
    if (ALLOWED.has(command.name)) return;
    const isPlain = command.has('write') || command.has('readonly');
    const leaves = command.name === 'copy' && argv.some((word) => /^db$/i.test(word));
    if (!isPlain || leaves || command.has('blocking') || UNSTEADY.has(command.name)) {
      throw this.#refusal(argv, 'its effect must depend only on the keys and the time');
    }
  }

  #limitKeys(argv: readonly string[]): void {
    if (this.#engine.memory.data.bytes > MAX_KEYS_BYTES) throw this.#refusal(argv, KEYS_TOO_LARGE);
  }

  #refusal(argv: readonly string[], reason: string): LabError {
    const advice = ADVICE.find(({ error }) => error.test(reason))?.advice ?? reason;
    return new LabError(`${this.#recipe.name} cannot run ${shown(argv)}: ${advice}`);
  }

  /** Brings the engine to the image at this time: by advancing its clock if possible, else by a restore. */
  #enter(image: Image, nowMs: number): void {
    const aheadMs = nowMs - this.#clock.wallMs();
    if (this.#current === image && aheadMs >= 0) this.#clock.advance(aheadMs);
    else this.#restore(image, nowMs);
    this.#engine.freeze();
  }

  #restore(image: Image, nowMs: number): void {
    this.restored++;
    const database = this.#engine.database(0);
    this.#engine.freeze();
    for (const key of database.keys()) database.delete(key);
    this.#clock.jumpWall(nowMs - this.#clock.wallMs());
    for (const { key, type, parts, deadlineMs } of image.entries) {
      if (type === 'string') database.set(key, parts[0]!);
      else execute(this.#session, [COLLECTIONS[type]!.build, key, ...parts]);
      if (deadlineMs !== NEVER) {
        database.setDeadline(key, this.#clock.monotonicMs() + deadlineMs - nowMs);
      }
    }
  }

  #capture(nowMs: number): Image {
    const database = this.#engine.database(0);
    const toWallMs = nowMs - this.#clock.monotonicMs();
    const keys = database.keys().sort();
    const entries = keys.map((key): Entry => {
      const value = database.peek(key)!;
      const deadlineMs = database.deadline(key) + toWallMs;
      if (typeof value === 'string') return { key, type: 'string', parts: [value], deadlineMs };
      return { key, type: value.type, parts: this.#members(key, value.type), deadlineMs };
    });
    this.#current = this.#intern(entries);
    return this.#current;
  }

  /** The arguments that rebuild the collection in the same order. */
  #members(key: string, type: string): string[] {
    const members = this.#answer(COLLECTIONS[type]!.read(key)) as string[];
    // ZRANGE replies with the member first, ZADD expects the score first.
    return type === 'zset' ? members.map((_, at) => members[at ^ 1]!) : members;
  }

  #intern(entries: readonly Entry[]): Image {
    const text = JSON.stringify(entries);
    const known = this.#images.get(text);
    if (known !== undefined) return known;
    // A single run rarely returns to an image, so only the latest one is kept.
    if (!this.remembers) this.#images.clear();
    const lock = this.#lockIn(entries);
    const image = { id: this.#nextId++, entries, lock, view: this.#recipe.view?.(entries) };
    this.#images.set(text, image);
    return image;
  }

  #lockIn(entries: readonly Entry[]): LockEntry | undefined {
    const { lockKey, leaseEnd } = this.#recipe;
    const entry = entries.find(({ key }) => key === lockKey);
    if (entry === undefined) return undefined;
    const value = entry.parts.join(' ');
    return { value, endMs: leaseEnd === undefined ? entry.deadlineMs : leaseEnd(value) * 1000 };
  }
}

/** Longer than any world lasts. Image id and time are combined into one number as a map key. */
const MAX_RUN_MS = 2 ** 29;

/** Limit for the keys of one state. A search keeps those of every state, so the process holds thousands of copies. */
const MAX_KEYS_BYTES = 65_536;
/** Memory limit while one command runs, before its keys are measured. */
const MAX_ENGINE_BYTES = 64 * 1024 ** 2;
/** In steps and not in time, so that every machine gives the same verdict. A lock's script takes about a hundred. */
const MAX_SCRIPT_STEPS = 100_000;

const KEYS_TOO_LARGE = `the keys would take more than ${MAX_KEYS_BYTES / 1024} KiB, and the lab keeps them once for each state. Use shorter values and fewer keys`;

/** Error replies about a limit of the lab's own engine, and what they mean for a recipe. */
const ADVICE: readonly { readonly error: RegExp; readonly advice: string }[] = [
  { error: /^OOM /, advice: KEYS_TOO_LARGE },
  {
    error: /^ERR Script stopped/,
    advice: `its script spent its budget of ${MAX_SCRIPT_STEPS} steps or its memory. Let its loops end after a few passes`,
  },
];

/** Maximum number of characters of a command in an error; scripts are longer. */
const MAX_SHOWN = 80;

function shown(argv: readonly string[]): string {
  const line = argv
    .join(' ')
    .slice(0, MAX_SHOWN + 1)
    .replace(/\s+/g, ' ');
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

const ZERO_RANDOM = { next: () => 0, bytes: (count: number) => new Uint8Array(count) };
const ALLOWED: ReadonlySet<string> = new Set(['eval', 'eval_ro', 'time']);
const TRANSACTION: ReadonlySet<string> = new Set(['multi', 'exec']);
/** Commands that depend on randomness, on the order of keys, or on data that is not part of an image. */
const UNSTEADY: ReadonlySet<string> = new Set([
  'randomkey',
  'spop',
  'srandmember',
  'hrandfield',
  'zrandmember',
  'keys',
  'scan',
  'hscan',
  'sscan',
  'zscan',
  'move',
  'swapdb',
  'evalsha_ro',
]);

interface CollectionKind {
  readonly read: (key: string) => string[];
  readonly build: string;
}

const COLLECTIONS: Readonly<Record<string, CollectionKind>> = {
  hash: { read: (key) => ['HGETALL', key], build: 'HSET' },
  list: { read: (key) => ['LRANGE', key, '0', '-1'], build: 'RPUSH' },
  set: { read: (key) => ['SMEMBERS', key], build: 'SADD' },
  zset: { read: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'], build: 'ZADD' },
};

/** Converts a reply for recipes. Throws `fault(message)` for an error reply. */
function plain(reply: Reply, fault: (message: string) => LabError): Answer {
  if (reply === null || typeof reply === 'string' || typeof reply === 'number') return reply;
  if (reply instanceof SimpleReply) return reply.text;
  if (Array.isArray(reply)) return reply.map((each) => plain(each, fault));
  if (typeof reply === 'object' && 'kind' in reply) {
    if (reply.kind === 'error') throw fault(reply.message);
    if (reply.kind === 'nullarray') return null;
    if (reply.kind === 'double') return reply.text;
    if (reply.kind === 'set') return reply.members.map((each) => plain(each, fault));
    if (reply.kind === 'map') return reply.entries.flat().map((each) => plain(each, fault));
  }
  throw fault('its reply is of a kind that the lab does not know');
}
