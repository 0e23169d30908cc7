/** One request to the lock script: its verb, token and number. See the head of the script. */
export type LockRequest = [verb: string, token: string, number: string];

/** Verbs that a mutex needs no more than the first letter of, with the number. */
const SHORT_VERBS: readonly string[] = ['line', 'extend', 'release'];

export function channelOf(clientId: string): string {
  return `holdfast:${clientId}`;
}

/** How a client's owners begin. */
export function prefixOf(clientId: string): string {
  return `${clientId}.`;
}

/** What a client says in a call for requests, three words each; in short, if that can be. */
export function toArgs(prefix: string, words: readonly string[]): string[] {
  const verb = words[0]!;
  const token = words[1]!;
  const number = words[2]!;
  if (words.length === 3 && token.startsWith(prefix)) {
    if (verb === 'ask') return [token, number];
    if (verb === 'release' && number === UNKNOWN_FENCE) return [token];
    if (SHORT_VERBS.includes(verb)) return [token, verb[0]! + number];
  }
  return [channelOf(prefix.slice(0, -1)), ...words];
}

const UNKNOWN_FENCE = '0';

const DIGITS = 1e8;

/** A whole number as text. For one as large as a fence, V8 takes longer than for its two halves. */
export function toDigits(number: number): string {
  if (number < DIGITS) return String(number);
  const high = Math.floor(number / DIGITS);
  return toDigits(high) + String(number - high * DIGITS + DIGITS).slice(1);
}

/** The requests of a call, three words each. */
export function toWords(args: readonly string[]): string[] {
  const [token, said] = args;
  if (args.length > 2 || token === undefined) return args.slice(1);
  if (said === undefined) return ['release', token, UNKNOWN_FENCE];
  const verb = SHORT_VERBS.find((word) => word[0] === said[0]);
  return verb === undefined ? ['ask', token, said] : [verb, token, said.slice(1)];
}
