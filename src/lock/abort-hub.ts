/**
 * Adds one listener to each signal, however many waiters share it. Node warns of a leak when a signal has more than ten
 * listeners, and a server may pass one signal to all of its requests.
 */
export class AbortHub<Waiter extends { aborted(): void }> {
  readonly #entries = new WeakMap<AbortSignal, Entry<Waiter>>();

  add(signal: AbortSignal, waiter: Waiter): void {
    const entry = this.#entries.get(signal) ?? this.#open(signal);
    entry.waiters.add(waiter);
  }

  remove(signal: AbortSignal, waiter: Waiter): void {
    const entry = this.#entries.get(signal);
    if (entry === undefined) return;
    entry.waiters.delete(waiter);
    if (entry.waiters.size > 0) return;
    signal.removeEventListener('abort', entry.listener);
    this.#entries.delete(signal);
  }

  #open(signal: AbortSignal): Entry<Waiter> {
    const waiters = new Set<Waiter>();
    const listener = (): void => {
      for (const waiter of [...waiters]) waiter.aborted();
    };
    signal.addEventListener('abort', listener);
    const entry = { waiters, listener };
    this.#entries.set(signal, entry);
    return entry;
  }
}

interface Entry<Waiter> {
  readonly waiters: Set<Waiter>;
  readonly listener: () => void;
}
