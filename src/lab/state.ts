import type { Position } from './program.ts';
import type { Image } from './store.ts';

/** Everything that the rest of a run depends on. Immutable; two states are equal if their `stateKey` is. */
export interface State {
  readonly nowMs: number;
  readonly image: Image;
  readonly clients: readonly ClientState[];
  readonly left: FaultsLeft;
  /** The client that the lock's key belongs to, and the client that wrote its value last; -1: none. */
  readonly holder: number;
  readonly writer: number;
  /** The highest fence that the resource has seen. */
  readonly fence: number;
}

export interface FaultsLeft {
  readonly crashes: number;
  readonly pauses: number;
  readonly lostReplies: number;
  readonly skews: number;
}

export type Status = 'ready' | 'asleep' | 'paused' | 'crashed' | 'finished';

export interface ClientState {
  /** Its part of the state's key, computed on first use. */
  key: string;
  readonly status: Status;
  /** Its current position; while it sleeps, the position after the sleep. */
  readonly position: Position;
  readonly wakeMs: number;
  readonly round: number;
  readonly skewMs: number;

  /** Its current action is `listen`, so that a message wakes it. */
  readonly listens: boolean;
  /** Messages that have arrived and that it has not received yet. */
  readonly inbox: readonly string[];

  /** It acts as a holder, or crashed while it did and its lease has not ended. */
  readonly inside: boolean;
  /** Its permits while it is inside. */
  readonly permits: number;
  /** The end of its lease, by the store's clock. */
  readonly untilMs: number;
  /** It was paused since it entered. */
  readonly wasPaused: boolean;
  /** The clients that entered while it was inside: one bit for each. */
  readonly followers: number;
  /** A follower has written already, so that its own write would be late. */
  readonly isLate: boolean;
}

/** Returns true unless the client has crashed or finished. */
export function isAlive({ status }: ClientState): boolean {
  return status !== 'crashed' && status !== 'finished';
}

/** Makes a state without the parts that no longer matter, so that states with equal futures have equal keys. */
export function sealState({ nowMs, image, clients, left, holder, writer, fence }: State): State {
  const sealed = clients.map((client, index) => sealClient(client, holder === index, nowMs));
  return { nowMs, image, clients: sealed, left, holder, writer, fence };
}

function sealClient(client: ClientState, isHolder: boolean, nowMs: number): ClientState {
  const isOver = client.status === 'crashed' && client.untilMs <= nowMs;
  const inside = client.inside && !isOver;
  const untilMs = inside || isHolder ? client.untilMs : 0;
  if (inside === client.inside && untilMs === client.untilMs) return client;
  return { ...client, inside, untilMs, key: '' };
}

/** A string that is equal for equal states of one world. Needs a store that remembers. */
export function stateKey({ nowMs, image, clients, left, holder, writer, fence }: State): string {
  let key = `${nowMs},${image.id},${holder},${writer},${fence}`;
  key += `,${left.crashes},${left.pauses},${left.lostReplies},${left.skews}`;
  for (const client of clients) {
    if (client.key === '') client.key = clientKey(client);
    key += client.key;
  }
  return key;
}

function clientKey(client: ClientState): string {
  const { status, position, wakeMs, round, skewMs, inbox, inside, untilMs, followers } = client;
  const lease = `${inside ? client.permits : 0}${client.wasPaused ? 'p' : ''}${client.isLate ? 'l' : ''},${untilMs}`;
  if (!isAlive(client)) return `|${status[0]}${lease}`;
  return `|${status[0]}${position.id},${wakeMs},${round},${skewMs},${lease},${followers},${client.listens ? 1 : 0}${inbox.length === 0 ? '' : JSON.stringify(inbox)}`;
}
