/** An ioredis client that can be given commands, as all of them can. */
export interface CommandTaker {
  readonly options: {
    readonly keyPrefix?: string | undefined;
    readonly enableAutoPipelining?: boolean | undefined;
  };
  createBuiltinCommand(name: string): { string(this: object, ...words: string[]): unknown };
  sendCommand(command: object): Promise<unknown>;
}

interface Command {
  args: string[];
  toWritable(): unknown;
}

type CommandClass = new (name: string, args: string[], options: object) => Command;

type ShortCall = (sha: string, key: string, words: readonly string[]) => Promise<unknown>;

/**
 * EVALSHA with one key and one or two words, which most calls of a lock are. ioredis walks over the words of
 * a command four times before they are sent, and that takes longer than all that the lock does: so this one
 * comes with its text. The rest, from the offline queue to tracing, is the client's own.
 *
 * Undefined: the client gathers commands by itself, or is not made in the way that this relies on.
 */
export function shortCalls(client: CommandTaker): ShortCall | undefined {
  const { keyPrefix = '', enableAutoPipelining } = client.options;
  const Command = enableAutoPipelining ? undefined : commandClassOf(client);
  if (Command === undefined || typeof keyPrefix !== 'string') return undefined;

  class ShortCommand extends Command {
    readonly #text: string;

    constructor(sha: string, key: string, words: readonly string[]) {
      super('evalsha', [], READS_TEXT);
      this.args = [sha, '1', key, ...words];
      this.#text = textOf(sha, key, words);
    }

    override toWritable(): string {
      return this.#text;
    }
  }

  return (sha, key, words) => client.sendCommand(new ShortCommand(sha, keyPrefix + key, words));
}

const READS_TEXT = { replyEncoding: 'utf8' } as const;

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

/** That of the very copy of ioredis which the client is from: a command of another may lack what it needs. */
function commandClassOf(client: CommandTaker): CommandClass | undefined {
  try {
    const { string } = client.createBuiltinCommand('evalsha');
    const command = string.call({ options: {}, sendCommand: (given: object) => given }, '', '0');
    const made = command as Command;
    return typeof made.toWritable === 'function' ? (made.constructor as CommandClass) : undefined;
  } catch {
    return undefined;
  }
}
