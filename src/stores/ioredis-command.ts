import type { Hearer } from '../lock/index.ts';

/** An ioredis client that can be given commands, as all of them can. */
export interface CommandTaker {
  readonly options: {
    readonly keyPrefix?: string | undefined;
    readonly enableAutoPipelining?: boolean | undefined;
    readonly commandTimeout?: number | undefined;
  };
  createBuiltinCommand(name: string): { string(this: object, ...words: string[]): unknown };
  sendCommand(command: object): Promise<unknown>;
}

/** What is relied on of its class, beyond that the promise of a command is made by `initPromise`. */
interface Command {
  args: string[];
  isResolved: boolean;
  isSettled: boolean;
  initPromise(): void;
  transformReply(reply: unknown): unknown;
  toWritable(): unknown;
}

type CommandClass = new (name: string, args: string[], options: object) => Command;

type ShortCall = (
  sha: string,
  key: string,
  words: readonly string[],
  hearer: Hearer<unknown>,
) => void;

/**
 * EVALSHA with one key and one or two words, which most calls of a lock are. ioredis walks over the words of
 * a command four times before they are sent, and that takes longer than all that the lock does: so this one
 * comes with its text. So does a promise: this one tells at once, and has a promise only for those who look
 * at it, such as tracing. The rest, from the offline queue to the order of replies, is the client's own.
 *
 * Undefined: the client gathers commands or ends them by itself, or is not made in the way that this relies on.
 */
export function shortCalls(client: CommandTaker): ShortCall | undefined {
  const { keyPrefix = '', enableAutoPipelining, commandTimeout } = client.options;
  const isPlain = !enableAutoPipelining && commandTimeout === undefined;
  const Command = isPlain ? commandClassOf(client) : undefined;
  if (Command === undefined || typeof keyPrefix !== 'string') return undefined;

  class ShortCommand extends Command {
    readonly text: string;
    readonly hearer: Hearer<unknown>;
    seen: Seen | undefined = undefined;

    constructor(sha: string, key: string, words: readonly string[], hearer: Hearer<unknown>) {
      super('evalsha', [], READS_TEXT);
      this.args = [sha, '1', key, ...words];
      this.text = textOf(sha, key, words);
      this.hearer = hearer;
    }

    override toWritable(): string {
      return this.text;
    }

    override initPromise(): void {}

    get promise(): Promise<unknown> {
      this.seen ??= new Seen();
      return this.seen.promise;
    }

    /** Who traces commands puts a function of its own in its place, and calls this one without `this`. */
    get resolve(): (reply: unknown) => void {
      return (reply) => this.answered(reply);
    }

    set resolve(value: (reply: unknown) => void) {
      Object.defineProperty(this, 'resolve', { value, writable: true });
    }

    get reject(): (error: unknown) => void {
      return (error) => this.failed(error);
    }

    set reject(value: (error: unknown) => void) {
      Object.defineProperty(this, 'reject', { value, writable: true });
    }

    /** Who asked goes on before who looks. */
    answered(reply: unknown): void {
      if (this.isSettled) return;
      let result: unknown;
      try {
        // Most replies are numbers, which it would look at in vain.
        result = typeof reply === 'number' ? reply : this.transformReply(reply);
      } catch (error) {
        this.failed(error);
        return;
      }
      this.isSettled = true;
      this.isResolved = true;
      this.hearer.answered(result);
      this.seen?.resolve(result);
    }

    /** A client that is closed says so while it is called: nobody is told before that has come back. */
    failed(error: unknown): void {
      if (this.isSettled) return;
      this.isSettled = true;
      this.seen ??= new Seen();
      this.seen.reject(error);
      READY.then(() => this.hearer.failed(error));
    }
  }

  if (!canBeMade(() => new ShortCommand('', '', [''], NOBODY))) return undefined;
  return (sha, key, words, hearer) => {
    const command = new ShortCommand(sha, keyPrefix + key, words, hearer);
    const said = client.sendCommand(command);
    // Who has wrapped the client may answer or fail in its place, or tell in a promise of its own what it came to.
    if (said !== command.seen?.promise) said.then(command.resolve, command.reject);
  };
}

const READS_TEXT = { replyEncoding: 'utf8' } as const;
const READY = Promise.resolve();

/** A promise that somebody has looked at. */
class Seen {
  readonly promise: Promise<unknown>;
  resolve!: (result: unknown) => void;
  #reject!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Who only looks need not catch. */
  reject(error: unknown): void {
    this.promise.catch(() => {});
    this.#reject(error);
  }
}

const NOBODY: Hearer<unknown> = { answered() {}, failed() {} };

/** By a class that leaves it to the command how to settle it. */
function canBeMade(make: () => object): boolean {
  try {
    return !Object.hasOwn(make(), 'resolve');
  } catch {
    return false;
  }
}

function textOf(sha: string, key: string, [first, second]: readonly string[]): string {
  const heads = headsOf(sha);
  const words = `${lengthOf(key)}${key}${lengthOf(first!)}${first}`;
  if (second === undefined) return `${heads.ofOne}${words}\r\n`;
  return `${heads.ofTwo}${words}${lengthOf(second)}${second}\r\n`;
}

let lastSha = '';
let lastHeads = { ofOne: '', ofTwo: '' };

/** Most calls are of one script. */
function headsOf(sha: string): typeof lastHeads {
  if (sha !== lastSha) {
    lastSha = sha;
    const rest = `\r\n$7\r\nevalsha\r\n$40\r\n${sha}\r\n$1\r\n1`;
    lastHeads = { ofOne: `*5${rest}`, ofTwo: `*6${rest}` };
  }
  return lastHeads;
}

/** What stands before a word, by its length: made once, so that a command is put together from few pieces. */
const LENGTHS: string[] = Array.from({ length: 256 }, (_, bytes) => `\r\n$${bytes}\r\n`);

function lengthOf(word: string): string {
  const bytes = Buffer.byteLength(word);
  return LENGTHS[bytes] ?? `\r\n$${bytes}\r\n`;
}

const METHODS = ['initPromise', 'transformReply', 'toWritable'] as const;

/** That of the very copy of ioredis which the client is from: a command of another may lack what it needs. */
function commandClassOf(client: CommandTaker): CommandClass | undefined {
  try {
    const { string } = client.createBuiltinCommand('evalsha');
    const command = string.call({ options: {}, sendCommand: (given: object) => given }, '', '0');
    const made = command as Command;
    const isKnown = METHODS.every((name) => typeof made[name] === 'function');
    return isKnown ? (made.constructor as CommandClass) : undefined;
  } catch {
    return undefined;
  }
}
