import type { Choose } from './walk.ts';

/**
 * Enumerates every sequence of choices, one run after the other, by depth-first search: increments the last
 * digit that can be incremented and resets the digits after it. It stores only the digits of one run and
 * does not compare states, so runs that share states are executed again each time.
 */
export function odometer(): { readonly choose: Choose; next(): boolean } {
  const digits: { digit: number; readonly count: number }[] = [];
  let at = 0;
  return {
    choose(count) {
      if (at === digits.length) digits.push({ digit: 0, count });
      return digits[at++]!.digit;
    },
    /** Advances to the next run; false after the last one. */
    next() {
      at = 0;
      while (digits.length > 0) {
        const last = digits.at(-1)!;
        if (++last.digit < last.count) return true;
        digits.pop();
      }
      return false;
    },
  };
}
