import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/engine.ts';
import { execute } from '../src/engine/execute.ts';
import type { Session } from '../src/engine/session.ts';
import type { SettingValues } from '../src/engine/settings.ts';
import { encode, type Reply } from '../src/resp/index.ts';

/** An engine on a virtual clock whose clients receive encoded replies, as over a socket. */
export interface WireEngine {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** Addresses are 10.0.0.1:1, 10.0.0.2:2 and so on. */
  connect(): WireClient;
}

export function startWireEngine(settings: SettingValues = {}): WireEngine {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1), settings });
  let count = 0;
  return { engine, clock, connect: () => new WireClient(engine, ++count) };
}

/** A client whose replies are in wire format, on one line: `*2 $1 a :1`. */
export class WireClient {
  readonly session: Session;
  #received = '';
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

  /** Runs a command: arguments separated by spaces, or an array. Returns everything received up to the reply. */
  send(command: string | readonly string[]): string {
    const argv = typeof command === 'string' ? command.split(' ') : command;
    const outcome = execute(this.session, argv);
    if (typeof outcome !== 'symbol') this.#take(outcome);
    return this.received();
  }

  /** Everything received since the last call. */
  received(): string {
    const received = this.#received.trimEnd().replaceAll('\r\n', ' ');
    this.#received = '';
    return received;
  }

  #take(reply: Reply): void {
    this.#received += encode(reply, this.session.protocol);
  }
}
