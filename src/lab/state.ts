import type { Position } from './program.ts';
import type { Image } from './store.ts';

/** Everything that the rest of a run depends on. Never changed; `stateKey` says whether two are equal. */
export interface State {
  readonly nowMs: number;
  readonly image: Image;
  readonly clients: readonly ClientState[];
  readonly left: FaultsLeft;
  /** Whose grant the lock's key stands for, and who wrote its value last; -1: nobody's. */
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
  /** Its part of the state's key, made when it is first asked for. */
  key: string;
  readonly status: Status;
  /** What it waits to do; while it sleeps, where it will be when it wakes. */
  readonly position: Position;
  readonly wakeMs: number;
  readonly round: number;
  readonly skewMs: number;

  /** It stands where it can hear; one who sleeps has yet to get to its position. */
  readonly listens: boolean;
  /** Messages that it has not heard yet. */
  readonly mail: readonly string[];

  /** It acts on the lock's behalf, or crashed while it did and its lease has not ended. */
  readonly inside: boolean;
  /** How much of the lock it then has. */
  readonly take: number;
  /** The end of the lease that it was given, by the store's clock. */
  readonly untilMs: number;
  /** It was paused since it entered. */
  readonly wasPaused: boolean;
  /** Who entered while it was inside: one bit a client. */
  readonly followers: number;
  /** One of them has written already, so that its own write would come late. */
  readonly isLate: boolean;
}

/** Whether it still takes part, be it asleep or paused. */
export function isAlive({ status }: ClientState): boolean {
  return status !== 'crashed' && status !== 'finished';
}

/** A state from its parts, without what no longer matters, so that equal futures have equal keys. */
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

/** Equal for equal states of one world, if its store remembers. */
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
  const { status, position, wakeMs, round, skewMs, mail, inside, untilMs, followers } = client;
  const lease = `${inside ? client.take : 0}${client.wasPaused ? 'p' : ''}${client.isLate ? 'l' : ''},${untilMs}`;
  if (!isAlive(client)) return `|${status[0]}${lease}`;
  return `|${status[0]}${position.id},${wakeMs},${round},${skewMs},${lease},${followers},${client.listens ? 1 : 0}${mail.length === 0 ? '' : JSON.stringify(mail)}`;
}
