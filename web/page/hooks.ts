import type { RefCallback } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { PageModel } from './model.ts';

/** Below this number of locks, lists follow changes faster. */
const FEW_LOCKS = 500;
const FAST_MS = 250;
const SLOW_MS = 1000;

/**
 * A value that is costly to compute from all locks, or that must not change while it is read, such as the order of a
 * table. It is computed at once when `key` changes, and else at most once in a second. `compute` gets the value before.
 */
export function useSettled<T>(model: PageModel, key: string, compute: (before?: T) => T): T {
  const last = useRef<{ key: string; version: number; atMs: number; value: T } | undefined>(
    undefined,
  );
  const everyMs = model.locks.size < FEW_LOCKS ? FAST_MS : SLOW_MS;
  const nowMs = performance.now();
  const isDue =
    last.current === undefined ||
    last.current.key !== key ||
    (last.current.version !== model.version && nowMs - last.current.atMs >= everyMs);
  if (isDue) {
    last.current = {
      key,
      version: model.version,
      atMs: nowMs,
      value: compute(last.current?.value),
    };
  }
  return last.current!.value;
}

/** A ref for an element without padding, and its width in px, which is `firstPx` until it is known. */
export function useWidth(firstPx: number): [RefCallback<HTMLElement>, number] {
  const [width, setWidth] = useState(firstPx);
  const observer = useRef<ResizeObserver | undefined>(undefined);
  const ref = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.current.observe(element);
    setWidth(element.clientWidth);
  }, []);
  return [ref, width];
}

/** Whether a media query matches, and again when that changes. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatches(list.matches);
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
}
