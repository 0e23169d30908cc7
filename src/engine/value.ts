import { stringBytes } from './footprint.ts';
import type { HashValue } from './hash-value.ts';
import type { ListValue } from './list-value.ts';
import type { SetValue } from './set-value.ts';
import type { SortedSetValue } from './sorted-set-value.ts';

/** The value of a key. A Redis string is a JavaScript string with one char per byte. */
export type Value = string | Collection;

export type Collection = HashValue | ListValue | SetValue | SortedSetValue;

export type TypeName = 'string' | Collection['type'];

export function typeName(value: Value): TypeName {
  return typeof value === 'string' ? 'string' : value.type;
}

export function valueBytes(value: Value): number {
  return typeof value === 'string' ? stringBytes(value) : value.bytes;
}
