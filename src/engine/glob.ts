/**
 * Redis's glob patterns: `*`, `?`, `[a-z]`, `[^x]` and backslash.
 *
 * The usual recursive matcher takes exponential time on patterns such as `*a*a*a*b` and was the cause
 * of two CVEs. On a mismatch only the latest star needs another try, since whatever an earlier star
 * could swallow the latest can too; so one remembered place is enough, and the time is O(text × pattern).
 */
export function matchesGlob(pattern: string, text: string): boolean {
  // Redis's matcher does not begin on an empty text, so that not even `*` matches it. KEYS and SCAN
  // take a single star for no pattern at all.
  if (text === '') return pattern === '';
  if (pattern === '*') return true;
  let at = 0;
  let place = 0;
  let starPlace = -1;
  let starAt = 0;
  while (at < text.length) {
    if (pattern[place] === '*') {
      starPlace = place++;
      starAt = at;
      continue;
    }
    const next = place < pattern.length ? matchOne(pattern, place, text.charCodeAt(at)) : -1;
    if (next >= 0) {
      place = next;
      at++;
    } else if (starPlace >= 0) {
      place = starPlace + 1;
      at = ++starAt;
    } else return false;
  }
  while (pattern[place] === '*') place++;
  return place >= pattern.length;
}

/** Matches one byte against the element at `place`; where the next element starts, or -1. */
function matchOne(pattern: string, place: number, code: number): number {
  switch (pattern[place]) {
    case '?':
      return place + 1;
    case '[':
      return matchClass(pattern, place + 1, code);
    case '\\':
      if (place + 1 < pattern.length) place++;
  }
  return pattern.charCodeAt(place) === code ? place + 1 : -1;
}

/**
 * An unfinished class ends with the pattern, as in Redis. The ends of a range are bytes without a sign;
 * in Redis that depends on the processor.
 */
function matchClass(pattern: string, begin: number, code: number): number {
  let place = begin;
  const negated = pattern[place] === '^';
  if (negated) place++;
  let found = false;
  for (; place < pattern.length && pattern[place] !== ']'; place++) {
    if (pattern[place] === '\\' && place + 1 < pattern.length) {
      place++;
      found ||= pattern.charCodeAt(place) === code;
    } else if (pattern[place + 1] === '-' && place + 2 < pattern.length) {
      const low = Math.min(pattern.charCodeAt(place), pattern.charCodeAt(place + 2));
      const high = Math.max(pattern.charCodeAt(place), pattern.charCodeAt(place + 2));
      found ||= code >= low && code <= high;
      place += 2;
    } else {
      found ||= pattern.charCodeAt(place) === code;
    }
  }
  return found === negated ? -1 : place + 1;
}
