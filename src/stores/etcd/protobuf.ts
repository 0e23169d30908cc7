/**
 * A message type of protocol buffers (proto3): encodes and decodes the fields of a table. Fields that are not in the
 * table are skipped. Strings are UTF-8. Integers are exact up to 2^53; a larger one loses its lowest bits.
 */
export class Message<Value extends object> {
  readonly #fields: readonly (readonly [name: string, field: Field])[];
  readonly #byNumber = new Map<number, readonly [name: string, field: Field]>();

  constructor(fields: { readonly [Name in keyof Value]-?: Field }) {
    this.#fields = Object.entries<Field>(fields);
    for (const each of this.#fields) this.#byNumber.set(each[1].number, each);
  }

  /** Fields that are left out or have the default value are not written, except elements of a repeated field. */
  encode(value: Partial<Value>): Buffer {
    const writer = new Writer();
    const values = value as Readonly<Record<string, unknown>>;
    for (const [name, field] of this.#fields) {
      const given = values[name];
      if (given === undefined) continue;
      if (field.isRepeated) for (const each of given as unknown[]) writer.field(field, each);
      else if (given !== 0 && given !== '' && given !== false) writer.field(field, given);
    }
    return writer.toBuffer();
  }

  /** @throws Error if the bytes are no message. */
  decode(bytes: Buffer): Value {
    const value: Record<string, unknown> = {};
    for (const [name, field] of this.#fields) value[name] = emptyValue(field);
    const reader = new Reader(bytes);
    while (!reader.isAtEnd) {
      const tag = reader.varint();
      const [name, field] = this.#byNumber.get(Math.floor(tag / 8)) ?? [];
      const wire = tag % 8;
      if (name === undefined || field === undefined || wire !== wireOf(field)) reader.skip(wire);
      else if (field.isRepeated) (value[name] as unknown[]).push(reader.value(field));
      else value[name] = reader.value(field);
    }
    return value as Value;
  }
}

export interface Field {
  readonly number: number;
  /** A message is given by a function: a type may contain itself. */
  readonly type: 'int' | 'bool' | 'text' | (() => Message<never>);
  readonly isRepeated: boolean;
}

export const int = (number: number): Field => ({ number, type: 'int', isRepeated: false });
export const bool = (number: number): Field => ({ number, type: 'bool', isRepeated: false });
export const text = (number: number): Field => ({ number, type: 'text', isRepeated: false });

export function message<Value extends object>(
  number: number,
  type: Message<Value> | (() => Message<Value>),
): Field {
  const get = typeof type === 'function' ? type : () => type;
  return { number, type: get as unknown as () => Message<never>, isRepeated: false };
}

export function repeated(field: Field): Field {
  return { ...field, isRepeated: true };
}

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

function wireOf({ type }: Field): number {
  return type === 'int' || type === 'bool' ? VARINT : BYTES;
}

function emptyValue({ type, isRepeated }: Field): unknown {
  if (isRepeated) return [];
  if (type === 'int') return 0;
  if (type === 'bool') return false;
  return type === 'text' ? '' : undefined;
}

class Writer {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  toBuffer(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  field({ number, type }: Field, value: unknown): void {
    if (type === 'int' || type === 'bool') {
      this.#varint(number * 8 + VARINT);
      this.#varint(Number(value));
      return;
    }
    this.#varint(number * 8 + BYTES);
    const bytes = type === 'text' ? Buffer.from(value as string) : type().encode(value as never);
    this.#varint(bytes.length);
    this.#reserve(bytes.length);
    bytes.copy(this.#bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Not negative: no field that this client sends is. */
  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  value({ type }: Field): unknown {
    if (type === 'int') return this.varint();
    if (type === 'bool') return this.varint() !== 0;
    const bytes = this.#take(this.varint());
    return type === 'text' ? bytes.toString() : type().decode(bytes);
  }

  /** A negative number has ten bytes and becomes a huge positive one: no field that this client reads is negative. */
  varint(): number {
    let value = 0;
    for (let factor = 1, count = 0; count < 10; count++, factor *= 0x80) {
      const byte = this.#take(1)[0]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error('a protobuf number has more than ten bytes');
  }

  skip(wire: number): void {
    if (wire === VARINT) this.varint();
    else if (wire === BYTES) this.#take(this.varint());
    else if (wire === FIXED_64) this.#take(8);
    else if (wire === FIXED_32) this.#take(4);
    else throw new Error(`a protobuf field has the unknown wire type ${wire}`);
  }

  #take(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new Error('a protobuf message ends too early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
