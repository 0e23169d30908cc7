import { Buffer as NodeBuffer } from 'node:buffer';
import { createHash as nodeHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Buffer } from './buffer.ts';
import { createHash, timingSafeEqual } from './crypto.ts';

const TEXTS = [
  '',
  'a',
  'abc',
  'é\xff\x00',
  'x'.repeat(55),
  'y'.repeat(56),
  'z'.repeat(64),
  'w'.repeat(20_000),
];

describe('createHash', () => {
  it.each(['sha1', 'sha256'])('gives the %s of Node', (name) => {
    for (const text of TEXTS) {
      for (const encoding of ['hex', 'base64'] as const) {
        const wanted = nodeHash(name).update(text, 'latin1').digest(encoding);
        expect(createHash(name).update(text, 'latin1').digest(encoding)).toBe(wanted);
      }
    }
  });

  it('takes text as UTF-8 without an encoding', () => {
    const wanted = nodeHash('sha1').update('锁').digest('hex');
    expect(createHash('sha1').update('锁').digest('hex')).toBe(wanted);
  });
});

describe('Buffer', () => {
  it('converts as Node does', () => {
    for (const text of TEXTS) {
      for (const encoding of ['latin1', 'utf8'] as const) {
        const [own, node] = [Buffer.from(text, encoding), NodeBuffer.from(text, encoding)];
        expect([...own]).toEqual([...node]);
        expect(own.toString(encoding)).toBe(node.toString(encoding));
        expect(own.toString('hex')).toBe(node.toString('hex'));
      }
    }
  });

  it('copies, concatenates and keeps its class in views', () => {
    const all = Buffer.concat([Buffer.from('ab', 'latin1'), Buffer.from('cd', 'latin1')]);
    const target = Buffer.alloc(4);
    expect((all.subarray(1) as typeof all).copy(target, 1, 0, 2)).toBe(2);
    expect((target.subarray(0, 3) as typeof target).latin1Slice()).toBe('\0bc');
    expect(target.latin1Write('xyz', 0)).toBe(3);
    expect(target.toString('latin1')).toBe('xyz\0');
  });

  it('compares without a difference in length', () => {
    expect(timingSafeEqual(Buffer.from('a'), Buffer.from('a'))).toBe(true);
    expect(timingSafeEqual(Buffer.from('a'), Buffer.from('ab'))).toBe(false);
  });
});
