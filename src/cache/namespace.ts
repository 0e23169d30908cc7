import { LockArgumentError } from '../lock/index.ts';
import type { LoadMany } from './batch-load.ts';
import type { Cache } from './cache.ts';
import {
  type CacheOptions,
  checkKey,
  checkKeys,
  type HasOptions,
  type SetOptions,
} from './options.ts';
import type { Load } from './shared-load.ts';
import type { Tags } from './store.ts';

const SEPARATOR = ':';

interface Parent {
  /** Of the keys; empty for the cache itself. */
  readonly prefix: string;
  readonly tags: Tags;
  /** Tags of calls that give none. */
  readonly defaults: Tags;
}

/**
 * A part of a cache. The key `7` of the namespace `users` is the key `users:7` of the cache, and its value carries
 * the tag `namespace:users`: `clear()` invalidates that tag.
 */
export class CacheNamespace {
  readonly #cache: Cache;
  readonly #prefix: string;
  readonly #tags: Tags;
  readonly #defaults: Tags;

  constructor(cache: Cache, name: string, { prefix, tags, defaults }: Parent) {
    this.#cache = cache;
    const path = `${prefix}${checkName(name)}`;
    this.#prefix = `${path}${SEPARATOR}`;
    this.#tags = [...tags, `namespace:${path}`];
    this.#defaults = defaults;
  }

  /** As `Cache.get`. */
  async get<Value>(key: string, options: Partial<CacheOptions>, load: Load<Value>): Promise<Value> {
    return this.#cache.get(this.#fullKey(key), this.#withTags(options), load);
  }

  /** As `Cache.getMany`. `load` gets the keys of this namespace. */
  async getMany<Value>(
    keys: readonly string[],
    options: Partial<CacheOptions>,
    load: LoadMany<Value>,
  ): Promise<Map<string, Value>> {
    const full = checkKeys(keys).map((key) => this.#fullKey(key));
    const loadFull: LoadMany<Value> = async (loaded, { signal, fences }) => {
      const own = new Map([...fences].map(([key, fence]) => [this.#ownKey(key), fence]));
      const values = await load(
        loaded.map((key) => this.#ownKey(key)),
        { signal, fences: own },
      );
      return mapKeys(values, (key) => this.#fullKey(key));
    };
    const values = await this.#cache.getMany(full, this.#withTags(options), loadFull);
    return mapKeys(values, (key) => this.#ownKey(key));
  }

  /** As `Cache.set`. */
  async set(key: string, value: unknown, options: SetOptions = {}): Promise<void> {
    await this.#cache.set(this.#fullKey(key), value, this.#withTags(options));
  }

  /** As `Cache.has`. */
  async has(key: string, options: HasOptions = {}): Promise<boolean> {
    return this.#cache.has(this.#fullKey(key), this.#withTags(options));
  }

  /** As `Cache.delete`. */
  async delete(keys: string | readonly string[]): Promise<number> {
    const own = checkKeys(typeof keys === 'string' ? [keys] : keys);
    return this.#cache.delete(own.map((key) => this.#fullKey(key)));
  }

  /**
   * Deletes all values of this namespace and of those inside it, in all processes. Takes the same time for any
   * number of values: it changes the version that they carry.
   *
   * @throws CacheError (`unavailable`)
   */
  async clear(): Promise<void> {
    await this.#cache.invalidate(this.#tags.slice(-1));
  }

  /** Returns a namespace inside this one, which is cleared with it. */
  namespace(name: string): CacheNamespace {
    const parent = { prefix: this.#prefix, tags: this.#tags, defaults: this.#defaults };
    return new CacheNamespace(this.#cache, name, parent);
  }

  #fullKey(key: string): string {
    return `${this.#prefix}${checkKey(key)}`;
  }

  #ownKey(key: string): string {
    return key.slice(this.#prefix.length);
  }

  #withTags<Options extends HasOptions>(options: Options): Options {
    // Wrong options are reported by the cache.
    if (typeof options !== 'object' || options === null) return options;
    const { tags = this.#defaults } = options;
    return Array.isArray(tags) ? { ...options, tags: [...this.#tags, ...tags] } : options;
  }
}

function mapKeys<Value>(
  values: ReadonlyMap<string, Value>,
  change: (key: string) => string,
): Map<string, Value> {
  if (!(values instanceof Map)) throw new TypeError('a batch load must return a Map');
  return new Map([...values].map(([key, value]) => [change(key), value]));
}

function checkName(name: string): string {
  if (typeof name === 'string' && name !== '' && !name.includes(SEPARATOR)) return name;
  throw new LockArgumentError(
    String(name),
    `the name of a namespace is a string that is not empty and has no '${SEPARATOR}'; got '${String(name)}'. ` +
      "For one inside another, use cache.namespace('a').namespace('b').",
  );
}
