import { Worker } from 'node:worker_threads';
import type { ClientOptions } from '../client/index.ts';

export interface RenewalWorkerData {
  readonly url: string;
  readonly tls: ClientOptions['tls'];
  readonly prefix: string | undefined;
}

/** Starts the worker thread of WorkerRenewals, with a store at this address. */
export function startRenewalWorker(data: RenewalWorkerData): Worker {
  return new Worker(new URL('./renewal-worker.js', import.meta.url), {
    name: 'holdfast-renewals',
    workerData: { holdfast: data },
    // Without the options of the program, such as --eval or --import.
    execArgv: [],
  });
}
