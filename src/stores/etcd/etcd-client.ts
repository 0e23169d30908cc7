import type { Clock } from '../../clock/index.ts';
import type { Endpoint, EtcdTls } from './etcd-endpoints.ts';
import { AUTHENTICATE, type Header, type Method } from './etcd-messages.ts';
import {
  ConnectionFault,
  GrpcConnection,
  GrpcError,
  type GrpcStream,
  type Metadata,
  type StreamReceiver,
} from './grpc-connection.ts';

export interface EtcdClientSettings {
  readonly clock: Clock;
  readonly endpoints: readonly Endpoint[];
  readonly user: string;
  readonly password: string;
  readonly tls: EtcdTls | undefined;
  /** The timeout of one request, with all its attempts. */
  readonly requestTimeoutMs: number;
}

/**
 * Sends requests to one member of the cluster, over one connection. When that member fails, requests go to the next one,
 * and the failed request is sent again within its timeout: every request of the store is idempotent. After all members
 * have failed, it pauses before the next attempt, 50 ms up to 2 s.
 */
export class EtcdClient {
  /** Resolves when the first request has a reply or has failed. */
  readonly connected: Promise<void>;
  #markConnected = (): void => {};
  readonly #settings: EtcdClientSettings;
  #connection: GrpcConnection | undefined;
  /** All that are open, with those whose last calls are pending. */
  readonly #connections = new Set<GrpcConnection>();
  #endpointIndex = 0;
  /** How many attempts have failed since the last reply. */
  #failureCount = 0;
  #pausedUntilMs = 0;
  /** Resolves with the metadata of all requests, with the token of the user. */
  #login: Promise<Metadata> | undefined;
  /** The metadata of the last login. Undefined: none has resolved since its token has expired. */
  #metadata: Metadata | undefined;
  #onRetired = (): void => {};
  readonly #pauses = new Set<() => void>();
  #isClosed = false;

  constructor(settings: EtcdClientSettings) {
    this.#settings = settings;
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async call<Request extends object, Reply extends object>(
    method: Method<Request, Reply>,
    request: Partial<Request>,
    onUnknown?: () => void,
  ): Promise<Reply> {
    return this.run((member) => member.call(method, request), onUnknown);
  }

  /**
   * Runs requests that must go to the same member. Runs them again, with another member, when that member fails. Then it
   * calls `onUnknown`: etcd may still execute the requests, after the later ones.
   */
  async run<Result>(
    work: (member: Member) => Promise<Result>,
    onUnknown?: () => void,
  ): Promise<Result> {
    const deadlineMs = this.#deadlineMs();
    try {
      for (let attempt = 0; ; attempt++) {
        const connection = await this.#connect(deadlineMs);
        const untilMs = this.#attemptEndMs(attempt, deadlineMs);
        let member: Member | undefined;
        try {
          member = await this.#member(connection, untilMs);
          const result = await work(member);
          this.#failureCount = 0;
          this.#pausedUntilMs = 0;
          return result;
        } catch (error) {
          if (isFaultOfMember(error)) onUnknown?.();
          this.#failed(connection, error, member?.metadata);
          if (!this.#canRetry(error, attempt, deadlineMs)) throw withAdvice(error);
        }
      }
    } finally {
      this.#markConnected();
    }
  }

  /** Opens a stream to the member that requests go to. `receiver.ended` is called when it ends for any reason. */
  async stream(path: string, receiver: StreamReceiver): Promise<GrpcStream | undefined> {
    const deadlineMs = this.#deadlineMs();
    const connection = await this.#connect(deadlineMs);
    try {
      const { metadata } = await this.#member(connection, deadlineMs);
      return connection.stream(path, metadata, receiver);
    } catch (error) {
      this.#failed(connection, error);
      throw error;
    }
  }

  /** Calls back when requests go to another member, or to the same one over a new connection. */
  onRetired(listener: () => void): void {
    this.#onRetired = listener;
  }

  close(): void {
    this.#isClosed = true;
    this.#connection = undefined;
    for (const connection of this.#connections) connection.destroy();
    for (const end of [...this.#pauses]) end();
  }

  #deadlineMs(): number {
    return this.#settings.clock.monotonicMs() + this.#settings.requestTimeoutMs;
  }

  /** The first attempt gets half of the time, so that there is time for another member. */
  #attemptEndMs(attempt: number, deadlineMs: number): number {
    const nowMs = this.#settings.clock.monotonicMs();
    const isOnly = this.#settings.endpoints.length === 1 || attempt > 0;
    return isOnly ? deadlineMs : (nowMs + deadlineMs) / 2;
  }

  /** Waits for the pause after failures. Resolves with the connection in use, or a new one. */
  async #connect(deadlineMs: number): Promise<GrpcConnection> {
    const { clock, endpoints, tls } = this.#settings;
    const nowMs = clock.monotonicMs();
    const pauseMs = Math.min(this.#pausedUntilMs, deadlineMs) - nowMs;
    if (pauseMs > 0) await this.#pause(pauseMs);
    if (this.#isClosed) throw new Error(CLOSED);
    if (this.#connection?.isOpen) return this.#connection;
    const endpoint = endpoints[this.#endpointIndex % endpoints.length]!;
    const connection = new GrpcConnection(clock, endpoint, tls, {
      retired: () => this.#retire(connection),
      closed: () => this.#connections.delete(connection),
    });
    this.#connection = connection;
    this.#connections.add(connection);
    return connection;
  }

  async #member(connection: GrpcConnection, untilMs: number): Promise<Member> {
    const { clock } = this.#settings;
    const timeLeftMs = (): number => Math.max(1, untilMs - clock.monotonicMs());
    this.#login ??= this.#logIn(new Member(connection, REQUIRE_LEADER, timeLeftMs));
    const login = this.#login;
    try {
      const metadata = await login;
      if (this.#login === login) this.#metadata = metadata;
      return new Member(connection, metadata, timeLeftMs);
    } catch (error) {
      if (this.#login === login) this.#login = undefined;
      throw error;
    }
  }

  async #logIn(member: Member): Promise<Metadata> {
    const { user, password } = this.#settings;
    if (user === '') return REQUIRE_LEADER;
    try {
      const { token } = await member.call(AUTHENTICATE, { name: user, password });
      return { ...REQUIRE_LEADER, token };
    } catch (error) {
      if (error instanceof GrpcError && error.message.includes('authentication is not enabled')) {
        return REQUIRE_LEADER;
      }
      throw error;
    }
  }

  /** A token that has expired fails many requests at once: the first one that fails logs in for all. */
  #failed(connection: GrpcConnection, error: unknown, metadata?: Metadata): void {
    if (isFaultOfMember(error)) this.#retire(connection);
    else if (isOldToken(error) && metadata === this.#metadata) {
      this.#login = undefined;
      this.#metadata = undefined;
    }
  }

  #canRetry(error: unknown, attempt: number, deadlineMs: number): boolean {
    const { clock, endpoints, user } = this.#settings;
    if (this.#isClosed || clock.monotonicMs() >= deadlineMs) return false;
    if (isFaultOfMember(error)) return attempt < endpoints.length;
    return isOldToken(error) && user !== '' && attempt === 0;
  }

  /** The next request goes to the next member. Pending calls of this connection may still get their replies. */
  #retire(connection: GrpcConnection): void {
    if (connection !== this.#connection) return;
    const { clock, endpoints } = this.#settings;
    connection.retire();
    this.#connection = undefined;
    this.#endpointIndex++;
    this.#failureCount++;
    const rounds = Math.floor(this.#failureCount / endpoints.length);
    if (rounds > 0) {
      const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** (rounds - 1), MAX_PAUSE_MS);
      this.#pausedUntilMs = clock.monotonicMs() + pauseMs;
    }
    this.#onRetired();
  }

  async #pause(durationMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#pauses.delete(end);
        timer.cancel();
        resolve();
      };
      const timer = this.#settings.clock.setTimer(durationMs, end);
      timer.keepAlive(true);
      this.#pauses.add(end);
    });
  }
}

/** One member, for the requests of one call of `run`. */
export class Member {
  readonly connection: GrpcConnection;
  readonly metadata: Metadata;
  readonly #timeLeftMs: () => number;

  constructor(connection: GrpcConnection, metadata: Metadata, timeLeftMs: () => number) {
    this.connection = connection;
    this.metadata = metadata;
    this.#timeLeftMs = timeLeftMs;
  }

  async call<Request extends object, Reply extends object>(
    { path, request, reply }: Method<Request, Reply>,
    given: Partial<Request>,
  ): Promise<Reply> {
    const { connection, metadata } = this;
    const body = request.encode(given);
    const message = reply.decode(
      await connection.call(path, metadata, body, this.#timeLeftMs()),
    ) as Reply & { readonly header?: Header };
    if (message.header !== undefined) connection.raftTerm = message.header.raftTerm;
    return message;
  }
}

const CLOSED = 'the store was closed';
/** A member that has lost its leader fails requests and streams instead of hanging. */
const REQUIRE_LEADER: Metadata = { hasleader: 'true' };
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2000;

const STATUS = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  failedPrecondition: 9,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const FINAL: ReadonlySet<number> = new Set([
  STATUS.invalidArgument,
  STATUS.permissionDenied,
  STATUS.failedPrecondition,
  STATUS.unimplemented,
  STATUS.unauthenticated,
]);

function isFaultOfMember(error: unknown): boolean {
  if (error instanceof ConnectionFault) return true;
  if (!(error instanceof GrpcError)) return false;
  return error.status === STATUS.unavailable || error.status === STATUS.deadlineExceeded;
}

/** The token has expired, or users were changed since. */
function isOldToken(error: unknown): boolean {
  if (!(error instanceof GrpcError)) return false;
  return (
    error.status === STATUS.unauthenticated ||
    error.message.includes('revision of auth store is old') ||
    error.message.includes('revision in header is old')
  );
}

/** The lease of a request does not exist any more. */
export function isLeaseNotFound(error: unknown): boolean {
  return error instanceof GrpcError && error.message.includes('requested lease not found');
}

/** A lease with this id exists: an earlier attempt of the same request has created it. */
export function isLeaseThere(error: unknown): boolean {
  return error instanceof GrpcError && error.message.includes('lease already exists');
}

const ADVICE: readonly (readonly [text: string, advice: string])[] = [
  ['user name is empty', 'etcd requires a user: pass { user, password }'],
  ['invalid user ID or password', 'check the user and the password'],
  ['permission denied', 'grant the user readwrite on the keys with the prefix of the store'],
  ['database space exceeded', 'compact and defragment etcd, then disarm its alarm'],
  ['too many operations', "raise etcd's --max-txn-ops to at least 128"],
];

/** Marks errors that retries cannot fix as final, and adds what to do. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof GrpcError) || isLeaseNotFound(error) || isLeaseThere(error)) return error;
  const advice = ADVICE.find(([text]) => error.message.includes(text))?.[1];
  const message = advice === undefined ? error.message : `${error.message} (${advice})`;
  return Object.assign(new GrpcError(error.status, message), {
    isFinal: FINAL.has(error.status),
    cause: error,
  });
}
