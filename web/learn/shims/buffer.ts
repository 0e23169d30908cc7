/** The part of Node's Buffer that the engine uses, on Uint8Array. */
class PortableBuffer extends Uint8Array {
  static override from(
    source: string | Iterable<number> | ArrayLike<number>,
    encoding?: unknown,
  ): PortableBuffer {
    if (typeof source !== 'string')
      return new PortableBuffer(Array.from(source as Iterable<number>));
    if (encoding === 'latin1') return fromLatin1(source);
    const bytes = new TextEncoder().encode(source);
    return new PortableBuffer(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  static alloc(length: number): PortableBuffer {
    return new PortableBuffer(length);
  }

  static allocUnsafe(length: number): PortableBuffer {
    return new PortableBuffer(length);
  }

  static allocUnsafeSlow(length: number): PortableBuffer {
    return new PortableBuffer(length);
  }

  static byteLength(text: string): number {
    return new TextEncoder().encode(text).length;
  }

  static concat(chunks: readonly Uint8Array[]): PortableBuffer {
    const all = new PortableBuffer(chunks.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }

  override toString(encoding = 'utf8', start = 0, end = this.length): string {
    if (encoding === 'latin1') return this.latin1Slice(start, end);
    if (encoding === 'hex') return Array.from(this, hexOf).join('');
    if (encoding === 'base64') return btoa(this.latin1Slice(start, end));
    return new TextDecoder().decode(this.subarray(start, end));
  }

  latin1Slice(start = 0, end = this.length): string {
    let text = '';
    for (let at = start; at < end; at += PIECE) {
      text += String.fromCharCode(...super.subarray(at, Math.min(at + PIECE, end)));
    }
    return text;
  }

  latin1Write(text: string, offset: number): number {
    for (let at = 0; at < text.length; at++) this[offset + at] = text.charCodeAt(at);
    return text.length;
  }

  copy(target: Uint8Array, targetStart = 0, start = 0, end = this.length): number {
    target.set(this.subarray(start, end), targetStart);
    return end - start;
  }
}

/** String.fromCharCode takes this many arguments in every browser. */
const PIECE = 8192;

function fromLatin1(text: string): PortableBuffer {
  const bytes = new PortableBuffer(text.length);
  bytes.latin1Write(text, 0);
  return bytes;
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

export { PortableBuffer as Buffer };
