/**
 * A controller whose signal calls `check` whenever `aborted` or `throwIfAborted` is used. After the event loop was
 * blocked, other callbacks may run before the timer that ends the lease: they see the loss all the same.
 */
export function loseSignal(check: () => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get;
  const isAborted = (): boolean => {
    check();
    return aborted?.call(signal) ?? false;
  };
  Object.defineProperties(signal, {
    aborted: { get: isAborted },
    throwIfAborted: {
      value: () => {
        if (isAborted()) throw signal.reason;
      },
    },
  });
  return controller;
}
