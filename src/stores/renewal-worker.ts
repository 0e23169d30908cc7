// The program of the worker thread that renews leases, with a connection of its own. The main thread
// starts it (see start-renewal-worker.ts); loaded by anybody else it does nothing.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../clock/index.ts';
import { serveRenewals } from '../lock/index.ts';
import { redisUrlStore } from './redis-url.ts';

const url: string | undefined = workerData?.holdfastUrl;

if (parentPort !== null && url !== undefined) {
  // Whatever there is to warn about this store, the main thread has warned of it.
  process.removeAllListeners('warning');
  serveRenewals(parentPort, redisUrlStore(url, { tls: workerData.tls }), systemClock);
}
