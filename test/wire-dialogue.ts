import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import type { Session } from '../src/engine/session.ts';
import type { SettingValues } from '../src/engine/settings.ts';
import { encode, type Reply } from '../src/resp/index.ts';

/** An engine on a virtual clock whose clients hear bytes, as over a socket. */
export interface Wire {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** Addresses are 10.0.0.1:1, 10.0.0.2:2 and so on. */
  connect(): WireClient;
}

export function startWire(settings: SettingValues = {}): Wire {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1), settings });
  let count = 0;
  return { engine, clock, connect: () => new WireClient(engine, ++count) };
}

/** What a client hears is joined to one line: `*2 $1 a :1`. */
export class WireClient {
  readonly session: Session;
  #heard = '';
  isClosed = false;

  constructor(engine: Engine, number: number) {
    this.session = engine.session({
      push: (reply) => this.#take(reply),
      resume: (reply) => this.#take(reply),
      close: () => {
        this.isClosed = true;
      },
    });
    this.session.address = `10.0.0.${number}:${number}`;
    this.session.localAddress = '10.0.0.9:6379';
  }

  /** Words by spaces, or as an array; everything that was heard up to and with the reply. */
  say(command: string | readonly string[]): string {
    const argv = typeof command === 'string' ? command.split(' ') : command;
    const outcome = execute(this.session, argv);
    if (typeof outcome !== 'symbol') this.#take(outcome);
    return this.hears();
  }

  /** What was heard since the last time. */
  hears(): string {
    const heard = this.#heard.trimEnd().replaceAll('\r\n', ' ');
    this.#heard = '';
    return heard;
  }

  #take(reply: Reply): void {
    this.#heard += encode(reply, this.session.protocol);
  }
}
