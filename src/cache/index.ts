export { Cache, type CreateCacheOptions, createCache } from './cache.ts';
export { CacheError, type CacheErrorCode } from './errors.ts';
export type { CacheCounts, CacheEvents } from './events.ts';
export type { Load, LoadContext } from './flight.ts';
export type { LoadMany } from './gathering.ts';
export { type CacheHome, setCacheHome } from './home.ts';
export { type CacheLimits, checkCacheLimits } from './limits.ts';
export { memoryCacheStore } from './memory-cache-store.ts';
export type { CacheOptions } from './options.ts';
export { RedisCacheStore } from './redis-cache-store.ts';
export { bytesSerializer, jsonSerializer, type Serializer } from './serializer.ts';
export type {
  CacheStore,
  Encoded,
  Entry,
  Failed,
  Failure,
  News,
  NewsListener,
  Sight,
  Stamped,
  Tags,
  Times,
  Write,
} from './store.ts';
