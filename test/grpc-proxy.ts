import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** Passes gRPC calls on to a server on loopback. Counts them, and holds the replies to some of them. */
export class GrpcProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Http2Server;
  readonly #upstream: ClientHttp2Session;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #counts = new Map<string, number>();
  readonly #holds = new Set<Hold>();

  static async start(targetPort: number): Promise<GrpcProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new GrpcProxy(server, targetPort);
  }

  private constructor(server: Http2Server, targetPort: number) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#upstream = connect(`http://127.0.0.1:${targetPort}`);
    server.on('session', (session) => this.#sessions.add(session));
    server.on('stream', (stream, headers) => this.#pass(stream, headers));
  }

  /** How many calls of this method have begun. */
  count(method: string): number {
    return this.#counts.get(method) ?? 0;
  }

  /** Holds the replies to calls of this method whose request contains the text, until `end()`. */
  hold(method: string, text = ''): Hold {
    const hold = new Hold(method, text, () => this.#holds.delete(hold));
    this.#holds.add(hold);
    return hold;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#upstream.destroy();
    this.#server.close();
  }

  #pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const method = headers[':path']!.split('/').at(-1)!;
    this.#counts.set(method, this.count(method) + 1);
    const { ':authority': _, ...others } = headers;
    const call = this.#upstream.request(others);
    let request = '';
    stream.on('data', (bytes: Buffer) => {
      request += bytes.toString('latin1');
      call.write(bytes);
    });
    stream.on('end', () => call.end());
    for (const each of [stream, call]) each.on('error', () => {});
    stream.on('close', () => call.close());
    call.on('response', (reply) => {
      const holds = [...this.#holds].filter((hold) => hold.begin(method, request));
      const isFinal = reply['grpc-status'] !== undefined;
      call.pause();
      void Promise.all(holds.map(({ ended }) => ended)).then(() => {
        if (stream.closed || stream.destroyed) return;
        stream.respond(reply, { waitForTrailers: !isFinal, endStream: isFinal });
        call.on('data', (bytes: Buffer) => void (stream.writable && stream.write(bytes)));
        stream.on('wantTrailers', () => stream.sendTrailers(trailers));
        call.on('end', () => stream.end());
        call.resume();
      });
    });
    let trailers = {};
    call.on('trailers', ({ ...given }) => {
      trailers = given;
    });
  }
}

class Hold {
  /** Resolves when etcd has executed a call whose reply is held. */
  readonly begun: Promise<void>;
  readonly ended: Promise<void>;
  readonly end: () => void;
  readonly begin: (method: string, request: string) => boolean;

  constructor(method: string, text: string, onEnd: () => void) {
    let begun = (): void => {};
    let ended = (): void => {};
    this.begun = new Promise((resolve) => {
      begun = resolve;
    });
    this.ended = new Promise((resolve) => {
      ended = resolve;
    });
    this.end = () => {
      onEnd();
      ended();
    };
    this.begin = (given, request) => {
      const isHeld = given === method && request.includes(text);
      if (isHeld) begun();
      return isHeld;
    };
  }
}
