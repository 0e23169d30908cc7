import { Worker } from 'node:worker_threads';

/** A worker thread for WorkerRenewals, on the store at the address. */
export function startRenewalWorker(url: string): Worker {
  return new Worker(new URL('./renewal-worker.js', import.meta.url), {
    name: 'holdfast-renewals',
    workerData: { holdfastUrl: url },
    // What the program was started with (--eval, --import of its instrumentation) is not for the worker.
    execArgv: [],
  });
}
