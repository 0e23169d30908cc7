import type { Position } from './program.ts';
import type { Image } from './store.ts';

/** Everything that the rest of a run depends on. Never changed; equal states have equal keys. */
export interface State {
  readonly key: string;
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
  readonly key: string;
  readonly status: Status;
  /** What it waits to do; while it sleeps, where it will be when it wakes. */
  readonly position: Position;
  readonly wakeMs: number;
  readonly round: number;
  readonly skewMs: number;

  /** It acts on the lock's behalf, or crashed while it did and its lease has not ended. */
  readonly inside: boolean;
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
export function sealState(parts: Omit<State, 'key'>): State {
  const { nowMs, image, left, holder, writer, fence } = parts;
  const clients = parts.clients.map((client, index) => sealClient(client, holder === index, nowMs));
  const faults = `${left.crashes},${left.pauses},${left.lostReplies},${left.skews}`;
  const own = `${nowMs},${image.id},${faults},${holder},${writer},${fence}`;
  const key = clients.reduce((text, client) => `${text}|${client.key}`, own);
  return { key, nowMs, image, clients, left, holder, writer, fence };
}

function sealClient(client: ClientState, isHolder: boolean, nowMs: number): ClientState {
  const isOver = client.status === 'crashed' && client.untilMs <= nowMs;
  const inside = client.inside && !isOver;
  const untilMs = inside || isHolder ? client.untilMs : 0;
  if (client.key !== '' && inside === client.inside && untilMs === client.untilMs) return client;
  const sealed = { ...client, inside, untilMs };
  return { ...sealed, key: clientKey(sealed) };
}

function clientKey(client: ClientState): string {
  const { status, position, wakeMs, round, skewMs, inside, untilMs, followers } = client;
  const lease = `${inside ? 1 : 0}${client.wasPaused ? 1 : 0}${client.isLate ? 1 : 0},${untilMs}`;
  if (!isAlive(client)) return `${status[0]}${lease}`;
  return `${status[0]}${position.id},${wakeMs},${round},${skewMs},${lease},${followers}`;
}
