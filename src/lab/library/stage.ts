import type { ReleaseOutcome } from '../../lock/index.ts';
import { type Image, START_MS } from '../store.ts';
import { Client, type ClientHost, type Delivery, type Held, type Request } from './client.ts';
import { type Option, option, PASS_TIME, type Sign } from './option.ts';
import type { Scenario, Task } from './scenario.ts';
import type { SharedStore } from './shared-store.ts';
import { type Found, Watcher } from './watcher.ts';

/** The maximum number of faults of each kind. */
export interface Faults {
  readonly crashes: number;
  readonly pauses: number;
  readonly cuts: number;
  /** Requests, replies and messages that get lost. */
  readonly losses: number;
  /** Connections that break while requests are in transit. Those requests may arrive after later ones. */
  readonly breaks: number;
}

/** The maximum duration of a pause or a network cut: longer than leases and reservations. */
const MAX_FAULT_MS = 8000;
/** A run is stuck if it takes longer than this since the last step that was not the usual one. */
const STUCK_AFTER_MS = 300_000;

const SIGN_OF = {
  request: 'q',
  reply: 'r',
  message: 'm',
  timer: 't',
  stray: 's',
  exit: 'e',
} as const;
const LANE_COUNT = 6;
const LANES = { request: 0, reply: 1, message: 2, timer: 3, stray: 4, exit: 5 } as const;

/**
 * Several clients that run the real library, and one store. `#deliveries` holds everything in transit, in the
 * order of sending. `usual` is the default next step: the oldest delivery, or time passes if there is none.
 * `others` lists the other possible steps, and `take` takes a step. A search needs nothing else.
 */
export class Stage implements ClientHost {
  readonly scenario: Scenario;
  readonly clients: readonly Client[];
  readonly watcher: Watcher;
  nowMs = START_MS;
  image: Image;
  /** False after the first fault, or after time passed while something was in transit. */
  isCalm = true;
  isClosing = false;
  /** The number of losses, and of delays. */
  losses = 0;
  delays = 0;
  readonly #store: SharedStore;
  readonly #left: { -readonly [Name in keyof Faults]: Faults[Name] };
  readonly #deliveries: Delivery[] = [];
  /** The time of the last step that was not the usual one. */
  #usualSinceMs = START_MS;

  constructor(scenario: Scenario, store: SharedStore, faults: Faults) {
    this.scenario = scenario;
    this.#store = store;
    this.#left = { ...faults };
    this.image = store.begin();
    const shared = new Map<string, string>();
    this.clients = scenario.clients.map(
      (_, index) => new Client(index, this, shared, scenario.hasSessions),
    );
    this.watcher = new Watcher(this);
  }

  get found(): Found | undefined {
    return this.watcher.found;
  }

  /** Starts all tasks. */
  start(): void {
    for (const [index, tasks] of this.scenario.clients.entries()) {
      for (const task of tasks) this.#begin(this.clients[index]!, task);
    }
  }

  /** Closes the library in all clients. Called when all tasks have ended. */
  close(): void {
    this.isClosing = true;
    for (const client of this.clients) {
      if (client.isCrashed) continue;
      client.isPaused = false;
      client.isCut = false;
      void client.close();
    }
  }

  /** True while a task runs or a client closes. */
  get isBusy(): boolean {
    for (const client of this.clients) if (this.isUnfinished(client)) return true;
    return false;
  }

  isUnfinished({ isCrashed, unfinished, hasClosed }: Client): boolean {
    return !isCrashed && (unfinished > 0 || (this.isClosing && !hasClosed));
  }

  /** The usual next step; undefined if none is left. */
  usual(): Option | undefined {
    return (
      this.#end(MAX_FAULT_MS) ??
      this.#oldest() ??
      (this.isBusy && this.#canPassTime() ? PASS_TIME : undefined) ??
      this.#end(0)
    );
  }

  /** The other possible steps. */
  others(usual: Option): Option[] {
    const others = this.#overtaking();
    if (usual !== PASS_TIME && this.#canPassTime()) others.push(PASS_TIME);
    for (const client of this.clients) this.#addFaults(client, others);
    return others.filter((other) => other !== usual);
  }

  /** Takes the step. Returns true if it reached a client, whose callbacks must then run. */
  take(taken: Option, isUsual: boolean): boolean {
    const { sign } = taken;
    if (!isUsual) this.#usualSinceMs = this.nowMs;
    if (sign === '.') {
      if (!isUsual) {
        this.isCalm = false;
        this.delays++;
      }
      if (this.isCalm) this.watcher.idle();
      this.#passTime();
      return false;
    }
    const client = this.clients[taken.client]!;
    if (sign === 'q' || sign === 's' || sign === 'e')
      return this.#reachStore(client, KIND_OF[sign]);
    if (sign === 'r' || sign === 'm' || sign === 't') {
      this.#remove(KIND_OF[sign], client)!.arrive!();
      return true;
    }
    this.isCalm = false;
    this.#fail(client, sign);
    return true;
  }

  send(event: Delivery): void {
    if (!event.client.isCrashed) this.#deliveries.push(event);
  }

  withdraw(event: Delivery): void {
    const at = this.#deliveries.indexOf(event);
    if (at >= 0) this.#deliveries.splice(at, 1);
  }

  entered(held: Held): void {
    this.watcher.entered(held);
  }

  releasing(held: Held): void {
    this.watcher.releasing(held);
  }

  released(held: Held, outcome: ReleaseOutcome): void {
    this.watcher.released(held, outcome);
  }

  contended(held: Held): void {
    this.watcher.contended(held);
  }

  /** True if a timer of the client is due and has not fired. */
  isLate(client: Client): boolean {
    return this.#deliveries.some((event) => event.client === client && event.kind === 'timer');
  }

  /** The delivery that an option is about, if there is one. */
  subject({ sign, client }: Option): Delivery | undefined {
    const kind = KIND_OF[sign as keyof typeof KIND_OF];
    return this.#deliveries.find((event) => event.kind === kind && event.client.index === client);
  }

  #begin(client: Client, task: Task): void {
    client.unfinished++;
    task.run(client).then(
      (ending) => {
        client.unfinished--;
        this.watcher.ended(client, task, ending);
      },
      (error: unknown) => this.watcher.threw(client, error),
    );
  }

  /** The option that ends a pause or a cut that has lasted at least this long. */
  #end(leastMs: number): Option | undefined {
    for (const { isCrashed, isPaused, isCut, sinceMs, index } of this.clients) {
      if (!(isPaused || isCut) || isCrashed || this.nowMs - sinceMs < leastMs) continue;
      return option(isPaused ? 'w' : 'u', index);
    }
    return undefined;
  }

  #oldest(): Option | undefined {
    for (const event of this.#deliveries) {
      if (!isHeldUp(event)) return option(SIGN_OF[event.kind], event.client.index);
    }
    return undefined;
  }

  /** The first of each lane. */
  #overtaking(): Option[] {
    const others: Option[] = [];
    let seen = 0;
    for (const event of this.#deliveries) {
      const lane = 1 << (event.client.index * LANE_COUNT + LANES[event.kind]);
      if ((seen & lane) !== 0) continue;
      seen |= lane;
      const { index } = event.client;
      if (!isHeldUp(event)) others.push(option(SIGN_OF[event.kind], index));
      if (this.#left.losses > 0 && canBeLost(event)) {
        others.push(option(`l${SIGN_OF[event.kind]}`, index));
      }
    }
    return others;
  }

  #addFaults(client: Client, others: Option[]): void {
    const { index, isPaused, isCut } = client;
    if (!this.isUnfinished(client)) return;
    if (isPaused) others.push(option('w', index));
    if (isCut) others.push(option('u', index));
    if (this.#left.crashes > 0) others.push(option('x', index));
    if (isPaused || isCut) return;
    if (this.#left.pauses > 0) others.push(option('z', index));
    if (this.#left.cuts > 0) others.push(option('c', index));
    if (this.#left.breaks > 0) others.push(option('b', index));
  }

  #fail(client: Client, sign: Sign): void {
    client.sinceMs = this.nowMs;
    if (LOSSES.has(sign)) this.losses++;
    else this.delays++;
    if (sign === 'w') client.isPaused = false;
    else if (sign === 'u') client.isCut = false;
    else if (sign === 'z') {
      this.#left.pauses--;
      client.isPaused = true;
    } else if (sign === 'c') {
      this.#left.cuts--;
      client.isCut = true;
      client.mayLeaveLeases = true;
    } else if (sign === 'b') {
      this.#left.breaks--;
      client.mayLeaveLeases = true;
      this.#breakConnection(client);
    } else if (sign === 'x') {
      this.#left.crashes--;
      client.crash();
      for (const event of this.#deliveries.filter((each) => each.client === client)) {
        if (event.kind !== 'exit') this.withdraw(event);
      }
      this.#exitLater(client);
    } else {
      this.#left.losses--;
      client.mayLeaveLeases = true;
      const request = this.#remove(KIND_OF[sign as keyof typeof KIND_OF], client)?.request;
      // A subscription has its own connection and fails with it.
      if (request?.channel !== undefined) request.fail(new Error('the connection has ended'));
    }
  }

  /** Requests in transit may still arrive; replies and messages in transit are lost. */
  #breakConnection(client: Client): void {
    for (const event of this.#deliveries.filter((each) => each.client === client)) {
      if (!canBeLost(event)) continue;
      this.withdraw(event);
      if (event.kind === 'request' && event.request!.channel === undefined) {
        this.send({ ...event, kind: 'stray' });
      }
    }
    this.#exitLater(client);
    client.loseConnection();
  }

  /** Puts the exit command of the client's session into transit: the server runs it at some later step. */
  #exitLater(client: Client): void {
    const { sessionId } = client;
    if (sessionId === undefined) return;
    const request: Request = { keys: [], args: [sessionId, 'exit'], ...NO_REPLY };
    this.#deliveries.push({ kind: 'exit', client, arrive: undefined, request, value: undefined });
  }

  #passTime(): void {
    this.nowMs = this.#nextDueMs();
    for (const grant of this.image.view!.grants) {
      if (grant.endMs <= this.nowMs) this.watcher.ran(grant);
    }
    this.image = this.#store.at(this.image, this.nowMs);
    for (const client of this.clients) client.sendDueTimers();
  }

  #canPassTime(): boolean {
    return this.#nextDueMs() < this.#usualSinceMs + STUCK_AFTER_MS;
  }

  #nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const client of this.clients) dueMs = Math.min(dueMs, client.nextDueMs);
    for (const { endMs } of this.image.view!.grants) {
      if (endMs > this.nowMs) dueMs = Math.min(dueMs, endMs);
    }
    return dueMs;
  }

  #reachStore(client: Client, kind: 'request' | 'stray' | 'exit'): false {
    const { request } = this.#remove(kind, client)!;
    const { channel, answer } = request!;
    const reply = (value: unknown): void => {
      if (kind !== 'request') return;
      this.send({ kind: 'reply', client, request, value, arrive: () => answer(value) });
    };
    if (channel !== undefined) {
      client.channel = channel;
      reply(undefined);
      return false;
    }
    const before = this.image;
    const result = this.#store.run(before, this.nowMs, request!);
    this.image = result.image;
    reply(result.answer);
    for (const message of result.messages) this.#publish(message.channel, message.text);
    this.watcher.stored(client, request!, before, result.image);
    const isLastExit = kind === 'exit' && !this.#deliveries.some((each) => isExitOf(each, client));
    if (isLastExit) this.watcher.exited(client);
    return false;
  }

  #publish(channel: string, text: string): void {
    const client = this.clients.find((each) => each.channel === channel);
    if (client === undefined) return;
    const arrive = (): void => client.onMessage!(text);
    this.send({ kind: 'message', client, request: undefined, value: text, arrive });
  }

  #remove(kind: Delivery['kind'], client: Client): Delivery | undefined {
    for (let at = 0; at < this.#deliveries.length; at++) {
      const event = this.#deliveries[at]!;
      if (event.kind !== kind || event.client !== client) continue;
      this.#deliveries.splice(at, 1);
      return event;
    }
    return undefined;
  }
}

const KIND_OF = {
  q: 'request',
  s: 'stray',
  e: 'exit',
  r: 'reply',
  m: 'message',
  t: 'timer',
  lq: 'request',
  lr: 'reply',
  lm: 'message',
} as const;

/** The server reads no reply to an exit command. */
const NO_REPLY = { channel: undefined, answer: () => {}, fail: () => {} } as const;

const LOSSES: ReadonlySet<Sign> = new Set(['b', 'lq', 'lr', 'lm']);

function isExitOf({ kind, client }: Delivery, exiting: Client): boolean {
  return kind === 'exit' && client === exiting;
}

type Losable = Delivery & { readonly kind: 'request' | 'reply' | 'message' };

function canBeLost(event: Delivery): event is Losable {
  return event.kind === 'request' || event.kind === 'reply' || event.kind === 'message';
}

/** True while a pause or a network cut keeps the delivery from arriving. */
function isHeldUp({ kind, client: { isPaused, isCut } }: Delivery): boolean {
  if (kind === 'exit') return false;
  if (kind === 'request' || kind === 'stray') return isCut;
  return isPaused || (isCut && kind !== 'timer');
}
