/**
 * Decodes replies of memcached to `mg`, `md`, `add` and `cas`: a line with a code and flags, and after `VA` a value.
 * Memory is bounded: a line has at most MAX_LINE_BYTES, and of a value only the first MAX_VALUE_BYTES are kept.
 */
export class MetaDecoder {
  /** The start of a line whose end has not arrived. */
  #rest: Buffer = NOTHING;
  #body: Body | undefined;

  /**
   * Returns the replies that this chunk completes, in order.
   *
   * @throws MetaError if the bytes are not replies of memcached.
   */
  push(chunk: Buffer): MetaReply[] {
    const replies: MetaReply[] = [];
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = NOTHING;
    while (rest.length > 0) {
      if (this.#body === undefined) {
        const end = rest.indexOf('\r\n');
        if (end < 0) break;
        this.#readLine(rest.toString('latin1', 0, end), replies);
        rest = rest.subarray(end + 2);
      } else rest = this.#readBody(this.#body, rest, replies);
    }
    if (rest.length > MAX_LINE_BYTES) throw new MetaError('a reply line that does not end');
    this.#rest = Buffer.from(rest);
    return replies;
  }

  #readLine(line: string, replies: MetaReply[]): void {
    const [code = '', ...words] = line.split(' ');
    if (!CODES.has(code)) {
      replies.push({ code: 'error', line: line.slice(0, MAX_SHOWN) });
      return;
    }
    const size = code === 'VA' ? Number(words.shift()) : 0;
    const flags = new Map(words.map((word) => [word.slice(0, 1), word.slice(1)]));
    const reply = { code: code as MetaCode, flags, value: NOTHING };
    if (code !== 'VA') replies.push(reply);
    else if (Number.isSafeInteger(size) && size >= 0) {
      this.#body = {
        reply,
        parts: [],
        leftBytes: size + 2,
        keepBytes: Math.min(size, MAX_VALUE_BYTES),
      };
    } else throw new MetaError('a value without a size');
  }

  /** Returns the bytes after the value. The value is followed by `\r\n`. */
  #readBody(body: Body, bytes: Buffer, replies: MetaReply[]): Buffer {
    const taken = bytes.subarray(0, body.leftBytes);
    const kept = taken.subarray(0, body.keepBytes);
    if (kept.length > 0) body.parts.push(Buffer.from(kept));
    body.keepBytes -= kept.length;
    body.leftBytes -= taken.length;
    if (body.leftBytes === 0) {
      this.#body = undefined;
      replies.push({ ...body.reply, value: Buffer.concat(body.parts) });
    }
    return bytes.subarray(taken.length);
  }
}

/**
 * To `mg`: `VA` a value, `EN` no such key. To `md`: `HD` done, `EX` another cas number, `NF` no such key. To `add`:
 * `STORED`, or `NOT_STORED` if the key exists. To `cas`: `STORED`, `EXISTS` another cas number, `NOT_FOUND` no such key.
 */
export type MetaCode =
  | 'VA'
  | 'EN'
  | 'HD'
  | 'EX'
  | 'NF'
  | 'STORED'
  | 'NOT_STORED'
  | 'EXISTS'
  | 'NOT_FOUND';

export type MetaReply =
  | {
      readonly code: MetaCode;
      /** What the flags of the command requested, by their letters: `c` the cas number, `t` the seconds left. */
      readonly flags: ReadonlyMap<string, string>;
      /** The first MAX_VALUE_BYTES of the value. Empty unless the code is `VA`. */
      readonly value: Buffer;
    }
  /** `ERROR`, `CLIENT_ERROR …`, `SERVER_ERROR …`, or a line that is not of memcached. */
  | { readonly code: 'error'; readonly line: string };

/** The server does not speak the protocol. */
export class MetaError extends Error {
  override readonly name = 'MetaError';
}

interface Body {
  readonly reply: Extract<MetaReply, { code: MetaCode }>;
  readonly parts: Buffer[];
  leftBytes: number;
  keepBytes: number;
}

const CODES: ReadonlySet<string> = new Set<MetaCode>([
  'VA',
  'EN',
  'HD',
  'EX',
  'NF',
  'STORED',
  'NOT_STORED',
  'EXISTS',
  'NOT_FOUND',
]);
const NOTHING: Buffer = Buffer.alloc(0);
const MAX_LINE_BYTES = 2048;
/** Larger than the value of any lock of ours: a label has at most 1024 bytes, 6 for each in JSON. */
export const MAX_VALUE_BYTES = 16_384;
/** Maximum number of bytes of a reply that an error message shows. */
const MAX_SHOWN = 100;
