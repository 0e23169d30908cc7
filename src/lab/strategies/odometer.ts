import type { Choose } from './walk.ts';

/**
 * Every sequence of choices, one run after the other: the last digit that can still turn is turned, and
 * those after it begin anew. It remembers nothing but the digits of one run, so it needs no idea of
 * what a state is; the price is that runs with the same states are run again and again.
 */
export function odometer(): { readonly choose: Choose; next(): boolean } {
  const digits: { digit: number; readonly count: number }[] = [];
  let at = 0;
  return {
    choose(count) {
      if (at === digits.length) digits.push({ digit: 0, count });
      return digits[at++]!.digit;
    },
    /** Turns to the next run; false when all have been. */
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
