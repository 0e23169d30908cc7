import type { Random } from '../src/clock/index.ts';

/**
 * Makes a stream of frames invalid, by random mutations of any bytes and of lengths and line breaks.
 */
export function mutate(bytes: Buffer, other: Buffer, random: Random): Buffer {
  let mutated = bytes;
  for (let times = 1 + below(random, 3); times > 0; times--) {
    mutated = MUTATIONS[below(random, MUTATIONS.length)]!(mutated, random, other);
  }
  return mutated;
}

export function below(random: Random, limit: number): number {
  return Math.floor(random.next() * limit);
}

type Mutation = (bytes: Buffer, random: Random, other: Buffer) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const flipped = Buffer.from(bytes);
    const at = anywhere(bytes, random);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << below(random, 8));
    return flipped;
  },
  function insertByte(bytes, random) {
    const byte = TELLING_BYTES[below(random, TELLING_BYTES.length)] ?? below(random, 256);
    return replace(bytes, anywhere(bytes, random), 0, Buffer.of(byte));
  },
  function deleteBytes(bytes, random) {
    return replace(bytes, anywhere(bytes, random), 1 + below(random, 4), NOTHING);
  },
  function duplicate(bytes, random) {
    const start = anywhere(bytes, random);
    const run = bytes.subarray(start, start + 1 + below(random, 40));
    return replace(bytes, start, 0, run);
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, anywhere(bytes, random));
  },
  function splice(bytes, random, other) {
    const head = bytes.subarray(0, anywhere(bytes, random));
    return Buffer.concat([head, other.subarray(anywhere(other, random))]);
  },
  function changeLength(bytes, random) {
    const sigil = lengthAfter(bytes, anywhere(bytes, random));
    if (sigil < 0) return bytes;
    let end = sigil + 1;
    while (end < bytes.length && bytes[end] !== CR) end++;
    const extreme = EXTREME_LENGTHS[below(random, EXTREME_LENGTHS.length)]!;
    return replace(bytes, sigil + 1, end - sigil - 1, Buffer.from(extreme));
  },
  function changeLengthByOne(bytes, random) {
    const sigil = lengthAfter(bytes, anywhere(bytes, random));
    const lastDigit = bytes.indexOf(CR, sigil) - 1;
    if (sigil < 0 || lastDigit < 0) return bytes;
    const changed = Buffer.from(bytes);
    changed[lastDigit]! += random.next() < 0.5 ? 1 : -1;
    return changed;
  },
];

const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
const TELLING_BYTES = Buffer.from('\r\n\0*$"\'\\- 019+_x\xff', 'latin1');
const EXTREME_LENGTHS = [
  ...['', '0', '-0', '00', '1', '-1', '-2', '+1', ' 1', '1 ', '10', '11', '12', '1e3', '0x10'],
  ...['16384', '16385', '65536', '1048577', '2147483647', '2147483648', '4294967296'],
  ...['536870888', '536870913', '9007199254740993', '9223372036854775807', '9223372036854775808'],
  ...['-9223372036854775808', '-9223372036854775809', '18446744073709551616', '9'.repeat(30)],
];

function anywhere(bytes: Buffer, random: Random): number {
  return below(random, bytes.length + 1);
}

/** The position of the next count or length, or -1. */
function lengthAfter(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (SIGILS.includes(bytes[at]!)) return at;
  }
  return -1;
}

const SIGILS = Buffer.from('*$%~>=!|', 'latin1');

function replace(bytes: Buffer, start: number, removed: number, inserted: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(start + removed)]);
}
