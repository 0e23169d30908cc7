import { spendMaking, spendReading } from './budget.ts';

/** Longer texts do not use String.indexOf: V8 may compare the whole text at each place, which takes minutes for 1 MB. */
const SHORT_TEXT = 64;

/** How much is searched between two reads of the clock. */
const WINDOW = 1024 * 1024;

/** The first place of `text` in `subject` from `from` on, or -1, in linear time. */
export function indexOf(subject: string, text: string, from: number): number {
  if (text.length > SHORT_TEXT) return indexOfLong(subject, text, from);
  for (let start = from; start + text.length <= subject.length; start += WINDOW) {
    const end = Math.min(start + WINDOW + text.length, subject.length);
    spendReading(end - start);
    const place = subject.slice(start, end).indexOf(text);
    if (place >= 0) return start + place;
  }
  return -1;
}

/** Knuth-Morris-Pratt: reads each char of the subject once. */
function indexOfLong(subject: string, text: string, from: number): number {
  if (text.length > subject.length - from) return -1;
  const borders = bordersOf(text);
  let matched = 0;
  for (let at = from; at < subject.length; at++) {
    if (at % WINDOW === 0) spendReading(WINDOW);
    const code = subject.charCodeAt(at);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (text.charCodeAt(matched) === code) matched += 1;
    if (matched === text.length) return at - matched + 1;
  }
  return -1;
}

/** For each place of the text, the length of the longest prefix that ends there. */
function bordersOf(text: string): Int32Array {
  spendMaking(text.length * Int32Array.BYTES_PER_ELEMENT);
  const borders = new Int32Array(text.length);
  let matched = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (text.charCodeAt(matched) === code) matched += 1;
    borders[at] = matched;
  }
  return borders;
}
