import type { ReleaseOutcome } from '../../lock/index.ts';
import { type Image, START_MS } from '../store.ts';
import { Client, type Coming, type Held, type Request, type Surroundings } from './client.ts';
import { type Option, option, PASS_TIME, type Sign } from './option.ts';
import type { Scenario, Task } from './scenario.ts';
import type { SharedStore } from './shared-store.ts';
import { type Found, Watcher } from './watcher.ts';

/** What may go wrong how often. */
export interface Faults {
  readonly crashes: number;
  readonly pauses: number;
  readonly cuts: number;
  /** Requests, replies and messages that get lost. */
  readonly losses: number;
  /** Connections that end while requests are on their way, which may then arrive after later ones. */
  readonly breaks: number;
}

/** How long a pause or a cut lasts unless somebody ends it before: longer than leases and reservations. */
const LONGEST_FAULT_MS = 8000;
/** No run takes so long to serve everybody when only the usual happens any more. */
const PATIENCE_MS = 300_000;

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
 * The real library in several clients, around one store. All that is on its way stands in `coming`, in
 * the order in which it set out. What happens by itself is `usual`: whatever has waited longest; time
 * passes only when nothing else can happen. `others` is what could happen instead, and `take` makes one
 * of these happen. Whoever directs a run needs nothing else.
 */
export class Stage implements Surroundings {
  readonly scenario: Scenario;
  readonly clients: readonly Client[];
  readonly watcher: Watcher;
  nowMs = START_MS;
  image: Image;
  /** False from the first fault on, and from when time passed while something was on its way. */
  isCalm = true;
  isClosing = false;
  /** How often something got lost, and how often somebody was held up. */
  losses = 0;
  delays = 0;
  readonly #store: SharedStore;
  readonly #left: { -readonly [Name in keyof Faults]: Faults[Name] };
  readonly #coming: Coming[] = [];
  /** Since when nothing has happened but the usual. */
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

  /** Lets all programs begin. */
  start(): void {
    for (const [index, tasks] of this.scenario.clients.entries()) {
      for (const task of tasks) this.#begin(this.clients[index]!, task);
    }
  }

  /** All programs have ended: the library is closed in all clients. */
  close(): void {
    this.isClosing = true;
    for (const client of this.clients) {
      if (client.isCrashed) continue;
      client.isPaused = false;
      client.isCut = false;
      void client.close();
    }
  }

  /** Whether somebody still has something to do. */
  get isBusy(): boolean {
    for (const client of this.clients) if (this.isUnfinished(client)) return true;
    return false;
  }

  isUnfinished({ isCrashed, unfinished, hasClosed }: Client): boolean {
    return !isCrashed && (unfinished > 0 || (this.isClosing && !hasClosed));
  }

  /** What happens next by itself; undefined if nothing can. */
  usual(): Option | undefined {
    return (
      this.#end(LONGEST_FAULT_MS) ??
      this.#oldest() ??
      (this.isBusy && this.#canPassTime() ? PASS_TIME : undefined) ??
      this.#end(0)
    );
  }

  /** What could happen instead of the usual. */
  others(usual: Option): Option[] {
    const others = this.#overtaking();
    if (usual !== PASS_TIME && this.#canPassTime()) others.push(PASS_TIME);
    for (const client of this.clients) this.#addFaults(client, others);
    return others.filter((other) => other !== usual);
  }

  /** Makes it happen. Whether a client's program has something to do now. */
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

  send(event: Coming): void {
    if (!event.client.isCrashed) this.#coming.push(event);
  }

  withdraw(event: Coming): void {
    const at = this.#coming.indexOf(event);
    if (at >= 0) this.#coming.splice(at, 1);
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

  /** Whether a timer of the client should have fired by now. */
  isLate(client: Client): boolean {
    return this.#coming.some((event) => event.client === client && event.kind === 'timer');
  }

  /** What an option is about, if it is on its way. */
  subject({ sign, client }: Option): Coming | undefined {
    const kind = KIND_OF[sign as keyof typeof KIND_OF];
    return this.#coming.find((event) => event.kind === kind && event.client.index === client);
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

  /** The end of a pause or a cut that has lasted so long. */
  #end(leastMs: number): Option | undefined {
    for (const { isCrashed, isPaused, isCut, sinceMs, index } of this.clients) {
      if (!(isPaused || isCut) || isCrashed || this.nowMs - sinceMs < leastMs) continue;
      return option(isPaused ? 'w' : 'u', index);
    }
    return undefined;
  }

  #oldest(): Option | undefined {
    for (const event of this.#coming) {
      if (!isHeldUp(event)) return option(SIGN_OF[event.kind], event.client.index);
    }
    return undefined;
  }

  /** The first of each lane. */
  #overtaking(): Option[] {
    const others: Option[] = [];
    let seen = 0;
    for (const event of this.#coming) {
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
      client.mayLeave = true;
    } else if (sign === 'b') {
      this.#left.breaks--;
      client.mayLeave = true;
      this.#breakConnection(client);
    } else if (sign === 'x') {
      this.#left.crashes--;
      client.crash();
      for (const event of this.#coming.filter((each) => each.client === client)) {
        if (event.kind !== 'exit') this.withdraw(event);
      }
      this.#exitLater(client);
    } else {
      this.#left.losses--;
      client.mayLeave = true;
      const request = this.#remove(KIND_OF[sign as keyof typeof KIND_OF], client)?.request;
      // A subscription has a connection of its own, and is lost with it.
      if (request?.channel !== undefined) request.fail(new Error('the connection has ended'));
    }
  }

  /** What it sent may still arrive, what it would have heard is lost. */
  #breakConnection(client: Client): void {
    for (const event of this.#coming.filter((each) => each.client === client)) {
      if (!canBeLost(event)) continue;
      this.withdraw(event);
      if (event.kind === 'request' && event.request!.channel === undefined) {
        this.send({ ...event, kind: 'stray' });
      }
    }
    this.#exitLater(client);
    client.loseConnection();
  }

  /** The server notices the end of the client's session, at some time. */
  #exitLater(client: Client): void {
    const { sessionId } = client;
    if (sessionId === undefined) return;
    const request: Request = { keys: [], args: [sessionId, 'exit'], ...UNHEARD };
    this.#coming.push({ kind: 'exit', client, arrive: undefined, request, value: undefined });
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
    return this.#nextDueMs() < this.#usualSinceMs + PATIENCE_MS;
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
    const isLastExit = kind === 'exit' && !this.#coming.some((each) => isExitOf(each, client));
    if (isLastExit) this.watcher.exited(client);
    return false;
  }

  #publish(channel: string, text: string): void {
    const client = this.clients.find((each) => each.channel === channel);
    if (client === undefined) return;
    const arrive = (): void => client.onMessage!(text);
    this.send({ kind: 'message', client, request: undefined, value: text, arrive });
  }

  #remove(kind: Coming['kind'], client: Client): Coming | undefined {
    for (let at = 0; at < this.#coming.length; at++) {
      const event = this.#coming[at]!;
      if (event.kind !== kind || event.client !== client) continue;
      this.#coming.splice(at, 1);
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
const UNHEARD = { channel: undefined, answer: () => {}, fail: () => {} } as const;

const LOSSES: ReadonlySet<Sign> = new Set(['b', 'lq', 'lr', 'lm']);

function isExitOf({ kind, client }: Coming, exiting: Client): boolean {
  return kind === 'exit' && client === exiting;
}

type Losable = Coming & { readonly kind: 'request' | 'reply' | 'message' };

function canBeLost(event: Coming): event is Losable {
  return event.kind === 'request' || event.kind === 'reply' || event.kind === 'message';
}

/** Whether a pause or a cut keeps it from arriving. */
function isHeldUp({ kind, client: { isPaused, isCut } }: Coming): boolean {
  if (kind === 'exit') return false;
  if (kind === 'request' || kind === 'stray') return isCut;
  return isPaused || (isCut && kind !== 'timer');
}
