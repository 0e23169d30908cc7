import { ErrorReply, type Reply } from '../resp/index.ts';
import { BLOCKED, BlockedCommand } from './blocking.ts';
import type { Outcome } from './command.ts';
import type { Engine } from './engine.ts';
import type { Session } from './session.ts';
import { MAX_TOKEN_BYTES } from './text.ts';

/** The failed sign-ins of one address. */
interface Failures {
  count: number;
  lastMs: number;
  /** Requests of this address that are delayed now. */
  held: number;
  /** When failures were last logged, and how many came since. */
  loggedMs: number;
  unlogged: number;
}

/**
 * AUTH and HELLO with AUTH. After FREE_FAILURES wrong passwords from an address, each further request of that address
 * is delayed before it is evaluated: 10 ms, then twice as long each time, up to a second. Right and wrong passwords
 * are delayed alike, so that a client that guesses cannot save time by closing early. Other commands and other
 * addresses are not delayed. A success does not end the delay; a minute without a failure does.
 */
export class SignIns {
  readonly #engine: Engine;
  /** In order of the last failure, the most recent at the end. */
  readonly #failures = new Map<string, Failures>();
  readonly #held = new Set<Session>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs `evaluate` now or after the delay of the session's address. It may throw ErrorReply. */
  evaluate(session: Session, evaluate: () => Reply): Outcome {
    const failures = this.#recent(hostOf(session.address));
    if (failures === undefined || failures.count < FREE_FAILURES) return evaluate();
    if (!session.mayBlock) throw NOT_IN_MULTI;
    if (failures.held >= MAX_HELD) throw TOO_MANY_WAIT;
    return this.#hold(session, failures, evaluate);
  }

  /** Whether the session's request is delayed. */
  isHolding(session: Session): boolean {
    return this.#held.has(session);
  }

  /**
   * Signs the session in, or throws WRONG_PASSWORD. The reply and the work are the same for a wrong password, an unknown
   * user and a disabled one. `commandName` is the name of the command as the client wrote it, for ACL LOG.
   */
  signIn(session: Session, name: string, password: string, commandName: string): void {
    const { acl } = this.#engine;
    const user = password.length <= MAX_PASSWORD_BYTES ? acl.verify(name, password) : undefined;
    if (user === undefined) {
      if (this.#isGuarded) this.#countFailure(hostOf(session.address));
      const context = session.queue === null && session.mayBlock ? 'toplevel' : 'multi';
      acl.log.add({ reason: 'auth', context, object: commandName, user: name, client: session });
      throw WRONG_PASSWORD;
    }
    session.user = user;
    session.authenticated = true;
    acl.enforce(session, session);
  }

  /** Whether there is a password to guess. */
  get #isGuarded(): boolean {
    return this.#engine.needsPassword || this.#engine.acl.hasMoreUsers;
  }

  #hold(session: Session, failures: Failures, evaluate: () => Reply): Outcome {
    const { clock } = this.#engine;
    const blocked = new BlockedCommand(session, null, () => {
      this.#held.delete(session);
      failures.held--;
      timer.cancel();
    });
    const timer = clock.setTimer(delayMs(failures.count), () => {
      blocked.cancel();
      session.listener.resume(this.#attempt(evaluate));
    });
    this.#held.add(session);
    failures.held++;
    return BLOCKED;
  }

  /** Logs an exception, because the timer has no caller. */
  #attempt(evaluate: () => Reply): Reply {
    this.#engine.freeze();
    try {
      return evaluate();
    } catch (error) {
      return error instanceof ErrorReply ? error : this.#engine.internalError(error);
    }
  }

  #recent(host: string): Failures | undefined {
    const failures = this.#failures.get(host);
    if (failures === undefined || this.#engine.nowMs - failures.lastMs < FORGET_MS) return failures;
    this.#failures.delete(host);
    return undefined;
  }

  #countFailure(host: string): void {
    const { nowMs } = this.#engine;
    const failures = this.#recent(host) ?? { ...NO_FAILURES };
    failures.count++;
    failures.unlogged++;
    failures.lastMs = nowMs;
    this.#failures.delete(host);
    this.#failures.set(host, failures);
    if (this.#failures.size > MAX_ADDRESSES) this.#forgetOldest();
    if (nowMs - failures.loggedMs >= LOG_MS) this.#log(host, failures);
  }

  #forgetOldest(): void {
    const [oldest] = this.#failures.keys();
    if (oldest !== undefined) this.#failures.delete(oldest);
  }

  #log(host: string, failures: Failures): void {
    const { count, unlogged } = failures;
    this.#engine.log(
      LOG_WARNING,
      `failed sign-ins from ${host || 'a Unix socket'}: ${unlogged} (${count} in all)`,
    );
    failures.loggedMs = this.#engine.nowMs;
    failures.unlogged = 0;
  }
}

function delayMs(failures: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - FREE_FAILURES));
}

/**
 * The host of `10.0.0.1:6379` or `[::1]:6379`. An attacker with one IPv6 address usually has the whole /64 network,
 * so that the host is the first four groups. All clients of a Unix socket are one host.
 */
export function hostOf(address: string): string {
  const host = address.slice(0, Math.max(0, address.lastIndexOf(':'))).replace(/^\[|\]$/g, '');
  if (!host.includes(':')) return host;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host);
  return mapped ? mapped[1]! : networkOf(host);
}

/** The first 64 bits of an IPv6 address. `::` expands to the missing zeros. */
function networkOf(host: string): string {
  const [head = '', tail] = host.split('::');
  const groups = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  while (groups.length + last.length < IPV6_GROUPS) groups.push('0');
  return `${[...groups, ...last].slice(0, IPV6_GROUPS / 2).join(':')}::/64`;
}

/** A longer password is wrong, and is not hashed. */
export const MAX_PASSWORD_BYTES = MAX_TOKEN_BYTES;

const FREE_FAILURES = 5;
const FIRST_DELAY_MS = 10;
const MAX_DELAY_MS = 1000;
/** Limits the connections on which an attacker can guess at the same time. */
const MAX_HELD = 64;
const FORGET_MS = 60_000;
const LOG_MS = 10_000;
const MAX_ADDRESSES = 4096;
const IPV6_GROUPS = 8;
/** redis.LOG_WARNING. */
const LOG_WARNING = 3;

const NO_FAILURES: Failures = {
  count: 0,
  lastMs: 0,
  held: 0,
  loggedMs: Number.NEGATIVE_INFINITY,
  unlogged: 0,
};

const WRONG_PASSWORD = new ErrorReply(
  'WRONGPASS invalid username-password pair or user is disabled.',
);
/** EXEC cannot be delayed. Without this error a signed-in client could guess there as fast as it sends. */
const NOT_IN_MULTI = new ErrorReply(
  'ERR too many sign-ins from this address failed, sign in outside of MULTI',
);
const TOO_MANY_WAIT = new ErrorReply(
  'ERR too many sign-ins from this address failed, try again later',
);
