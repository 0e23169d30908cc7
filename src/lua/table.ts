import { allocate } from './memory.ts';
import type { LuaValue } from './value.ts';
import { nextIdentity } from './value.ts';

/** Bytes that V8 uses for a table, an item of its array part, a node part and a node: measured, rounded up. */
const TABLE_BYTES = 112;
const ITEM_BYTES = 16;
const NODE_PART_BYTES = 512;
const NODE_BYTES = 64;

/**
 * V8 hashes a string that is longer than this by its length alone, so a Map compares such a key with
 * every other one of the same length.
 */
const LONG_KEY = 16383;

/**
 * A Lua table that keeps the order and the borders of C Lua 5.1's tables.
 *
 * Scripts can observe two details of a table's layout: the order in which `pairs`, `next` and
 * `cjson.encode` iterate, and the border that `#` finds when there are holes. Both follow from C
 * Lua's layout: an array part whose size is chosen at each rehash so that more than half of it is
 * in use, and a node part of a power of two, in which a colliding key takes the last free node
 * (Brent's variation). This class uses the same layout, so an iteration has the same order as in
 * Redis. A lookup does not follow the collision chains: it uses a Map from key to node. The chains
 * are updated only when a key is inserted.
 *
 * `array` may be shorter than `arraySize`; what is missing at its end is nil.
 */
export class LuaTable {
  metatable: LuaTable | undefined = undefined;
  /** Set on the shared libraries and globals, which scripts must not change. */
  locked = false;
  identity = 0;
  private array: LuaValue[];
  private arraySize: number;
  private hash: NodePart | null;

  constructor(arraySize = 0, hashSize = 0) {
    allocate(TABLE_BYTES + arraySize * ITEM_BYTES);
    this.array = [];
    this.arraySize = arraySize;
    this.hash = hashSize === 0 ? null : new NodePart(powerOfTwo(hashSize));
  }

  /** Takes the array over as items 1 to n, as if they had been appended one by one. */
  static fromList(items: LuaValue[]): LuaTable {
    const table = new LuaTable(items.length === 0 ? 0 : powerOfTwo(items.length));
    table.array = items;
    return table;
  }

  /** Takes the array over as the positional items of a constructor, which fixes their number. */
  static fromConstructor(items: LuaValue[], arraySize: number): LuaTable {
    const table = new LuaTable(Math.max(arraySize, items.length));
    table.array = items;
    return table;
  }

  /** Sets the positional items of a constructor that has keyed fields too. */
  setConstructorItems(items: readonly LuaValue[]): void {
    if (items.length > this.arraySize) this.resize(items.length, this.hash?.size ?? 0);
    for (let at = items.length; at >= 1; at--) this.setNumber(at, items[at - 1]);
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'string') return this.getString(key);
    if (typeof key === 'number') return this.getNumber(key);
    return this.hash === null ? undefined : this.hash.get(key);
  }

  getString(key: string): LuaValue {
    return this.hash === null ? undefined : this.hash.get(key);
  }

  getNumber(key: number): LuaValue {
    const index = key | 0;
    if (index === key && index >= 1 && index <= this.array.length) return this.array[index - 1];
    return this.hash === null ? undefined : this.hash.get(key);
  }

  /** Sets without metamethods. The key is neither nil nor NaN; `locked` was checked. */
  set(key: LuaValue, value: LuaValue): void {
    if (typeof key === 'number') this.setNumber(key, value);
    else this.setNode(key, value);
  }

  setNumber(key: number, value: LuaValue): void {
    const index = key | 0;
    if (index === key && index >= 1 && index <= this.arraySize) this.setItem(index, value);
    else this.setNode(key, value);
  }

  setString(key: string, value: LuaValue): void {
    this.setNode(key, value);
  }

  private setItem(index: number, value: LuaValue): void {
    const { array } = this;
    if (index <= array.length) array[index - 1] = value;
    else if (value !== undefined) {
      while (array.length < index - 1) array.push(undefined);
      array.push(value);
    }
  }

  private setNode(key: LuaValue, value: LuaValue): void {
    if (this.hash?.replace(key, value)) return;
    if (this.hash === null || !this.hash.insert(key, value)) {
      this.rehash(key);
      this.set(key, value);
    }
  }

  /** The border that C Lua's `#` would find. */
  length(): number {
    const size = this.arraySize;
    if (size > 0 && this.item(size) === undefined) return this.borderWithin(0, size);
    if (this.hash === null) return size;
    return this.borderBeyond(size);
  }

  private item(index: number): LuaValue {
    return index <= this.array.length ? this.array[index - 1] : undefined;
  }

  private borderWithin(from: number, to: number): number {
    let low = from;
    let high = to;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.getNumber(middle) === undefined) high = middle;
      else low = middle;
    }
    return low;
  }

  private borderBeyond(from: number): number {
    let low = from;
    let high = from + 1;
    while (this.getNumber(high) !== undefined) {
      low = high;
      high *= 2;
    }
    return this.borderWithin(low, high);
  }

  /** The largest positive numeric key, for table.maxn. */
  largestIndex(): number {
    let largest = 0;
    for (let at = this.advance(-1); at >= 0; at = this.advance(at)) {
      const key = this.keyAt(at);
      if (typeof key === 'number' && key > largest) largest = key;
    }
    return largest;
  }

  /** The place of a key in the walk, -1 for nil, undefined for a key that was never there. */
  placeOf(key: LuaValue): number | undefined {
    if (key === undefined) return -1;
    if (typeof key === 'number') {
      const index = key | 0;
      if (index === key && index >= 1 && index <= this.arraySize) return index - 1;
    }
    const node = this.hash === null ? undefined : this.hash.find(key);
    return node === undefined ? undefined : node + this.arraySize;
  }

  /** The next place after `place` that holds a value, or -1 at the end of the walk. */
  advance(place: number): number {
    const { array, arraySize, hash } = this;
    let next = place + 1;
    for (; next < array.length; next++) if (array[next] !== undefined) return next;
    if (hash === null) return -1;
    if (next < arraySize) next = arraySize;
    const node = hash.nextUsed(next - arraySize);
    return node < 0 ? -1 : node + arraySize;
  }

  keyAt(place: number): LuaValue {
    return place < this.arraySize ? place + 1 : this.hash?.keys[place - this.arraySize];
  }

  valueAt(place: number): LuaValue {
    return place < this.arraySize ? this.array[place] : this.hash?.values[place - this.arraySize];
  }

  /** The number of places that an iteration visits. */
  capacity(): number {
    return this.arraySize + (this.hash?.size ?? 0);
  }

  /** Changes whenever places change, so that an iteration knows when to look up its key again. */
  layout(): unknown {
    return this.hash ?? this.arraySize;
  }

  /**
   * Chooses new sizes for both parts with room for one more key, as C Lua's rehash does. It reads every
   * place, and a script can cause it with each assignment, so each place is charged one byte.
   */
  private rehash(extra: LuaValue): void {
    allocate(this.array.length + (this.hash?.size ?? 0));
    const counts = new Array<number>(32).fill(0);
    let integers = this.countItems(counts);
    let total = integers;
    if (this.hash !== null) {
      integers += this.hash.countIntegers(counts);
      total += this.hash.countUsed();
    }
    integers += countInteger(extra, counts);
    total += 1;
    const { arraySize, used } = bestArraySize(counts, integers);
    this.resize(arraySize, total - used);
  }

  private countItems(counts: number[]): number {
    let total = 0;
    for (let index = 1; index <= this.array.length; index++) {
      if (this.array[index - 1] !== undefined) total += countInteger(index, counts);
    }
    return total;
  }

  private resize(arraySize: number, hashSize: number): void {
    const { array, hash } = this;
    if (arraySize > array.length) allocate(arraySize * ITEM_BYTES);
    this.hash = hashSize === 0 ? null : new NodePart(powerOfTwo(hashSize));
    this.arraySize = arraySize;
    if (array.length > arraySize) {
      this.array = array.slice(0, arraySize);
      for (let index = arraySize; index < array.length; index++) {
        if (array[index] !== undefined) this.set(index + 1, array[index]);
      }
    }
    if (hash === null) return;
    for (let node = hash.size - 1; node >= 0; node--) {
      if (hash.values[node] !== undefined) this.set(hash.keys[node], hash.values[node]);
    }
  }
}

/** The node part: `keys`, `values` and `chain` are C Lua's nodes, one array for each field. */
class NodePart {
  readonly size: number;
  readonly keys: LuaValue[];
  readonly values: LuaValue[];
  /** Made for the first collision. */
  private chain: Int32Array | undefined;
  /** The node of each key. A small part with short keys has none: reading its keys is less work than making a Map. */
  private places: Map<LuaValue, number> | undefined;
  private longKeys = 0;
  private lastFree: number;

  constructor(size: number) {
    allocate(NODE_PART_BYTES + size * NODE_BYTES);
    this.size = size;
    this.keys = nils(size);
    this.values = nils(size);
    this.places = size > SMALL_PART ? new Map() : undefined;
    this.lastFree = size;
  }

  find(key: LuaValue): number | undefined {
    if (this.places === undefined) return isSearched(key) ? this.search(key) : undefined;
    if (this.longKeys > 0) this.payForComparing(key);
    return this.places.get(key);
  }

  private search(key: LuaValue): number | undefined {
    const node = this.keys.indexOf(key);
    return node < 0 ? undefined : node;
  }

  /** Comparing 64 bytes takes about as long as making one. */
  private payForComparing(key: LuaValue): void {
    if (isLong(key)) allocate(Math.ceil((key.length / 64) * this.longKeys));
  }

  get(key: LuaValue): LuaValue {
    const node = this.find(key);
    return node === undefined ? undefined : this.values[node];
  }

  /** Sets a key that has a node already; false when it has none. */
  replace(key: LuaValue, value: LuaValue): boolean {
    const node = this.find(key);
    if (node === undefined) return false;
    this.values[node] = value;
    return true;
  }

  /** Inserts a new key into a free node. Returns false if no node is free. */
  insert(key: LuaValue, value: LuaValue): boolean {
    let node = this.mainPlace(key);
    if (this.values[node] !== undefined) {
      const free = this.takeFree();
      if (free < 0) return false;
      const other = this.mainPlace(this.keys[node]);
      this.chain ??= new Int32Array(this.size).fill(-1);
      if (other !== node) {
        this.move(this.chain, node, free, other);
      } else {
        this.chain[free] = this.chain[node]!;
        this.chain[node] = free;
        node = free;
      }
    }
    this.put(node, key, value);
    return true;
  }

  private put(node: number, key: LuaValue, value: LuaValue): void {
    const old = this.keys[node];
    if (old !== undefined && this.places?.get(old) === node) this.places.delete(old);
    this.keys[node] = key;
    this.values[node] = value;
    if (isLong(key)) this.longKeys += 1;
    if (this.places !== undefined) this.places.set(key, node);
    else if (!isSearched(key)) this.places = this.placesOfKeys();
  }

  private placesOfKeys(): Map<LuaValue, number> {
    const places = new Map<LuaValue, number>();
    for (const [node, key] of this.keys.entries()) if (key !== undefined) places.set(key, node);
    return places;
  }

  /** Moves the key in `node`, which is not in its own main place, to the free node. */
  private move(chain: Int32Array, node: number, free: number, mainPlace: number): void {
    let before = mainPlace;
    let walked = 0;
    while (chain[before] !== node) {
      before = chain[before]!;
      walked += 1;
    }
    // A script can choose keys of one chain, which C Lua's hash does not prevent.
    if (walked > SHORT_CHAIN) allocate(walked);
    chain[before] = free;
    this.keys[free] = this.keys[node];
    this.values[free] = this.values[node];
    chain[free] = chain[node]!;
    chain[node] = -1;
    this.places?.set(this.keys[free], free);
  }

  private takeFree(): number {
    while (this.lastFree > 0) {
      this.lastFree -= 1;
      if (this.keys[this.lastFree] === undefined) return this.lastFree;
    }
    return -1;
  }

  private mainPlace(key: LuaValue): number {
    if (typeof key === 'string') return hashString(key) & (this.size - 1);
    if (typeof key === 'boolean') return (key ? 1 : 0) & (this.size - 1);
    const code = typeof key === 'number' ? hashNumber(key) : identityOf(key);
    return code % ((this.size - 1) | 1);
  }

  nextUsed(from: number): number {
    for (let node = from; node < this.size; node++)
      if (this.values[node] !== undefined) return node;
    return -1;
  }

  countUsed(): number {
    let used = 0;
    for (const value of this.values) if (value !== undefined) used += 1;
    return used;
  }

  countIntegers(counts: number[]): number {
    let total = 0;
    for (let node = 0; node < this.size; node++) {
      if (this.values[node] !== undefined) total += countInteger(this.keys[node], counts);
    }
    return total;
  }
}

/** The largest node part whose keys are searched one by one, and the longest key that is. */
const SMALL_PART = 8;
const MAX_SEARCHED_CHARS = 32;

/** Comparing a longer key with each key of the part would take too long for one step. */
function isSearched(key: LuaValue): boolean {
  return typeof key !== 'string' || key.length <= MAX_SEARCHED_CHARS;
}

function nils(count: number): LuaValue[] {
  return count <= SMALL_PART ? NILS.slice(0, count) : new Array<LuaValue>(count).fill(undefined);
}

const NILS: readonly LuaValue[] = Array.from({ length: SMALL_PART }, () => undefined);

/** Walking a chain up to this length counts as part of the step. */
const SHORT_CHAIN = 16;

function isLong(key: LuaValue): key is string {
  return typeof key === 'string' && key.length > LONG_KEY;
}

const MAX_ARRAY = 2 ** 26;

/** Counts a key that could live in an array part under the power of two that covers it. */
function countInteger(key: LuaValue, counts: number[]): number {
  if (typeof key !== 'number' || (key | 0) !== key || key < 1 || key > MAX_ARRAY) return 0;
  const slice = 32 - Math.clz32(key - 1);
  counts[slice] = counts[slice]! + 1;
  return 1;
}

/** The largest power of two of which more than half would be in use. */
function bestArraySize(counts: number[], integers: number): { arraySize: number; used: number } {
  let seen = 0;
  let arraySize = 0;
  let used = 0;
  for (let slice = 0, size = 1; size / 2 < integers; slice++, size *= 2) {
    if (counts[slice]! > 0) {
      seen += counts[slice]!;
      if (seen > size / 2) {
        arraySize = size;
        used = seen;
      }
    }
    if (seen === integers) break;
  }
  return { arraySize, used };
}

function powerOfTwo(atLeast: number): number {
  let size = 1;
  while (size < atLeast) size *= 2;
  return size;
}

/** Longer keys are charged when they are hashed, as if they were allocated again. */
const SHORT_KEY = 256;

/** The string hash of Redis's Lua, which reads every char. */
function hashString(text: string): number {
  let hash = text.length;
  if (hash > SHORT_KEY) allocate(hash);
  for (let at = text.length - 1; at >= 0; at--) {
    hash ^= (hash << 5) + (hash >>> 2) + text.charCodeAt(at);
  }
  return hash >>> 0;
}

const numberBits = new Float64Array(1);
const numberWords = new Uint32Array(numberBits.buffer);

/** C Lua's number hash: the sum of the two halves of the double. */
function hashNumber(value: number): number {
  if (value === 0) return 0;
  numberBits[0] = value;
  return (numberWords[0]! + numberWords[1]!) >>> 0;
}

/** The hash of an object: its address in C Lua, which is unpredictable; here its number in order of first use. */
export function identityOf(
  value: Exclude<LuaValue, undefined | boolean | number | string> | undefined,
): number {
  if (value === undefined) return 0;
  if (value.identity === 0) value.identity = nextIdentity();
  return value.identity;
}
