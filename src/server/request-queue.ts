import { argumentBytes } from '../engine/index.ts';
import { RequestDecoder, type RequestLimits } from '../resp/index.ts';

/**
 * The requests of one client that have arrived and have not run. Decodes several together, so that their keys are loaded
 * into the processor's cache together.
 */
export class RequestQueue {
  readonly #limits: RequestLimits;
  readonly #decoder: RequestDecoder;
  /** Requests that were decoded together. Those from `#at` on have not run. */
  #requests: string[][] = NO_REQUESTS;
  #at = 0;
  /** The memory of those that have not run, when `#at` was `#countedAt`: counting takes a step for each argument. */
  #decodedBytes = 0;
  #countedAt = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
    this.#decoder = new RequestDecoder(limits);
  }

  push(chunk: Buffer): void {
    this.#decoder.push(chunk);
  }

  /** Removes the next request. Null: the rest of it has not arrived. */
  next(session: RequestSession): string[] | null {
    if (this.#at === this.#requests.length) this.#decode(session);
    const argv = this.#requests[this.#at];
    if (argv === undefined) return null;
    // A request that has run is not counted: it must not stay in memory while a later one is blocked.
    this.#requests[this.#at++] = NO_REQUEST;
    return argv;
  }

  /** Puts the request back that `next` has returned last. */
  putBack(argv: string[]): void {
    this.#requests[--this.#at] = argv;
  }

  /** Called while requests wait. */
  compact(): void {
    this.#decoder.compact();
  }

  /** The memory of bytes and requests that have arrived and have not run. */
  get bytes(): number {
    if (this.#countedAt !== this.#at) {
      this.#countedAt = this.#at;
      this.#decodedBytes = 0;
      for (let at = this.#at; at < this.#requests.length; at++) {
        this.#decodedBytes += argumentBytes(this.#requests[at]!);
      }
    }
    return this.#decoder.bufferedBytes + this.#decodedBytes;
  }

  /**
   * Decodes up to a number of requests and bytes. Stops after a request of one word, such as RESET, which can sign the
   * client out and so change the limits of requests.
   */
  #decode({ authenticated, database }: RequestSession): void {
    this.#requests = NO_REQUESTS;
    this.#at = 0;
    this.#countedAt = NOT_COUNTED;
    this.#limits.signedIn = authenticated;
    const first = this.#decoder.next();
    if (first === null) return;
    const requests = [first];
    this.#requests = requests;
    if (!authenticated) return;
    const enoughBytes = this.#decoder.unreadBytes - MAX_DECODED_BYTES;
    try {
      let last: string[] | null = first;
      while (last.length > 1 && requests.length < MAX_DECODED) {
        const { unreadBytes } = this.#decoder;
        if (unreadBytes === 0 || unreadBytes < enoughBytes) break;
        last = this.#decoder.next();
        if (last === null) break;
        requests.push(last);
      }
    } catch {
      // The requests before the invalid bytes run first. Then the decoder throws again.
    }
    if (requests.length > 1) database.prefetch(requests);
  }
}

/** The session of the client, as far as decoding depends on it. */
interface RequestSession {
  readonly authenticated: boolean;
  readonly database: { prefetch(requests: readonly (readonly string[])[]): void };
}

const NO_REQUESTS: string[][] = [];
const NO_REQUEST: string[] = [];
const NOT_COUNTED = -1;
/** More would wait for the processor's cache, too: it holds the keys of so many requests, and their replies. */
const MAX_DECODED = 64;
/** The time slice of a client is checked after a command runs: decoding must not take longer than that. */
const MAX_DECODED_BYTES = 64 * 1024;
