import type { Socket } from 'node:net';
import type { ClientMemory } from '../engine/index.ts';
import type { SharedChunk } from './shared-chunks.ts';

/**
 * The output of one client: chunks that are not written, and bytes that the client has not read. The client's memory
 * is charged for unread bytes once they exceed MIN_ACCOUNTED_BYTES.
 */
export class Output {
  readonly #socket: Socket;
  readonly #memory: ClientMemory;
  #pending: (Buffer | SharedChunk)[] = [];
  #pendingBytes = 0;
  /** Chunks that wait for the log, in order. */
  #held: HeldChunks[] = [];
  #heldBytes = 0;

  constructor(socket: Socket, memory: ClientMemory) {
    this.#socket = socket;
    this.#memory = memory;
    socket.on('drain', () => this.#account());
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  /** Whether chunks wait for the log. */
  get isHeld(): boolean {
    return this.#held.length > 0;
  }

  /** The bytes that are here or in the buffer of the socket. */
  get unreadBytes(): number {
    return this.#pendingBytes + this.#heldBytes + this.#socket.writableLength;
  }

  add(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) {
      this.#pending.push(chunk);
      this.#pendingBytes += chunk.length + CHUNK_BYTES;
    }
  }

  addShared(chunks: readonly SharedChunk[]): void {
    for (const chunk of chunks) {
      if (chunk.bytes.length < MIN_SHARED_BYTES) this.add([chunk.bytes]);
      else {
        chunk.hold();
        this.#memory.share(chunk.bytes.length);
        this.#pending.push(chunk);
        this.#pendingBytes += chunk.bytes.length;
      }
    }
  }

  /** Keeps what is not written until `release` is called with this number or a higher one. */
  hold(number: number): void {
    const bytes = this.#pendingBytes;
    this.#heldBytes += bytes;
    this.#held.push({ number, bytes, chunks: this.#takePending() });
  }

  /** Writes the chunks that were held for this number or a lower one. */
  release(number: number): void {
    const count = this.#held.findIndex((held) => held.number > number);
    const released = this.#held.splice(0, count < 0 ? this.#held.length : count);
    for (const { bytes } of released) this.#heldBytes -= bytes;
    if (released.length > 0) this.#send(released.flatMap(({ chunks }) => chunks));
  }

  /** Writes everything that is not held to the socket, in one system call if possible. */
  flush(): void {
    this.#send(this.#takePending());
  }

  #send(pending: readonly (Buffer | SharedChunk)[]): void {
    const socket = this.#socket;
    if (pending.length === 1 && Buffer.isBuffer(pending[0])) socket.write(pending[0]);
    else {
      socket.cork();
      for (const chunk of joined(pending)) this.#write(chunk);
      socket.uncork();
    }
    if (socket.writableLength > MIN_ACCOUNTED_BYTES || this.#memory.uses.output > 0) {
      this.#account();
    }
  }

  /** Drops chunks that were not written: the connection ends. */
  close(): void {
    const dropped = [...this.#held.flatMap(({ chunks }) => chunks), ...this.#takePending()];
    this.#held = [];
    this.#heldBytes = 0;
    for (const chunk of dropped) if (!Buffer.isBuffer(chunk)) this.#release(chunk);
    this.#memory.set('output', 0);
  }

  #takePending(): (Buffer | SharedChunk)[] {
    const pending = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return pending;
  }

  #write(chunk: Buffer | SharedChunk): void {
    if (Buffer.isBuffer(chunk)) this.#socket.write(chunk);
    // Node calls back when the bytes are written, or when the socket is destroyed before.
    else this.#socket.write(chunk.bytes, () => this.#release(chunk));
  }

  #release(chunk: SharedChunk): void {
    chunk.release();
    this.#memory.share(-chunk.bytes.length);
  }

  #account(): void {
    if (this.#socket.destroyed) return;
    const ownBytes = this.#socket.writableLength - this.#memory.sharedBytes;
    this.#memory.set('output', Math.max(0, ownBytes));
  }
}

interface HeldChunks {
  /** The frame of the log that they wait for. */
  readonly number: number;
  readonly bytes: number;
  readonly chunks: readonly (Buffer | SharedChunk)[];
}

/** Joins runs of small chunks: each chunk costs the socket an object and a part of a system call. */
function joined(chunks: readonly (Buffer | SharedChunk)[]): (Buffer | SharedChunk)[] {
  const result: (Buffer | SharedChunk)[] = [];
  let small: Buffer[] = [];
  let smallBytes = 0;
  const join = (): void => {
    if (small.length > 0) result.push(small.length === 1 ? small[0]! : Buffer.concat(small));
    small = [];
    smallBytes = 0;
  };
  for (const chunk of chunks) {
    if (!Buffer.isBuffer(chunk) || smallBytes + chunk.length > JOINED_BYTES) join();
    if (!Buffer.isBuffer(chunk)) result.push(chunk);
    else {
      small.push(chunk);
      smallBytes += chunk.length;
    }
  }
  join();
  return result;
}

/** The memory of a Buffer object, beside its bytes. */
const CHUNK_BYTES = 128;
/** A smaller message is counted for each receiver, which is less work than sharing it. */
const MIN_SHARED_BYTES = 16 * 1024;
/** The kernel usually accepts this much at once. */
const MIN_ACCOUNTED_BYTES = 16 * 1024;
const JOINED_BYTES = 64 * 1024;
