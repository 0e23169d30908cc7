/** `holdfast/cache`: one load for all processes, beside the locks of `createLocks`. */
export {
  bytesSerializer,
  Cache,
  type CacheCounts,
  CacheError,
  type CacheErrorCode,
  type CacheEvents,
  type CacheLimits,
  type CacheOptions,
  type CreateCacheOptions,
  createCache,
  type Encoded,
  jsonSerializer,
  type Load,
  type LoadContext,
  type LoadMany,
  type Serializer,
} from '../cache/index.ts';
