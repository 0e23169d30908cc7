// A process with a memory tier, on the package as it was built. It calls its cache as its parent says (see
// cache-memory-tier.test.ts).
const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { createCache } = await import(new URL('public/cache.js', process.env.HOLDFAST_BUILD));
const locks = createLocks(`redis://127.0.0.1:${process.env.HOLDFAST_PORT}`);
const cache = createCache({ locks, memory: true, fresh: '1h', tags: ['red'] });

process.on('message', async ({ id, count = 1 }) => {
  try {
    let value;
    for (let done = 0; done < count; done++) value = await cache.get('a', {}, () => 'loaded');
    process.send({ id, value });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.send({ id: 0 });
