import { channelOf } from '../stores/index.ts';
import { type Choice, choice, clientName, TICK } from './choice.ts';
import {
  applyMark,
  changeClient,
  type Draft,
  draftOf,
  EMPTY_INBOX,
  type Event,
  forgetLock,
  newClient,
  OUTSIDE,
  write,
} from './draft.ts';
import { SKEW_MS, type WorldOptions } from './options.ts';
import { type Ending, LOST, type Position, Program, type StepResult } from './program.ts';
import type { Algorithm, CommandAction, ListenAction, Step } from './recipe.ts';
import { type ClientState, isAlive, type State, sealState } from './state.ts';
import { type Message, START_MS, Store } from './store.ts';
import { RETRY_MS } from './tools.ts';

/** One applied choice: the states before and after it, and its events. */
export interface Move {
  readonly choice: Choice;
  readonly before: State;
  readonly after: State;
  /** The client's step, if the choice is one, and its result. */
  readonly step: Step | undefined;
  readonly result: StepResult;
  readonly events: readonly Event[];
}

/**
 * Clients of a recipe and one store, as a transition system: `choices` lists what can happen in a state, and
 * `step` applies a choice. Both depend only on their arguments. A search needs nothing else.
 *
 * Steps take no time, unless `stepTicks` delays the replies of commands. A client may start an attempt at any
 * time. The clock then stops until the client sleeps, waits for a reply, ends or is paused. So a slow client
 * is a paused client, and the number of pauses is limited.
 */
export class World {
  readonly recipe: Algorithm;
  readonly options: WorldOptions;
  readonly store: Store;
  readonly initial: State;
  /** The number of permits of the lock. */
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

  /** All possible choices in a fixed order. Empty when only faults could happen: then the run is over. */
  choices(state: State): Choice[] {
    const choices = this.#progress(state);
    if (choices.length === 0) return choices;
    this.#addFaults(state, choices);
    return choices;
  }

  /**
   * The next choice of a fair run without faults: resume paused clients, then step ready ones, then tick. No time
   * limit.
   */
  fairChoice({ clients }: State): Choice | undefined {
    const find = (status: string): number => clients.findIndex((each) => each.status === status);
    const [paused, ready] = [find('paused'), find('ready')];
    if (paused >= 0) return choice('resume', paused);
    if (ready >= 0) return choice('step', ready);
    return find('asleep') >= 0 ? TICK : undefined;
  }

  /** The state with a new client in place of the one at `index`. */
  withNewClient(state: State, index: number): State {
    const draft = draftOf(state);
    draft.clients[index] = newClient(this.#program(index, 1).start);
    return sealState(draft);
  }

  step(before: State, taken: Choice): Move {
    const draft = draftOf(before);
    if (taken.kind !== 'ahead' && taken.kind !== 'behind') draft.left = noSkews(draft.left);
    const isStep = taken.kind === 'step' || taken.kind === 'lose';
    const step = isStep ? (before.clients[taken.client]!.position.action as Step) : undefined;
    let result: StepResult;
    if (step !== undefined) result = this.#act(draft, taken, step);
    else this.#happen(draft, taken);
    return { choice: taken, before, after: sealState(draft), step, result, events: draft.events };
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
      draft.clients.push(newClient(this.#program(index, 1).start));
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

  /** A client or the lock's key depends on the clock, and no client is in the middle of an attempt. */
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
      // A pause delays a step, so a sleeping client cannot be paused.
      if (left.pauses > 0 && isReady) choices.push(choice('pause', index));
      if (left.lostReplies > 0 && isReady && canBeLost(client.position.action!.kind)) {
        choices.push(choice('lose', index));
      }
      if (left.skews > 0 && clients.every(({ skewMs }, other) => skewMs === 0 || other < index)) {
        choices.push(choice('ahead', index), choice('behind', index));
      }
    }
  }

  /** Applies a client's step and returns its result. */
  #act(draft: Draft, { kind, client }: Choice, step: Step): StepResult {
    const answer = this.#answer(draft, client, step);
    const result = kind === 'lose' ? LOST : answer;
    if (kind === 'lose') draft.left = { ...draft.left, lostReplies: draft.left.lostReplies - 1 };
    const { position } = draft.clients[client]!;
    const { stepTicks, tickMs } = this.options;
    if (kind === 'lose' && step.kind === 'listen') this.#listen(draft, client);
    else if (step.kind === 'command' && stepTicks > 0) {
      this.#fallAsleep(draft, client, stepTicks * tickMs, position.after(result));
    } else this.#arrive(draft, client, position.after(result));
    return result;
  }

  #answer(draft: Draft, client: number, step: Step): StepResult {
    if (step.kind === 'command') return this.#command(draft, client, step);
    if (step.kind === 'write') return write(draft, client, step);
    if (step.kind === 'listen') return receive(draft, client, step);
    return Math.floor((draft.nowMs + draft.clients[client]!.skewMs) / step.unitMs);
  }

  #command(draft: Draft, client: number, step: CommandAction): StepResult {
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
      change({
        status: 'crashed',
        inbox: EMPTY_INBOX,
        wasPaused: false,
        followers: 0,
        isLate: false,
      });
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

  /** Moves a client to a position: applies its marks; then the client is ready, falls asleep or ends. */
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

  /** Ready if a message has arrived; else asleep until one arrives or the listening time is over. */
  #listen(draft: Draft, index: number): void {
    const { inbox, wakeMs, position } = draft.clients[index]!;
    if (inbox.length > 0) changeClient(draft, index, { status: 'ready' });
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
    changeClient(draft, index, { ...OUTSIDE, inbox: EMPTY_INBOX });
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

/** A live client gets the message into its inbox at once. A paused client receives it after it resumes. */
function deliver(draft: Draft, { channel, text }: Message): void {
  const index = draft.clients.findIndex((_, each) => {
    const name = clientName(each);
    return channel === name || channel === channelOf(name);
  });
  const client = draft.clients[index];
  if (client === undefined || !isAlive(client)) return;
  const wakes = client.status === 'asleep' && client.listens;
  const status = wakes ? 'ready' : client.status;
  changeClient(draft, index, { inbox: [...client.inbox, text], status });
}

function receive(draft: Draft, index: number, { durationMs }: ListenAction): StepResult {
  const { inbox, wakeMs } = draft.clients[index]!;
  const [text, ...rest] = inbox;
  changeClient(draft, index, { inbox: rest });
  return [text!, draft.nowMs - (wakeMs - durationMs)];
}

/** Clocks are skewed before the first other choice, or not at all. */
function noSkews(left: State['left']): State['left'] {
  return left.skews === 0 ? left : { ...left, skews: 0 };
}
