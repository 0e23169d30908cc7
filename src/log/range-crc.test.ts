import { expect, it } from 'vitest';
import { SimulatedDisk } from '../../test/simulated-disk.ts';
import { crc32 } from './crc32.ts';
import { RangeCrc } from './range-crc.ts';

it('the CRC of a part is that of its bytes, continued from an earlier one', () => {
  const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, at) => (at * at * 7) & 0xff));
  const disk = new SimulatedDisk();
  disk.create('file').write([bytes]);
  const parts = new RangeCrc(disk, 'file', 10);
  const ends = [10, 11, 500, 4105, 4106, 4107, 8202, 9999, 10_000];
  for (const from of ends) {
    for (const to of ends.filter((end) => end >= from)) {
      expect(parts.of(from, to, 0x12_34_56_78)).toBe(
        crc32(bytes.subarray(from, to), 0x12_34_56_78),
      );
    }
  }
});
