import type { Encoded } from './store.ts';

/** How values become text or bytes, and values again. */
export interface Serializer {
  encode(value: unknown): Encoded;
  decode(data: Encoded): unknown;
}

/** JSON, and `undefined` as nothing at all. */
export const jsonSerializer: Serializer = {
  encode(value) {
    if (value === undefined) return '';
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return text;
    throw new TypeError(`a ${typeof value} cannot be kept as JSON. Choose another serializer.`);
  },
  decode(data) {
    if (data.length === 0) return undefined;
    return JSON.parse(typeof data === 'string' ? data : new TextDecoder().decode(data));
  },
};

/** Bytes as they are: Buffer or any Uint8Array in, Buffer out. */
export const bytesSerializer: Serializer = {
  encode(value) {
    // A copy: who made it may use its memory again.
    if (value instanceof Uint8Array) return Uint8Array.from(value);
    throw new TypeError(`bytesSerializer keeps Uint8Array; got ${typeof value}`);
  },
  decode(data) {
    return typeof data === 'string' ? Buffer.from(data) : Buffer.from(data);
  },
};
