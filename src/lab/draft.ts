import type { Ending, Position } from './program.ts';
import type { Lease, Mark, WriteAction } from './recipe.ts';
import type { ClientState, State } from './state.ts';
import { NEVER } from './store.ts';

/** A mutable copy of a state while a choice is applied, and the events of that choice. */
export type Draft = { -readonly [Field in keyof State]: State[Field] } & {
  readonly clients: ClientState[];
  readonly events: Event[];
};

/** What happened during a choice. Read by the checks and by the notes of a trace. */
export type Event =
  | { readonly kind: 'entered' | 'extended' | 'left'; readonly client: number }
  | {
      readonly kind: 'ended';
      readonly client: number;
      readonly ending: Ending;
      readonly followers: number;
    }
  | {
      readonly kind: 'wrote';
      readonly client: number;
      readonly accepted: boolean;
      readonly isLate: boolean;
    };

/** Copies a state into a draft. */
export function draftOf({ nowMs, image, clients, left, holder, writer, fence }: State): Draft {
  return { nowMs, image, clients: clients.slice(), left, holder, writer, fence, events: [] };
}

/** The fields of a client that does not act as a holder. */
export const OUTSIDE = { inside: false, wasPaused: false, followers: 0, isLate: false } as const;

export const EMPTY_INBOX: readonly string[] = [];

/** A client at the start of its first acquisition. */
export function newClient(position: Position): ClientState {
  return {
    key: '',
    status: 'ready',
    position,
    wakeMs: 0,
    round: 1,
    skewMs: 0,
    listens: false,
    inbox: EMPTY_INBOX,
    permits: 0,
    untilMs: 0,
    ...OUTSIDE,
  };
}

/** Replaces a client's state by a copy with these changes. Clears its cached key. */
export function changeClient(draft: Draft, index: number, changes: Partial<ClientState>): void {
  draft.clients[index] = { ...draft.clients[index]!, ...changes, key: '' };
}

/** The lock's key no longer exists, so it has no holder. */
export function forgetLock(draft: Draft): void {
  draft.holder = -1;
  draft.writer = -1;
}

/** The resource accepts a write unless its fence is lower than one that it has seen. */
export function write(draft: Draft, client: number, { fence }: WriteAction): boolean {
  const accepted = fence === undefined || fence >= draft.fence;
  draft.events.push({ kind: 'wrote', client, accepted, isLate: draft.clients[client]!.isLate });
  if (!accepted) return false;
  draft.fence = Math.max(draft.fence, fence ?? 0);
  for (const [index, { inside, followers }] of draft.clients.entries()) {
    if (inside && (followers & (1 << client)) !== 0) changeClient(draft, index, { isLate: true });
  }
  return true;
}

/** Applies `enter`, `extend` or `leave` of a client. */
export function applyMark(draft: Draft, index: number, mark: Mark, slots: number): void {
  if (mark.kind === 'leave') {
    draft.events.push({ kind: 'left', client: index });
    changeClient(draft, index, { inside: false, wasPaused: false, isLate: false });
    return;
  }
  const untilMs = leaseEnd(draft, draft.clients[index]!, mark.lease);
  draft.events.push({ kind: mark.kind === 'enter' ? 'entered' : 'extended', client: index });
  changeClient(draft, index, { untilMs });
  if (mark.kind === 'enter') enter(draft, index, mark.permits, slots);
}

function enter(draft: Draft, index: number, permits: number, slots: number): void {
  for (const other of followed(draft, index, permits, slots)) {
    const { followers } = draft.clients[other]!;
    changeClient(draft, other, { followers: followers | (1 << index) });
  }
  changeClient(draft, index, { ...OUTSIDE, inside: true, permits });
  draft.holder = index;
}

/**
 * The clients that are inside although their permits and those of the entering client exceed the slots.
 * For a lock with more than one slot, these are the clients whose lease has ended, if there are any.
 */
function followed(
  { clients, nowMs }: Draft,
  index: number,
  permits: number,
  slots: number,
): number[] {
  const others = [...clients.keys()].filter((other) => {
    const { inside, status } = clients[other]!;
    return other !== index && inside && status !== 'crashed';
  });
  const taken = others.reduce((sum, other) => sum + clients[other]!.permits, permits);
  if (taken <= slots) return [];
  const ended = others.filter((other) => clients[other]!.untilMs <= nowMs);
  return slots === 1 || ended.length === 0 ? others : ended;
}

/** The end of a lease by the store's clock. A client whose clock is ahead reaches a Unix time early. */
function leaseEnd({ nowMs }: Draft, { skewMs }: ClientState, lease: Lease | undefined): number {
  if (lease === undefined) return NEVER;
  return 'leaseMs' in lease ? nowMs + lease.leaseMs : lease.until * 1000 - skewMs;
}
