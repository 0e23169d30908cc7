import { expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { crc32, tableCrc32 } from './crc32.ts';

it('the CRC for old versions of Node is that of zlib, also when it is continued', () => {
  const bytes = Buffer.from(seededRandom(1).bytes(1000));
  const first = tableCrc32(bytes.subarray(0, 300));
  expect(tableCrc32(bytes.subarray(300), first)).toBe(crc32(bytes));
  expect(tableCrc32('123456789')).toBe(0xcb_f4_39_26);
});
