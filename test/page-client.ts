import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { PageMessage } from '../src/page/protocol.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A browser of the page, as far as HTTP goes. It keeps the cookie that the token was exchanged for. */
export class PageClient {
  readonly #base: string;
  #cookie = '';

  /** `address`: with a token that is exchanged first, or without one. */
  static async open(address: string): Promise<PageClient> {
    const { origin, pathname, search } = new URL(address);
    const client = new PageClient(origin + pathname);
    const { headers } = await client.send(search);
    client.#cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    return client;
  }

  constructor(base: string) {
    this.#base = base;
  }

  /** Sends a request. A name of a header in `headers` replaces that of the browser. */
  send(path: string, { method = 'GET', headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = this.#request(path, method, headers);
      sent.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          resolve({ status: response.statusCode!, headers: response.headers, text });
        });
      });
      sent.end(body);
    });
  }

  async json<Value>(path: string, options?: RequestOptions): Promise<Value> {
    const { status, text } = await this.send(path, options);
    if (status !== 200) throw new Error(`${status}: ${text}`);
    return JSON.parse(text) as Value;
  }

  release(id: string, reason: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return this.send('api/release', {
      method: 'POST',
      headers,
      body: JSON.stringify({ id, reason }),
    });
  }

  /** Opens the stream of events. */
  stream(headers: Record<string, string> = {}): Promise<PageStream> {
    return new Promise((resolve, reject) => {
      const sent = this.#request('api/stream', 'GET', headers);
      sent
        .on('error', reject)
        .on('response', (response) => resolve(new PageStream(sent, response)));
      sent.end();
    });
  }

  #request(path: string, method: string, headers: Record<string, string>): ClientRequest {
    const own = this.#cookie === '' ? {} : { cookie: this.#cookie };
    return request(new URL(path, this.#base), {
      method,
      agent: false,
      headers: { ...own, ...headers },
    });
  }
}

/** An open stream of the page. */
export class PageStream implements Disposable {
  readonly status: number;
  /** The last `id:`. */
  lastEventId = '';
  readonly ended: Promise<void>;
  readonly response: IncomingMessage;
  readonly messages: PageMessage[] = [];
  readonly #request: ClientRequest;
  #text = '';
  #onMessage = (): void => {};

  constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.response = response;
    this.status = response.statusCode!;
    this.ended = new Promise((resolve) => response.on('close', resolve));
    response.on('error', () => {});
    sent.on('error', () => {});
  }

  /** The next message of these types that fits, also one that has come already. Rejects if the stream ends before. */
  async next<Type extends PageMessage['type']>(
    types: Type | readonly Type[],
    fits: (message: PageMessage & { type: Type }) => boolean = () => true,
  ): Promise<PageMessage & { type: Type }> {
    if (this.response.listenerCount('data') === 0) this.#read();
    const isWanted = (message: PageMessage): message is PageMessage & { type: Type } =>
      ([types].flat() as string[]).includes(message.type);
    for (let seen = 0; ; ) {
      for (; seen < this.messages.length; seen++) {
        const message = this.messages[seen]!;
        if (!isWanted(message) || !fits(message)) continue;
        this.messages.splice(0, seen + 1);
        return message;
      }
      const more = new Promise<boolean>((resolve) => {
        this.#onMessage = () => resolve(true);
      });
      if (await Promise.race([more, this.ended.then(() => false)])) continue;
      throw new Error(`the stream ended before a message '${types}' came`);
    }
  }

  [Symbol.dispose](): void {
    this.#request.destroy();
  }

  #read(): void {
    this.response.setEncoding('utf8').on('data', (chunk: string) => {
      this.#text += chunk;
      const events = this.#text.split('\n\n');
      this.#text = events.pop()!;
      for (const event of events) this.#receive(event.split('\n'));
    });
  }

  #receive(lines: readonly string[]): void {
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    this.lastEventId = field('id') ?? this.lastEventId;
    const data = field('data');
    if (data === undefined) return;
    this.messages.push(JSON.parse(data) as PageMessage);
    this.#onMessage();
  }
}
