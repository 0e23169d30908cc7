import { channelOf } from '../stores/index.ts';
import { type Choice, choice, clientName, TICK } from './choice.ts';
import {
  applyMark,
  changeClient,
  type Draft,
  draftOf,
  type Event,
  forgetLock,
  NO_MAIL,
  newcomer,
  OUTSIDE,
  write,
} from './draft.ts';
import { SKEW_MS, type WorldOptions } from './options.ts';
import { type Ending, LOST, type Position, Program, type Told } from './program.ts';
import type { Algorithm, CommandAction, ListenAction, Step } from './recipe.ts';
import { type ClientState, isAlive, type State, sealState } from './state.ts';
import { type Message, START_MS, Store } from './store.ts';
import { RETRY_MS } from './tools.ts';

/** One choice taken: what it led from and to, and what happened in between. */
export interface Move {
  readonly choice: Choice;
  readonly before: State;
  readonly after: State;
  /** The client's own step, if it took one, and what it was told. */
  readonly step: Step | undefined;
  readonly told: Told;
  readonly events: readonly Event[];
}

/**
 * Some clients of a recipe around one store. All that can happen is `choices`, and what then happens is
 * `step`: a function of the state and the choice alone, so that whoever explores needs nothing but
 * these two.
 *
 * Steps take no time, unless `stepTicks` says how long a command waits for its reply. A client may begin an
 * attempt at any time, but then the clock stands still until it sleeps, waits for a reply, ends or is paused:
 * a client that is slower than that is one that is paused, and pauses are counted.
 */
export class World {
  readonly recipe: Algorithm;
  readonly options: WorldOptions;
  readonly store: Store;
  readonly initial: State;
  /** How much of the lock there is to take. */
  readonly slots: number;
  readonly #variant: string;
  readonly #programs: Program[][] = [];
  readonly #positionIds = { next: 0 };
  readonly #endMs: number;

  constructor(recipe: Algorithm, variant: string, options: WorldOptions, remembers = true) {
    this.recipe = recipe;
    this.options = options;
    this.slots = recipe.slots ?? 1;
    this.#variant = variant;
    this.store = new Store(recipe, remembers);
    this.#endMs = START_MS + options.ticks * options.tickMs;
    this.initial = this.#begin();
  }

  /** What can happen next, in a fixed order; nothing when only faults could, since the run is over. */
  choices(state: State): Choice[] {
    const choices = this.#progress(state);
    if (choices.length === 0) return choices;
    this.#addFaults(state, choices);
    return choices;
  }

  /** What happens next when faults have stopped and everybody gets his turn, for as long as it takes. */
  fairChoice({ clients }: State): Choice | undefined {
    const find = (status: string): number => clients.findIndex((each) => each.status === status);
    const [paused, ready] = [find('paused'), find('ready')];
    if (paused >= 0) return choice('resume', paused);
    if (ready >= 0) return choice('step', ready);
    return find('asleep') >= 0 ? TICK : undefined;
  }

  /** The state in which a new client stands in the place of one that is gone. */
  withNewcomer(state: State, index: number): State {
    const draft = draftOf(state);
    draft.clients[index] = newcomer(this.#program(index, 1).start);
    return sealState(draft);
  }

  step(before: State, taken: Choice): Move {
    const draft = draftOf(before);
    if (taken.kind !== 'ahead' && taken.kind !== 'behind') draft.left = noSkews(draft.left);
    const isStep = taken.kind === 'step' || taken.kind === 'lose';
    const step = isStep ? (before.clients[taken.client]!.position.action as Step) : undefined;
    let told: Told;
    if (step !== undefined) told = this.#act(draft, taken, step);
    else this.#happen(draft, taken);
    return { choice: taken, before, after: sealState(draft), step, told, events: draft.events };
  }

  #begin(): State {
    const { clients, crashes, pauses, lostReplies, skews } = this.options;
    const draft: Draft = {
      nowMs: START_MS,
      image: this.store.empty,
      clients: [],
      left: { crashes, pauses, lostReplies, skews },
      holder: -1,
      writer: -1,
      fence: 0,
      events: [],
    };
    for (let index = 0; index < clients; index++) {
      draft.clients.push(newcomer(this.#program(index, 1).start));
      this.#arrive(draft, index, draft.clients[index]!.position);
    }
    return sealState(draft);
  }

  #program(client: number, round: number): Program {
    this.#programs[client] ??= [];
    this.#programs[client][round] ??= new Program(
      this.recipe,
      this.#variant,
      clientName(client),
      round,
      this.#positionIds,
    );
    return this.#programs[client][round];
  }

  #progress(state: State): Choice[] {
    const choices: Choice[] = [];
    for (const [index, { status }] of state.clients.entries()) {
      if (status === 'ready') choices.push(choice('step', index));
    }
    if (state.nowMs < this.#endMs && this.#canTick(state)) choices.push(TICK);
    for (const [index, { status }] of state.clients.entries()) {
      if (status === 'paused') choices.push(choice('resume', index));
    }
    return choices;
  }

  /** Somebody waits for the clock, be it for a lease's end, and nobody is in the middle of an attempt. */
  #canTick({ clients, image }: State): boolean {
    let waits = image.lock !== undefined;
    for (const [index, { status, position, round }] of clients.entries()) {
      if (status === 'asleep' || status === 'paused') waits = true;
      else if (status === 'ready' && position !== this.#program(index, round).start) return false;
    }
    return waits;
  }

  #addFaults({ clients, left }: State, choices: Choice[]): void {
    for (const [index, client] of clients.entries()) {
      const isReady = client.status === 'ready';
      if (left.crashes > 0 && isAlive(client)) choices.push(choice('crash', index));
      // A pause is a delay before a step, and one who sleeps has none to take.
      if (left.pauses > 0 && isReady) choices.push(choice('pause', index));
      if (left.lostReplies > 0 && isReady && canBeLost(client.position.action!.kind)) {
        choices.push(choice('lose', index));
      }
      if (left.skews > 0 && clients.every(({ skewMs }, other) => skewMs === 0 || other < index)) {
        choices.push(choice('ahead', index), choice('behind', index));
      }
    }
  }

  /** A client's own step; returns what it is told. */
  #act(draft: Draft, { kind, client }: Choice, step: Step): Told {
    const answer = this.#answer(draft, client, step);
    const told = kind === 'lose' ? LOST : answer;
    if (kind === 'lose') draft.left = { ...draft.left, lostReplies: draft.left.lostReplies - 1 };
    const { position } = draft.clients[client]!;
    const { stepTicks, tickMs } = this.options;
    if (kind === 'lose' && step.kind === 'listen') this.#listen(draft, client);
    else if (step.kind === 'command' && stepTicks > 0) {
      this.#fallAsleep(draft, client, stepTicks * tickMs, position.after(told));
    } else this.#arrive(draft, client, position.after(told));
    return told;
  }

  #answer(draft: Draft, client: number, step: Step): Told {
    if (step.kind === 'command') return this.#command(draft, client, step);
    if (step.kind === 'write') return write(draft, client, step);
    if (step.kind === 'listen') return hear(draft, client, step);
    return Math.floor((draft.nowMs + draft.clients[client]!.skewMs) / step.unitMs);
  }

  #command(draft: Draft, client: number, step: CommandAction): Told {
    const before = draft.image.lock;
    const { answer, image, messages } = this.store.run(draft.image, draft.nowMs, step);
    draft.image = image;
    for (const message of messages) deliver(draft, message);
    if (image.lock === undefined) forgetLock(draft);
    else if (image.lock.value !== before?.value) draft.writer = client;
    return answer;
  }

  #happen(draft: Draft, { kind, client }: Choice): void {
    const { left } = draft;
    const change = (changes: Partial<ClientState>): void => changeClient(draft, client, changes);
    if (kind === 'tick') this.#tick(draft);
    else if (kind === 'resume') change({ status: 'ready' });
    else if (kind === 'crash') {
      draft.left = { ...left, crashes: left.crashes - 1 };
      change({ status: 'crashed', mail: NO_MAIL, wasPaused: false, followers: 0, isLate: false });
    } else if (kind === 'pause') {
      draft.left = { ...left, pauses: left.pauses - 1 };
      change({ status: 'paused', wasPaused: draft.clients[client]!.inside });
    } else {
      draft.left = { ...left, skews: left.skews - 1 };
      change({ skewMs: kind === 'ahead' ? SKEW_MS : -SKEW_MS });
    }
  }

  #tick(draft: Draft): void {
    draft.nowMs += this.options.tickMs;
    draft.image = this.store.at(draft.image, draft.nowMs);
    if (draft.image.lock === undefined) forgetLock(draft);
    for (let index = 0; index < draft.clients.length; index++) {
      const { status, wakeMs, position, listens } = draft.clients[index]!;
      if (status !== 'asleep' || wakeMs > draft.nowMs) continue;
      if (listens) this.#listen(draft, index);
      else this.#arrive(draft, index, position);
    }
  }

  /** Brings a client to a place: its marks count, and it is ready, falls asleep or ends. */
  #arrive(draft: Draft, index: number, position: Position): void {
    for (const mark of position.marks) applyMark(draft, index, mark, this.slots);
    const { action, ending } = position;
    if (ending !== undefined) this.#end(draft, index, ending);
    else if (action!.kind === 'sleep') {
      this.#fallAsleep(draft, index, action!.durationMs, position.after(undefined));
    } else if (action!.kind === 'listen') {
      this.#fallAsleep(draft, index, action!.durationMs, position, true);
      this.#listen(draft, index);
    } else changeClient(draft, index, { status: 'ready', position, wakeMs: 0, listens: false });
  }

  /** Ready if there is something to hear; asleep until there is, or until it has listened long enough. */
  #listen(draft: Draft, index: number): void {
    const { mail, wakeMs, position } = draft.clients[index]!;
    if (mail.length > 0) changeClient(draft, index, { status: 'ready' });
    else if (wakeMs > draft.nowMs) changeClient(draft, index, { status: 'asleep' });
    else this.#arrive(draft, index, position.after(null));
  }

  #fallAsleep(
    draft: Draft,
    index: number,
    durationMs: number,
    position: Position,
    listens = false,
  ): void {
    const wakeMs = draft.nowMs + durationMs;
    changeClient(draft, index, { status: 'asleep', position, wakeMs, listens });
  }

  #end(draft: Draft, index: number, ending: Ending): void {
    const { round, followers } = draft.clients[index]!;
    draft.events.push({ kind: 'ended', client: index, ending, followers });
    changeClient(draft, index, { ...OUTSIDE, mail: NO_MAIL });
    const next = ending === 'busy' ? round : round + 1;
    if (ending === 'gave-up' || next > this.options.rounds) {
      changeClient(draft, index, { status: 'finished' });
      return;
    }
    changeClient(draft, index, { round: next });
    this.#fallAsleep(draft, index, RETRY_MS, this.#program(index, next).start);
  }
}

function canBeLost(kind: string): boolean {
  return kind === 'command' || kind === 'listen';
}

/** A message is there at once for whoever lives; who is paused hears it late. */
function deliver(draft: Draft, { channel, text }: Message): void {
  const index = draft.clients.findIndex((_, each) => {
    const name = clientName(each);
    return channel === name || channel === channelOf(name);
  });
  const client = draft.clients[index];
  if (client === undefined || !isAlive(client)) return;
  const wakes = client.status === 'asleep' && client.listens;
  const status = wakes ? 'ready' : client.status;
  changeClient(draft, index, { mail: [...client.mail, text], status });
}

function hear(draft: Draft, index: number, { durationMs }: ListenAction): Told {
  const { mail, wakeMs } = draft.clients[index]!;
  const [text, ...rest] = mail;
  changeClient(draft, index, { mail: rest });
  return [text!, draft.nowMs - (wakeMs - durationMs)];
}

/** How skewed the clocks are is settled before anything else happens. */
function noSkews(left: State['left']): State['left'] {
  return left.skews === 0 ? left : { ...left, skews: 0 };
}
