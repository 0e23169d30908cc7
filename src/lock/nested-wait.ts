import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import type { RunContext } from './run-context.ts';
import { type HeldLock, type LockRequest, type LockStore, MAX_HELD } from './store.ts';
import { findCycle, type WaitCycle } from './wait-graph.ts';

/** A nested wait that is shorter than this sends nothing. */
const FIRST_MS = 100;
/** The time between two reports, and two searches. */
const REPEAT_MS = 1000;

/**
 * A wait inside a callback of run() that holds leases of the same store. Reports those leases to the store, and looks for
 * a deadlock with other processes: after FIRST_MS, then once a second, and when another process has found one. Calls back
 * if this request is the member that fails. Deadlocks within the process are found before: see findDeadlock().
 */
export class NestedWait {
  readonly #core: LockCore;
  readonly #store: GraphStore;
  readonly #request: LockRequest;
  readonly #context: RunContext;
  readonly #onDeadlock: (cycle: WaitCycle) => void;
  #timer: Timer | undefined = undefined;
  #isSearching = false;
  #mustRepeat = false;
  #isOver = false;

  constructor(
    core: LockCore,
    store: GraphStore,
    request: LockRequest,
    context: RunContext,
    onDeadlock: (cycle: WaitCycle) => void,
  ) {
    this.#core = core;
    this.#store = store;
    this.#request = request;
    this.#context = context;
    this.#onDeadlock = onDeadlock;
    this.#searchIn(FIRST_MS);
  }

  /** Looks for a deadlock now. */
  check(): void {
    if (this.#isSearching) this.#mustRepeat = true;
    else if (!this.#isOver) void this.#search();
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #searchIn(durationMs: number): void {
    this.#timer = this.#core.clock.setTimer(durationMs, () => void this.#search());
  }

  async #search(): Promise<void> {
    this.#timer?.cancel();
    this.#isSearching = true;
    this.#mustRepeat = false;
    // If the store fails, the next search may succeed. Only the wait timeout ends the wait.
    const cycle = await this.#findCycle().catch(() => undefined);
    this.#isSearching = false;
    if (this.#isOver) return;
    if (cycle?.victim === this.#request.owner) this.#onDeadlock(cycle);
    else this.#searchIn(this.#mustRepeat ? 0 : REPEAT_MS);
  }

  async #findCycle(): Promise<WaitCycle | undefined> {
    const holds = heldLeases(this.#core, this.#context);
    const { owner } = this.#request;
    // Each member reports before it reads: the last one to report can see all others.
    if (this.#isOver || holds.length === 0) return undefined;
    if (!(await this.#store.reportWait(this.#request, holds))) return undefined;
    const cycle = await findCycle(this.#store, owner, holds);
    if (cycle && cycle.victim !== owner && !this.#isOver) {
      await this.#store.checkWait(this.#request, cycle.victim);
    }
    return cycle;
  }
}

type GraphStore = LockStore & Required<Pick<LockStore, 'reportWait' | 'readWaits' | 'checkWait'>>;

/** Undefined: the wait is not nested, or its store has no wait-for graph. */
export function nestedWait(
  core: LockCore,
  request: LockRequest,
  context: RunContext | undefined,
  onDeadlock: (cycle: WaitCycle) => void,
): NestedWait | undefined {
  const { store } = core;
  if (context === undefined || !hasGraph(store)) return undefined;
  return new NestedWait(core, store, request, context, onDeadlock);
}

function hasGraph(store: LockStore): store is GraphStore {
  return 'reportWait' in store && 'readWaits' in store && 'checkWait' in store;
}

/** The leases of this store that the callbacks around the wait hold, innermost first. */
function heldLeases(core: LockCore, context: RunContext): HeldLock[] {
  const held: HeldLock[] = [];
  for (const { core: holder, request, lease } of context.chain()) {
    if (held.length === MAX_HELD) break;
    const { kind, name, slots, owner } = request;
    if (holder === core && lease.isHeld) held.push({ kind, name, slots, owner });
  }
  return held;
}
