/**
 * SHA-1 and SHA-256 of bytes, synchronous, as EVAL needs them. The one in the browser returns a promise.
 * Both follow FIPS 180-4.
 */
export function sha1(bytes: Uint8Array): Uint8Array {
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  const words = new Int32Array(80);
  for (const block of blocks(bytes)) {
    for (let at = 0; at < 16; at++) words[at] = block.getInt32(at * 4);
    for (let at = 16; at < 80; at++) {
      words[at] = turned(words[at - 3]! ^ words[at - 8]! ^ words[at - 14]! ^ words[at - 16]!, 1);
    }
    let [a, b, c, d, e] = state as [number, number, number, number, number];
    for (let at = 0; at < 80; at++) {
      const mixed =
        at < 20 ? (b & c) | (~b & d) : at < 40 || at >= 60 ? b ^ c ^ d : majority(b, c, d);
      const next = (turned(a, 5) + mixed + e + SHA1_ADDENDS[Math.floor(at / 20)]! + words[at]!) | 0;
      [e, d, c, b, a] = [d, c, turned(b, 30), a, next];
    }
    add(state, [a, b, c, d, e]);
  }
  return bytesOf(state);
}

export function sha256(bytes: Uint8Array): Uint8Array {
  const state = [...SHA256_START];
  const words = new Int32Array(64);
  for (const block of blocks(bytes)) {
    for (let at = 0; at < 16; at++) words[at] = block.getInt32(at * 4);
    for (let at = 16; at < 64; at++) {
      const [early, late] = [words[at - 15]!, words[at - 2]!];
      const s0 = turned(early, 25) ^ turned(early, 14) ^ (early >>> 3);
      const s1 = turned(late, 15) ^ turned(late, 13) ^ (late >>> 10);
      words[at] = words[at - 16]! + s0 + words[at - 7]! + s1;
    }
    const now = [...state];
    for (let at = 0; at < 64; at++) {
      const [a, b, c, d, e, f, g, h] = now as [
        number,
        number,
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      const s1 = turned(e, 26) ^ turned(e, 21) ^ turned(e, 7);
      const first = (h + s1 + ((e & f) ^ (~e & g)) + SHA256_ADDENDS[at]! + words[at]!) | 0;
      const s0 = turned(a, 30) ^ turned(a, 19) ^ turned(a, 10);
      const second = (s0 + majority(a, b, c)) | 0;
      now.pop();
      now.unshift((first + second) | 0);
      now[4] = (d + first) | 0;
    }
    add(state, now);
  }
  return bytesOf(state);
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function majority(a: number, b: number, c: number): number {
  return (a & b) ^ (a & c) ^ (b & c);
}

function add(state: number[], more: readonly number[]): void {
  for (const [at, word] of more.entries()) state[at] = (state[at]! + word) | 0;
}

/** The bytes, a one bit, zeros and the length, in blocks of 64 bytes. */
function* blocks(bytes: Uint8Array): Generator<DataView> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  for (let at = 0; at < padded.length; at += 64) yield new DataView(padded.buffer, at, 64);
}

function bytesOf(state: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(state.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [at, word] of state.entries()) view.setInt32(at * 4, word);
  return bytes;
}

const SHA1_ADDENDS = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6];

const PRIMES = primes(64);
/** The first 32 bits of the fractions of the square roots of eight primes, and of the cube roots of 64. */
const SHA256_START = PRIMES.slice(0, 8).map((prime) => fraction(prime ** (1 / 2)));
const SHA256_ADDENDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) | 0;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) {
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  }
  return found;
}
