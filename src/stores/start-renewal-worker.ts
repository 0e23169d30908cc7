import { Worker } from 'node:worker_threads';
import type { ClientOptions } from '../client/index.ts';

export interface RenewalWorkerData {
  readonly url: string;
  readonly tls: ClientOptions['tls'];
  readonly prefix: string | undefined;
}

/** A worker thread for WorkerRenewals, on the store at the address. */
export function startRenewalWorker(data: RenewalWorkerData): Worker {
  return new Worker(new URL('./renewal-worker.js', import.meta.url), {
    name: 'holdfast-renewals',
    workerData: { holdfast: data },
    // What the program was started with (--eval, --import of its instrumentation) is not for the worker.
    execArgv: [],
  });
}
