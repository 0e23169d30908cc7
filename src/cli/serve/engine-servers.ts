import { type Clock, systemClock } from '../../clock/index.ts';
import { ErrorReply, type Reply, ReplyDecoder } from '../../resp/index.ts';
import {
  ReplyTooLargeError,
  type RunScript,
  type ScriptServers,
  type SendCommand,
  StoreError,
} from '../../stores/index.ts';
import type { ServerMessage, ServerOrder } from './messages.ts';

/** Commands that the engine gets at a time, so that the page takes a small share of its turns. */
const MAX_SENT = 2;
const MAX_WAITING = 64;
const TIMEOUT_MS = 5000;

interface Request {
  readonly argv: readonly string[];
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

/** Callbacks of a command that the engine has. */
interface Sent {
  onReply(bytes: Uint8Array | null): void;
  reject(error: Error): void;
}

/** Sends commands to the engine in the server's thread, by messages. Replies have one char per byte. */
export class EngineServers implements ScriptServers {
  readonly label: string;
  readonly #post: (order: ServerOrder) => void;
  readonly #clock: Clock;
  readonly #sent = new Map<number, Sent>();
  #waiting: Request[] = [];
  #lastId = 0;
  #isClosed = false;

  constructor(label: string, post: (order: ServerOrder) => void, clock = systemClock) {
    this.label = label;
    this.#post = post;
    this.#clock = clock;
  }

  readonly send: SendCommand = (argv) =>
    new Promise((resolve, reject) => {
      if (this.#isClosed || this.#waiting.length >= MAX_WAITING) {
        reject(new StoreError(this.#isClosed ? 'The server ends.' : 'The server is busy.'));
        return;
      }
      this.#waiting.push({ argv, resolve, reject });
      this.#sendNext();
    });

  readonly run: RunScript = (text, keys, args) =>
    this.send(['EVAL', text, String(keys.length), ...keys, ...args]);

  async masters(): Promise<readonly { readonly run: RunScript }[]> {
    return [this];
  }

  receive({ id, bytes }: ServerMessage & { readonly kind: 'reply' }): void {
    this.#sent.get(id)?.onReply(bytes);
  }

  /** The engine may end without a reply to what it has. */
  close(): void {
    this.#isClosed = true;
    const pending = [...this.#sent.values(), ...this.#waiting];
    this.#sent.clear();
    this.#waiting = [];
    for (const { reject } of pending) reject(new StoreError('The server ends.'));
  }

  #sendNext(): void {
    while (this.#sent.size < MAX_SENT && this.#waiting.length > 0) {
      this.#sendOne(this.#waiting.shift()!);
    }
  }

  /** A command that has timed out counts as sent until its reply comes: the engine still has it. */
  #sendOne({ argv, resolve, reject }: Request): void {
    const id = ++this.#lastId;
    const timer = this.#clock.setTimer(TIMEOUT_MS, () => {
      reject(new StoreError(`${this.label} did not answer within ${TIMEOUT_MS / 1000} s.`));
    });
    const onReply = (bytes: Uint8Array | null): void => {
      timer.cancel();
      this.#sent.delete(id);
      const reply = bytes === null ? undefined : decode(bytes);
      if (reply === undefined) reject(new ReplyTooLargeError('the reply is too large'));
      else if (reply instanceof ErrorReply)
        reject(new StoreError(`${this.label} answers: ${reply.message}.`));
      else resolve(reply);
      this.#sendNext();
    };
    this.#sent.set(id, {
      onReply,
      reject(error) {
        timer.cancel();
        reject(error);
      },
    });
    this.#post({ kind: 'command', id, argv });
  }
}

function decode(bytes: Uint8Array): Reply | undefined {
  const decoder = new ReplyDecoder();
  decoder.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return decoder.next();
}
