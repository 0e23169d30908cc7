import type { ClientPool } from '../engine/index.ts';
import { ByteWriter, type Protocol, type Reply, writeReply } from '../resp/index.ts';

/** Bytes that are sent to several connections, such as a message to the subscribers of a channel. */
export class SharedChunk {
  readonly bytes: Buffer;
  readonly #pool: ClientPool;
  #holders = 0;

  constructor(bytes: Buffer, pool: ClientPool) {
    this.bytes = bytes;
    this.#pool = pool;
  }

  /** Must be called once per connection, which later calls `release`. The pool counts the bytes once. */
  hold(): void {
    if (this.#holders++ === 0) this.#pool.grow(this.bytes.length);
  }

  release(): void {
    if (--this.#holders === 0) this.#pool.grow(-this.bytes.length);
  }
}

/**
 * Encodes each message once for all connections. The engine delivers a message to all receivers before the next one,
 * so that a cache of one message is enough.
 */
export class SharedEncoder {
  readonly #writer = new ByteWriter();
  readonly #pool: ClientPool;
  readonly #last = new Map<Protocol, { reply: Reply; chunks: readonly SharedChunk[] }>();

  constructor(pool: ClientPool) {
    this.#pool = pool;
  }

  encode(reply: Reply, protocol: Protocol): readonly SharedChunk[] {
    const last = this.#last.get(protocol);
    if (last?.reply === reply) return last.chunks;
    this.#writer.clear();
    writeReply(this.#writer, reply, protocol);
    const chunks = this.#writer.take().map((bytes) => new SharedChunk(bytes, this.#pool));
    this.#last.set(protocol, { reply, chunks });
    return chunks;
  }

  /** Drops the reference to the last message. */
  forget(): void {
    this.#last.clear();
  }
}
