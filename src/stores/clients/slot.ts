const SLOTS = 16384;

/** The slot of a Redis Cluster that a key belongs to. */
export function slotOf(key: string): number {
  return crc16(Buffer.from(hashTag(key))) % SLOTS;
}

/** The part between the first `{` and the next `}`, if it is not empty; else the whole key. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}

/** CRC-16/XMODEM: polynomial 0x1021, from 0, the highest bit first. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]!;
  return crc;
}

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
  return crc;
});
