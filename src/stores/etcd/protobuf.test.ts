import { describe, expect, it } from 'vitest';
import { bool, int, Message, message, repeated, text } from './protobuf.ts';

interface Inner {
  readonly count: number;
}

interface Outer {
  readonly id: number;
  readonly isOn: boolean;
  readonly name: string;
  readonly inner: Inner | undefined;
  readonly filters: readonly number[];
}

const INNER = new Message<Inner>({ count: int(1) });
const OUTER = new Message<Outer>({
  id: int(1),
  isOn: bool(2),
  name: text(3),
  inner: message(4, INNER),
  filters: repeated(int(64)),
});

describe('a protobuf message', () => {
  it.each([0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER])(
    'decodes the number %d that it encodes',
    (id) => expect(OUTER.decode(OUTER.encode({ id })).id).toBe(id),
  );

  it('is encoded as protoc does', () => {
    const bytes = OUTER.encode({ id: 300, isOn: true, name: 'é', inner: { count: 1 } });
    expect(bytes.toString('hex')).toBe('08ac0210011a02c3a922020801');
  });

  it('writes elements of repeated fields that are 0, and an empty message', () => {
    expect(OUTER.encode({ filters: [0] }).toString('hex')).toBe('800400');
    expect(OUTER.encode({ inner: { count: 0 } }).toString('hex')).toBe('2200');
  });

  it('decodes missing fields as their defaults', () => {
    const empty = { id: 0, isOn: false, name: '', inner: undefined, filters: [] };
    expect(OUTER.decode(Buffer.alloc(0))).toEqual(empty);
  });

  it('skips unknown fields of all wire types', () => {
    const unknown = Buffer.from('4801' + '510000000000000000' + '5a0161' + '6500000000', 'hex');
    expect(OUTER.decode(Buffer.concat([unknown, OUTER.encode({ id: 7 })])).id).toBe(7);
  });

  it('holds more bytes than the first buffer', () => {
    const name = '锁'.repeat(1000);
    expect(OUTER.decode(OUTER.encode({ name, id: 1 }))).toMatchObject({ name, id: 1 });
  });

  it.each(['08', '1a05', '1aff', '0f', '08ffffffffffffffffffff01'])('throws for %s', (hex) =>
    expect(() => OUTER.decode(Buffer.from(hex, 'hex'))).toThrow(/protobuf/),
  );
});
