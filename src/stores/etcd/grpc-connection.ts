import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Clock } from '../../clock/index.ts';
import type { Endpoint, EtcdTls } from './etcd-endpoints.ts';

/**
 * One HTTP/2 connection to a member of etcd, for gRPC calls with one request and one reply, and for streams. A call fails
 * when its timeout ends, when the connection ends, or with the gRPC status of the reply. A call keeps the process alive,
 * a stream and the connection do not.
 */
export class GrpcConnection {
  readonly endpoint: Endpoint;
  /** The raft term in the last reply of this member. 0: there was none. */
  raftTerm = 0;
  readonly #clock: Clock;
  readonly #session: ClientHttp2Session;
  #failure: Error | undefined;
  #isRetired = false;

  constructor(
    clock: Clock,
    endpoint: Endpoint,
    tls: EtcdTls | undefined,
    listener: ConnectionListener,
  ) {
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#session = connect(endpoint.url, { ...tls });
    this.#session.unref();
    this.#session.on('error', (error) => {
      this.#failure = error;
    });
    this.#session.on('goaway', () => listener.retired());
    this.#session.on('close', () => {
      listener.retired();
      listener.closed();
    });
  }

  /** Whether it accepts calls. */
  get isOpen(): boolean {
    return !this.#isRetired && !this.#session.closed && !this.#session.destroyed;
  }

  call(path: string, metadata: Metadata, body: Buffer, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let reply: Buffer | undefined;
      let stream: ClientHttp2Stream | undefined;
      const timer = this.#clock.setTimer(timeoutMs, () => {
        reject(new ConnectionFault(`no answer within ${Math.round(timeoutMs)} ms`));
        stream?.close(constants.NGHTTP2_CANCEL);
      });
      timer.keepAlive(true);
      const ended = (error: Error | undefined): void => {
        timer.cancel();
        if (error !== undefined) reject(error);
        else if (reply === undefined) reject(new GrpcError(INTERNAL, 'a reply has no message'));
        else resolve(reply);
      };
      const received = (bytes: Buffer): void => {
        reply = bytes;
      };
      stream = this.#open(path, metadata, { received, ended });
      stream?.end(framed(body));
    });
  }

  /** Opens a stream of requests and replies. Undefined: the connection has ended, and `ended` was called. */
  stream(path: string, metadata: Metadata, receiver: StreamReceiver): GrpcStream | undefined {
    const stream = this.#open(path, metadata, receiver);
    return (
      stream && {
        send: (body) => void (stream.writable && stream.write(framed(body))),
        close: () => stream.close(constants.NGHTTP2_CANCEL),
      }
    );
  }

  /** Accepts no more calls, and closes the connection when the pending ones have ended. */
  retire(): void {
    this.#isRetired = true;
    this.#session.close();
  }

  destroy(): void {
    this.#isRetired = true;
    this.#session.destroy();
  }

  #open(path: string, metadata: Metadata, receiver: StreamReceiver): ClientHttp2Stream | undefined {
    try {
      const stream = this.#session.request({ ...HEADERS, ...metadata, ':path': path });
      new ReplyReader(stream, receiver, () => this.#endText());
      return stream;
    } catch (error) {
      receiver.ended(new ConnectionFault(textOf(error)));
      return undefined;
    }
  }

  #endText(): string {
    return this.#failure === undefined ? 'the connection ended' : textOf(this.#failure);
  }
}

export interface ConnectionListener {
  /** The member accepts no more calls on this connection. May be called more than once. */
  retired(): void;
  closed(): void;
}

export type Metadata = Readonly<Record<string, string>>;

export interface StreamReceiver {
  received(message: Buffer): void;
  /** Called once. Undefined: the server ended the stream with status 0. */
  ended(error: Error | undefined): void;
}

export interface GrpcStream {
  send(body: Buffer): void;
  close(): void;
}

/** The member could not be reached, or did not reply in time: another member may. */
export class ConnectionFault extends Error {}

/** The member replied with a gRPC status other than 0. */
export class GrpcError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const INTERNAL = 13;
const HEADERS = {
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
} as const;
/** Flags and length before each message. */
const PREFIX_BYTES = 5;
/** A reply of this size has about a hundred thousand entries. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

function framed(body: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + body.length);
  frame[0] = 0;
  frame.writeUInt32BE(body.length, 1);
  body.copy(frame, PREFIX_BYTES);
  return frame;
}

/** Reads messages and the status from one HTTP/2 stream. */
class ReplyReader {
  readonly #stream: ClientHttp2Stream;
  readonly #receiver: StreamReceiver;
  #chunks: Buffer[] = [];
  #length = 0;
  #status: string | undefined;
  #statusText = '';
  #failure: Error | undefined;

  constructor(stream: ClientHttp2Stream, receiver: StreamReceiver, endText: () => string) {
    this.#stream = stream;
    this.#receiver = receiver;
    stream.on('response', (headers) => this.#readHeaders(headers));
    stream.on('trailers', (headers) => this.#readStatus(headers));
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', (error) => {
      this.#failure ??= new ConnectionFault(textOf(error));
    });
    stream.on('close', () => receiver.ended(this.#error(endText)));
  }

  #readHeaders(headers: Readonly<Record<string, unknown>>): void {
    const status = headers[':status'];
    if (status !== 200) this.#fail(`the server replied with HTTP status ${status}: is it etcd?`);
    this.#readStatus(headers);
  }

  #readStatus(headers: Readonly<Record<string, unknown>>): void {
    const status = headers['grpc-status'];
    if (status === undefined) return;
    this.#status = String(status);
    this.#statusText = decoded(String(headers['grpc-message'] ?? ''));
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= PREFIX_BYTES) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      this.#chunks = [bytes];
      const end = PREFIX_BYTES + bytes.readUInt32BE(1);
      if (bytes[0] !== 0 || end > MAX_MESSAGE_BYTES) {
        this.#fail(`the server sent a compressed message, or one of ${end} bytes: is it etcd?`);
        return;
      }
      if (this.#length < end) return;
      this.#chunks = [bytes.subarray(end)];
      this.#length -= end;
      this.#receiver.received(bytes.subarray(PREFIX_BYTES, end));
    }
  }

  #fail(text: string): void {
    this.#failure ??= new ConnectionFault(text);
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #error(endText: () => string): Error | undefined {
    if (this.#status === '0') return undefined;
    if (this.#status !== undefined) return new GrpcError(Number(this.#status), this.#statusText);
    return this.#failure ?? new ConnectionFault(endText());
  }
}

/** The message of a gRPC status is percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An AggregateError of a host with several addresses has no message, but a code. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message !== '' || !('code' in error) ? error.message : String(error.code);
}
