import { BLOCKED, type Engine, execute, type Session } from '../../engine/index.ts';
import { ByteWriter, type Reply, WriteLimitError, writeReply } from '../../resp/index.ts';
import type { CommitLog } from '../../server/index.ts';

/** The maximum size of a reply. */
const MAX_REPLY_BYTES = 32 * 1024 * 1024;
/** How often a reply that waits for the disk looks whether it may leave. */
const SETTLE_MS = 2;

/** Null: the reply is larger than the maximum. */
type OnReply = (bytes: Uint8Array | null) => void;

/** Runs the commands of the page in the engine, one after the other. It is no client, and has all rights. */
export class PageSession {
  readonly #engine: Engine;
  readonly #log: () => CommitLog | undefined;
  readonly #session: Session;
  readonly #writer = new ByteWriter();
  readonly #waiting: { readonly argv: readonly string[]; readonly onReply: OnReply }[] = [];
  /** Receives the reply of a command that CLIENT PAUSE delays. */
  #blocked: OnReply | undefined;

  constructor(engine: Engine, log: () => CommitLog | undefined) {
    this.#engine = engine;
    this.#log = log;
    this.#writer.limitBytes = () => MAX_REPLY_BYTES;
    this.#session = engine.internalSession({
      push() {},
      close() {},
      // The engine is inside of a unit of work.
      resume: (reply) => engine.clock.defer(() => this.#resume(reply)),
    });
  }

  run(argv: readonly string[], onReply: OnReply): void {
    if (this.#blocked !== undefined) {
      this.#waiting.push({ argv, onReply });
      return;
    }
    const outcome = execute(this.#session, argv);
    if (outcome === BLOCKED) this.#blocked = onReply;
    else this.#reply(outcome, onReply);
  }

  #resume(reply: Reply): void {
    const onReply = this.#blocked!;
    this.#blocked = undefined;
    this.#reply(reply, onReply);
    while (this.#waiting.length > 0 && this.#blocked === undefined) {
      const next = this.#waiting.shift()!;
      this.run(next.argv, next.onReply);
    }
  }

  #reply(reply: Reply, onReply: OnReply): void {
    const bytes = this.#encode(reply);
    const log = this.#log();
    const number = log?.commit() ?? 0;
    const leave = (): void => {
      if (log === undefined || log.settled >= number) onReply(bytes);
      else this.#engine.clock.setTimer(SETTLE_MS, leave);
    };
    leave();
  }

  #encode(reply: Reply): Uint8Array | null {
    try {
      writeReply(this.#writer, reply, this.#session.protocol);
      return Buffer.concat(this.#writer.take());
    } catch (error) {
      this.#writer.clear();
      if (error instanceof WriteLimitError) return null;
      throw error;
    }
  }
}
