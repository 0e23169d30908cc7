// The caches that are measured, each set up as its documents say, behind one shape:
// `open(url, { layers })` returns { get(key, ttlMs, load), close() }. Without a url the values are kept in the process;
// with 2 layers, in Redis and in the process.
// The peers are in a package of their own, since bentocache needs another ioredis than we do.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const INSTALL = 'npm ci --prefix bench/peers';

/** Another place where that package was installed. */
const folder = process.env.HOLDFAST_BENCH_PEERS ?? join(import.meta.dirname, '..', 'peers');
const require = createRequire(join(folder, 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const dist = process.env.HOLDFAST_DIST ?? join(import.meta.dirname, '..', '..', 'dist');

const OPENERS = {
  async holdfast() {
    const { createLocks } = await import(pathToFileURL(join(dist, 'index.js')).href);
    const { createCache } = await import(pathToFileURL(join(dist, 'public', 'cache.js')).href);
    return (url, { layers = 1 } = {}) => {
      const locks = url === undefined ? createLocks() : createLocks(url);
      const cache = createCache({ locks, memory: layers === 2 });
      return {
        get: (key, ttlMs, make) => cache.get(key, { fresh: ttlMs }, make),
        close: () => locks.close(),
      };
    };
  },
  async bentocache() {
    const { BentoCache, bentostore } = await load('bentocache');
    const { memoryDriver } = await load('bentocache/drivers/memory');
    const { redisDriver } = await load('bentocache/drivers/redis');
    return (url, { layers = 2 } = {}) => {
      let store = bentostore();
      if (url === undefined || layers === 2) store = store.useL1Layer(memoryDriver({}));
      if (url !== undefined) store = store.useL2Layer(redisDriver({ connection: placeOf(url) }));
      const cache = new BentoCache({ default: 'one', stores: { one: store } });
      return {
        get: (key, ttl, factory) => cache.getOrSet({ key, ttl, factory }),
        close: () => cache.disconnectAll(),
      };
    };
  },
  async cacheable() {
    const { Cacheable } = await load('cacheable');
    const { KeyvRedis } = namedOf(await load('@keyv/redis'));
    return (url, { layers = 2 } = {}) => {
      const redis = url === undefined ? undefined : new KeyvRedis(url);
      const cache = new Cacheable(layers === 2 ? { secondary: redis } : { primary: redis });
      return {
        get: (key, ttl, make) => cache.getOrSet(key, make, { ttl }),
        close: () => cache.disconnect(),
      };
    };
  },
};

/** What opens a cache of that name; undefined if its package is not installed. */
export async function openerOf(name) {
  try {
    return await OPENERS[name]();
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND')
      return undefined;
    throw error;
  }
}

export const NAMES = Object.keys(OPENERS);

/** One package gives its class as a name or as the default, by how it is loaded. */
function namedOf(module) {
  return { KeyvRedis: module.default?.default ?? module.default };
}

function placeOf(url) {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}
