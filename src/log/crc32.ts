import zlib from 'node:zlib';

/** The CRC-32 of bytes, continued from that of earlier bytes. */
export const crc32: (bytes: Buffer | string, earlier?: number) => number =
  // Node has it since 20.15 and 22.2.
  zlib.crc32 ?? tableCrc32;

export function tableCrc32(bytes: Buffer | string, earlier = 0): number {
  const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  let crc = ~earlier;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xed_b8_83_20 : crc >>> 1;
  return crc;
});
