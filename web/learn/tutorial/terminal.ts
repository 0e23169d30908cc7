import { bytesOf, textOf } from '../../../src/cli/bytes.ts';
import { formatReply } from '../../../src/cli/console/format-reply.ts';
import { virtualClock } from '../../../src/clock/index.ts';
import { BLOCKED, createEngine, execute, type Session } from '../../../src/engine/index.ts';
import { type Reply, splitInlineArguments } from '../../../src/resp/index.ts';
import type { ConsoleReply } from '../lab/messages.ts';

/** Clients of one engine on a virtual clock. Replies are as redis-cli prints them. */
export class Terminal {
  readonly #clock = virtualClock();
  readonly #engine = createEngine({ clock: this.#clock, settings: SETTINGS });
  readonly #sessions = new Map<string, Session>();
  readonly #waiting = new Set<string>();
  #late: ConsoleReply[] = [];

  /** Runs a line of a client. Returns its reply, then those that other clients waited for. */
  run(client: string, line: string): readonly ConsoleReply[] {
    if (this.#waiting.has(client)) return [{ client, text: '(still waiting)' }];
    const bytes = Buffer.from(bytesOf(line), 'latin1');
    const argv = splitInlineArguments(bytes, 0, bytes.length);
    if (argv === null) return [{ client, text: 'Invalid argument(s)' }];
    if (argv.length === 0) return [];
    const session = this.#session(client);
    if (session === undefined) return [{ client, text: `(error) at most ${MAX_CLIENTS} clients` }];
    const outcome = execute(session, argv);
    if (outcome === BLOCKED) this.#waiting.add(client);
    const own = outcome === BLOCKED ? '(waits)' : shown(outcome as Reply);
    this.#clock.advance(0);
    return [{ client, text: own }, ...this.#takeLate()];
  }

  /** Lets time pass. Returns the replies that clients waited for. */
  wait(durationMs: number): readonly ConsoleReply[] {
    this.#clock.advance(Math.min(durationMs, MAX_WAIT_MS));
    return this.#takeLate();
  }

  close(): void {
    this.#engine.close();
  }

  #session(client: string): Session | undefined {
    const known = this.#sessions.get(client);
    if (known !== undefined || this.#sessions.size >= MAX_CLIENTS) return known;
    const answer = (reply: Reply): void => {
      this.#late.push({ client, text: shown(reply) });
    };
    const session = this.#engine.session({
      push: answer,
      resume: (reply) => {
        this.#waiting.delete(client);
        answer(reply);
      },
      close: () => this.#sessions.delete(client),
    });
    this.#sessions.set(client, session);
    return session;
  }

  #takeLate(): ConsoleReply[] {
    const late = this.#late;
    this.#late = [];
    return late;
  }
}

const SETTINGS = { maxmemory: '32mb', 'script-budget-steps': '1000000' };
const MAX_CLIENTS = 8;
const MAX_WAIT_MS = 86_400_000;

function shown(reply: Reply): string {
  return textOf(formatReply(reply));
}
