/** An HTTP request, from Node or from `fetch`. */
export interface PageRequest {
  readonly method: string;
  /** The path and the query, as the client has sent them. */
  readonly url: string;
  /** A header by its name in lower case. */
  header(name: string): string | undefined;
  /** Reads the body. Undefined: it is longer than the maximum. */
  body(maxBytes: number): Promise<Buffer | undefined>;
}

export type PageResponse =
  | { readonly status: number; readonly headers: Headers; readonly body: string | Buffer }
  /** A stream of events: `open` gets the functions that write to it and returns one that is called at its end. */
  | { readonly status: 200; readonly headers: Headers; readonly open: OpenStream };

export type OpenStream = (stream: PageStream) => () => void;

/** One open page. `send` gets whole server-sent events. */
export interface PageStream {
  /** Bytes that were sent, and that the page has not read. */
  readonly unreadBytes: number;
  send(chunk: Buffer): void;
  /** No event follows. */
  end(): void;
  /** Closes the connection, and drops what the page has not read. */
  destroy(): void;
}

type Headers = Readonly<Record<string, string>>;

/** A short text for people and programs. */
export function plain(status: number, text: string, headers: Headers = {}): PageResponse {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      ...headers,
    },
    body: `${text}\n`,
  };
}
