/**
 * A controller whose signal looks at the clock whenever it is asked. A program that was stalled goes on
 * with whatever its event loop has next, which may come before our timer: if it looks at the signal that
 * it kept, it learns the truth even then.
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
