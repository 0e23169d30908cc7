import { Buffer } from './buffer.ts';
import { sha1, sha256 } from './hash.ts';

/** The part of node:crypto that the engine uses: names of scripts, hashes of passwords and of long names. */
export function createHash(name: string): Hash {
  return new Hash(name === 'sha1' ? sha1 : sha256);
}

class Hash {
  readonly #hash: (bytes: Uint8Array) => Uint8Array;
  #parts: Uint8Array[] = [];

  constructor(hash: (bytes: Uint8Array) => Uint8Array) {
    this.#hash = hash;
  }

  update(text: string, encoding?: string): this {
    this.#parts.push(Buffer.from(text, encoding));
    return this;
  }

  digest(encoding: string): string {
    return Buffer.from(this.#hash(Buffer.concat(this.#parts))).toString(encoding);
  }
}

export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

export function randomFillSync<Bytes extends Uint8Array<ArrayBuffer>>(bytes: Bytes): Bytes {
  return crypto.getRandomValues(bytes);
}

export function randomUUID(): string {
  return crypto.randomUUID();
}

export function randomBytes(count: number): Uint8Array {
  return randomFillSync(new Uint8Array(count));
}
