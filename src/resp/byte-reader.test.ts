import { describe, expect, it } from 'vitest';
import { ByteReader } from './byte-reader.ts';

/** Node makes small buffers in a pool of 8 KiB. */
function pooled(text: string): Buffer {
  const chunk = Buffer.from(text);
  expect(chunk.buffer.byteLength).toBe(Buffer.poolSize);
  return chunk;
}

describe('compact', () => {
  it('drops a chunk that is used up', () => {
    const reader = new ByteReader();
    reader.push(pooled('used'));
    expect(reader.takeBytes(4)).toBe(true);
    reader.dropPiece();
    reader.compact();
    expect([reader.chunk.buffer.byteLength, reader.position]).toEqual([0, 0]);
    expect(reader.advance()).toBe(false);
  });

  it('copies the rest of a chunk out of the pool', () => {
    const reader = new ByteReader();
    reader.push(pooled('used rest'));
    expect(reader.takeBytes(5)).toBe(true);
    reader.compact();
    expect(reader.chunk.buffer.byteLength).toBe('rest'.length);
    expect(reader.takeBytes(4)).toBe(true);
    expect(reader.piece.toString('latin1', reader.pieceStart, reader.pieceEnd)).toBe('rest');
  });
});

describe('compact, for a large chunk', () => {
  it.each([
    [1, 1],
    [30_000, 30_000],
    [40_000, 65_536],
  ])('with %d unread bytes keeps %d bytes', (unread, kept) => {
    const reader = new ByteReader();
    reader.push(Buffer.allocUnsafeSlow(65_536));
    reader.takeBytes(65_536 - unread);
    reader.compact();
    expect(reader.chunk.buffer.byteLength).toBe(kept);
    expect(reader.unreadBytes).toBe(unread);
  });
});

describe('a piece that spans chunks', () => {
  it('is kept in memory of its own, and dropped with the piece', () => {
    const reader = new ByteReader();
    reader.push(pooled('half a '));
    expect(reader.takeBytes(11)).toBe(false);
    reader.push(pooled('line'));
    expect(reader.advance()).toBe(true);
    expect(reader.takeBytes(11)).toBe(true);
    expect(reader.piece.buffer.byteLength).toBeLessThan(Buffer.poolSize);
    expect(reader.piece.toString('latin1', reader.pieceStart, reader.pieceEnd)).toBe('half a line');
  });
});

describe('chunks that wait', () => {
  it('are in memory of their own', () => {
    const reader = new ByteReader();
    reader.push(pooled('first'));
    for (const text of ['second', 'third']) reader.push(pooled(text));
    expect(reader.takeBytes(5)).toBe(true);
    expect(reader.advance()).toBe(true);
    expect(reader.chunk.toString()).toBe('secondthird');
    expect(reader.chunk.buffer.byteLength).toBe('secondthird'.length);
  });
});
