import { expect } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import { parseEventClasses } from '../src/engine/notifications.ts';
import type { Session } from '../src/engine/session.ts';
import type { Reply } from '../src/resp/index.ts';

/** A client of an engine in memory. What it is told is plain: see `plain`. */
export interface Speaker {
  readonly session: Session;
  /** Words by spaces, or as an array; the reply, or 'waits' when it comes later. */
  say(command: string | readonly string[]): unknown;
  /** The replies that came later, taken away. */
  late(): unknown[];
}

/** An engine on a virtual clock, with one client to talk to it and its keyspace events written down. */
export interface Dialogue extends Speaker {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** Another client of the same engine. */
  other(): Speaker;
  /** The events since the last call, as `lpush key`. */
  events(): string[];
}

export function startDialogue(): Dialogue {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  engine.eventBits = parseEventClasses('EA');
  const heard: string[] = [];
  const listener = engine.session({ push: (reply) => heard.push(eventText(reply)), ...MUTE });
  execute(listener, ['PSUBSCRIBE', '__keyevent@*']);
  return {
    ...speaker(engine),
    engine,
    clock,
    other: () => speaker(engine),
    events: () => heard.splice(0),
  };
}

/** Says each command and expects its reply, in the form of `plain`. */
export function expectReplies(
  speaker: Speaker,
  lines: readonly (readonly [command: string | readonly string[], reply: unknown])[],
): void {
  for (const [command, reply] of lines) {
    expect(speaker.say(command), String(command)).toEqual(reply);
  }
}

/**
 * A reply as a test writes it down: strings, numbers, null and arrays as they are, `+OK`, `-ERR text`,
 * `*-1` for the array that is not there, a Set and a Map.
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

const MUTE = { resume() {}, close() {} };

function speaker(engine: Engine): Speaker {
  const late: unknown[] = [];
  const session = engine.session({
    ...MUTE,
    push() {},
    resume: (reply) => late.push(plain(reply)),
  });
  return {
    session,
    say(command) {
      const argv = typeof command === 'string' ? command.split(' ') : command;
      const outcome = execute(session, argv);
      return typeof outcome === 'symbol' ? 'waits' : plain(outcome);
    },
    late: () => late.splice(0),
  };
}

/** `__keyevent@0__:lpush` and the key, from a message of a pattern. */
function eventText(reply: Reply): string {
  const items = typeof reply === 'object' && reply && 'items' in reply ? reply.items : [];
  return `${String(items[2]).split(':')[1]} ${items[3]}`;
}
