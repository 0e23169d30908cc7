import { expect, it } from 'vitest';
import { crc32, tableCrc32 } from './crc32.ts';

it('the CRC of a Node without its own is the same, also in parts', () => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, at) => (at * 7) & 0xff));
  expect(tableCrc32('123456789')).toBe(0xcb_f4_39_26);
  expect(tableCrc32(bytes)).toBe(crc32(bytes));
  const parts = tableCrc32(bytes.subarray(300), tableCrc32(bytes.subarray(0, 300)));
  expect(parts).toBe(crc32(bytes));
});
