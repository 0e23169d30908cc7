import { expect } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import { parseEventClasses } from '../src/engine/notifications.ts';
import type { Session } from '../src/engine/session.ts';
import type { Reply } from '../src/resp/index.ts';

/** A client of an engine in memory. Replies have the form of `plain`. */
export interface TestClient {
  readonly session: Session;
  /** Runs a command: arguments separated by spaces, or an array. Returns the reply, or 'blocked'. */
  send(command: string | readonly string[]): unknown;
  /** The replies of blocked commands since the last call. */
  lateReplies(): unknown[];
}

/** A client with an engine of its own, which has a virtual clock and records keyspace events. */
export interface EngineClient extends TestClient {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** Another client of the same engine. */
  other(): TestClient;
  /** The events since the last call, as `lpush key`. */
  events(): string[];
}

export function startEngineClient(): EngineClient {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  engine.eventBits = parseEventClasses('EA');
  const events: string[] = [];
  const subscriber = engine.session({ push: (reply) => events.push(eventText(reply)), ...NOOP });
  execute(subscriber, ['PSUBSCRIBE', '__keyevent@*']);
  return {
    ...connect(engine),
    engine,
    clock,
    other: () => connect(engine),
    events: () => events.splice(0),
  };
}

/** Runs each command and expects its reply, in the form of `plain`. */
export function expectReplies(
  client: TestClient,
  lines: readonly (readonly [command: string | readonly string[], reply: unknown])[],
): void {
  for (const [command, reply] of lines) {
    expect(client.send(command), String(command)).toEqual(reply);
  }
}

/**
 * Converts a reply to a form that is short in tests: strings, numbers, null and arrays as they are, `+OK`, `-ERR text`,
 * `*-1` for the null array, a Set and a Map.
 */
export function plain(reply: Reply): unknown {
  if (Array.isArray(reply)) return reply.map(plain);
  if (typeof reply !== 'object' || reply === null || !('kind' in reply)) return reply;
  switch (reply.kind) {
    case 'simple':
      return `+${reply.text}`;
    case 'error':
      return `-${reply.message}`;
    case 'nullarray':
      return '*-1';
    case 'set':
      return new Set(reply.members.map(plain));
    case 'map':
      return new Map(reply.entries.map(([name, value]) => [plain(name), plain(value)]));
    case 'double':
      return reply.text;
    default:
      return reply;
  }
}

const NOOP = { resume() {}, close() {} };

function connect(engine: Engine): TestClient {
  const late: unknown[] = [];
  const session = engine.session({
    ...NOOP,
    push() {},
    resume: (reply) => late.push(plain(reply)),
  });
  return {
    session,
    send(command) {
      const argv = typeof command === 'string' ? command.split(' ') : command;
      const outcome = execute(session, argv);
      return typeof outcome === 'symbol' ? 'blocked' : plain(outcome);
    },
    lateReplies: () => late.splice(0),
  };
}

/** `lpush key`, from a message of the channel `__keyevent@0__:lpush`. */
function eventText(reply: Reply): string {
  const items = typeof reply === 'object' && reply && 'items' in reply ? reply.items : [];
  return `${String(items[2]).split(':')[1]} ${items[3]}`;
}
