import type { ClientPool } from '../engine/index.ts';
import { ByteWriter, type Protocol, type Reply, writeReply } from '../resp/index.ts';

/** Bytes that several connections are sent, such as a message to all subscribers of a channel. */
export class SharedChunk {
  readonly bytes: Buffer;
  readonly #pool: ClientPool;
  #holders = 0;

  constructor(bytes: Buffer, pool: ClientPool) {
    this.bytes = bytes;
    this.#pool = pool;
  }

  /** A connection keeps the bytes until it calls `release`. The pool counts them once for all. */
  hold(): void {
    if (this.#holders++ === 0) this.#pool.grow(this.bytes.length);
  }

  release(): void {
    if (--this.#holders === 0) this.#pool.grow(-this.bytes.length);
  }
}

/**
 * Encodes messages that go to many connections, each once: the engine delivers a message to all its
 * receivers before the next one, so that remembering the last is enough.
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
