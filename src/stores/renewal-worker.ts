// Runs in the worker thread that renews leases, with a connection of its own. startRenewalWorker() starts it; loaded in
// any other way it does nothing.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../clock/index.ts';
import { serveRenewals } from '../lock/index.ts';
import { redisUrlStore } from './redis-url.ts';
import type { RenewalWorkerData } from './start-renewal-worker.ts';

const data: RenewalWorkerData | undefined = workerData?.holdfast;

if (parentPort !== null && data !== undefined) {
  const { url, tls, prefix } = data;
  // The main thread has emitted every warning about this store.
  process.removeAllListeners('warning');
  serveRenewals(parentPort, redisUrlStore(url, { tls, prefix }), systemClock);
}
