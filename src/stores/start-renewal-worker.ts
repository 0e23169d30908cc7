import { Worker } from 'node:worker_threads';
import type { ClientOptions } from '../client/index.ts';

/** A worker thread for WorkerRenewals, on the store at the address. */
export function startRenewalWorker(url: string, tls?: ClientOptions['tls']): Worker {
  return new Worker(new URL('./renewal-worker.js', import.meta.url), {
    name: 'holdfast-renewals',
    workerData: { holdfastUrl: url, tls },
    // What the program was started with (--eval, --import of its instrumentation) is not for the worker.
    execArgv: [],
  });
}
