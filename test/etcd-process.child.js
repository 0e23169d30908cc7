// A program that takes a lock in etcd with the built package, reports its fence and holds it until it is killed. With
// HOLDFAST_RELEASE it releases the lock instead, and ends without close().
const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { etcdStore } = await import(process.env.HOLDFAST_STORES);
const locks = createLocks({ store: etcdStore(process.env.HOLDFAST_ETCD) });
const lease = await locks.mutex(process.env.HOLDFAST_LOCK).acquire({ lease: '3s', wait: '60s' });
lease.signal.addEventListener('abort', () => process.send({ lost: lease.signal.reason.reason }));
process.send({ fence: lease.fence });
if (process.env.HOLDFAST_RELEASE) await lease.release();
