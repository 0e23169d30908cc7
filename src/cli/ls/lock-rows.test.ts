import { describe, expect, it } from 'vitest';
import { type ListedHolder, type ListedLock, WRITER_PERMITS } from '../../stores/index.ts';
import { lockRows } from './lock-rows.ts';

const HOLDER: ListedHolder = {
  owner: 'client.1',
  info: { host: 'vm', pid: 7, label: 'job' },
  permits: 1,
  fence: 10,
  ageMs: 500,
  leftMs: 900,
  foreignType: undefined,
};
const WRITER: ListedHolder = { ...HOLDER, permits: WRITER_PERMITS, fence: 11, leftMs: 800 };

function lock(kind: ListedLock['kind'], ...holders: ListedHolder[]): ListedLock {
  const nameBytes = 'deploy';
  return { kind, nameBytes, holderCount: holders.length, holders, waiterCount: 2, waiters: [] };
}

describe('lockRows', () => {
  it('returns one row with the larger fence and the shorter lease for a run', () => {
    expect(lockRows([lock('mutex', HOLDER), lock('rw', WRITER)])).toEqual([
      {
        ...lock('mutex', { ...HOLDER, fence: 11, leftMs: 800 }),
        kind: 'mutex+write',
        waiterCount: 4,
      },
    ]);
  });

  it.each([
    ['the process is another', { ...WRITER, info: { ...WRITER.info!, pid: 8 } }],
    ['the host is another', { ...WRITER, info: { ...WRITER.info!, host: 'vm2' } }],
    ['the label is another', { ...WRITER, info: { ...WRITER.info!, label: 'other' } }],
    ['the holder is a reader', { ...WRITER, permits: 1 }],
    ['the holder does not use Holdfast', { ...WRITER, info: undefined }],
  ])('returns two rows when %s', (_case, holder) => {
    const rows = lockRows([lock('mutex', HOLDER), lock('rw', holder)]);
    expect(rows.map(({ kind }) => kind)).toEqual([
      'mutex',
      holder.permits === 1 ? 'read' : 'write',
    ]);
  });

  it('returns two rows for locks of other names and other kinds', () => {
    const named = { ...lock('rw', WRITER), nameBytes: 'other' };
    expect(lockRows([lock('mutex', HOLDER), named])).toHaveLength(2);
    expect(lockRows([lock('mutex', HOLDER), lock('semaphore', HOLDER)])).toHaveLength(2);
    expect(lockRows([lock('mutex', HOLDER), lock('rw')])).toHaveLength(2);
  });
});
