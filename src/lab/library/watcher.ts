import type { ReleaseOutcome } from '../../lock/index.ts';
import type { Text } from '../recipe.ts';
import type { Image } from '../store.ts';
import {
  cutShort,
  extendedLease,
  type Grant,
  livePermits,
  passedOver,
  swapped,
  unraised,
} from '../store-view.ts';
import { type Client, clientOfOwner, type Held, type Request } from './client.ts';
import { KeptLeases } from './kept-leases.ts';
import type { Ending, Task } from './scenario.ts';
import type { Stage } from './stage.ts';
import { Thefts } from './thefts.ts';

/** What must never happen in a run of the library. */
export const LIBRARY_CHECKS = {
  'two-live-leases': {
    en: 'The store has granted more permits than the lock has.',
    zh: '存储授予的许可超过了容量。',
  },
  'two-awake-inside': {
    en: 'Clients that are not paused all have `isHeld`, and their permits exceed the slots.',
    zh: '没有停顿的客户端的 isHeld 均为真，许可总数超过了容量。',
  },
  'unsignalled-loss': {
    en: 'Another client holds the lock, and the signal of a former holder that is not paused has not aborted.',
    zh: '锁已归别的客户端，而没有停顿的原持有者的信号尚未触发。',
  },
  'unnoticed-theft': {
    en: 'The lock was stolen and nothing is in transit, yet a former holder that receives messages believes to hold it.',
    zh: '锁已被强行取走且没有消息在途，而能收到消息的原持有者仍以为自己持锁。',
  },
  'unnoticed-waiter': {
    en: 'A client waits and nothing is in transit, yet the `contended` signal of the holder has not aborted.',
    zh: '有客户端在等待且没有消息在途，而持有者的 contended 信号尚未触发。',
  },
  'contended-by-none': {
    en: 'The `contended` signal of a lease aborts, although no client waited while the lease was held.',
    zh: '租约持有期间没有客户端等待，它的 contended 信号却触发了。',
  },
  'kept-wrongly': {
    en: 'A lock that was released with `keepFor` is free before the end of that time, or stays taken after it.',
    zh: '用 keepFor 释放的锁提前空闲，或到期之后仍被占用。',
  },
  'foreign-release': {
    en: 'A client ends the lease of another client early.',
    zh: '一个客户端提前结束了另一个的租约。',
  },
  'prolonged-by-loser': {
    en: 'A client extends the lease of another client.',
    zh: '一个客户端延长了另一个的租约。',
  },
  'fence-order': {
    en: 'A grant has a fence that is not larger than all earlier ones, or a lease has a fence that the store did not grant.',
    zh: '某次授予的防护令牌（fencing token）不大于此前的令牌，或租约的令牌并非存储所授予。',
  },
  'out-of-turn': {
    en: 'A client gets the lock, or a place in the queue, before a client that came first and still waits.',
    zh: '先来的客户端仍在等待，后来者却先得到了锁，或排到了它的前面。',
  },
  'idle-lock': {
    en: 'Nothing is in transit and nothing was lost, yet the holder does not know that it has the lock, or the lock is free while a client waits.',
    zh: '没有任何消息在途，也没有丢失，持有者却不知道自己得到了锁，或者锁空闲而有客户端在等待。',
  },
  'waiter-not-served': {
    en: 'A live client never gets the lock, although faults have stopped.',
    zh: '故障停止之后，仍有存活的客户端永远拿不到锁。',
  },
  'wrong-result': {
    en: 'A task ends with a result that no fault explains.',
    zh: '任务得到了任何故障都无法解释的结果。',
  },
  'left-behind': {
    en: 'The store keeps a lease or a place in the queue of a client that has ended without any lost request.',
    zh: '客户端已正常结束，存储里却还留着它的租约或排队位置。',
  },
  'active-after-close': {
    en: 'The library renews after everything was released, or has timers or sends requests after it was closed.',
    zh: '全部释放之后仍在续期，或关闭之后仍有定时器、仍在发请求。',
  },
} as const satisfies Record<string, Text>;

export type LibraryCheck = keyof typeof LIBRARY_CHECKS;

export interface Found {
  readonly check: LibraryCheck;
  readonly sentence: string;
}

/** Checks every step on a stage, and keeps the first failure. */
export class Watcher {
  found: Found | undefined;
  readonly #stage: Stage;
  /** The client that each fence was granted to. */
  readonly #fences = new Map<number, string>();
  /** The fence of the last released lease; 0 if the store has granted or ended another one since. */
  #releasedFence = 0;
  /** For each fence, when its release started and the number of losses until then. */
  readonly #releases = new Map<number, Release>();
  readonly #thefts = new Thefts();
  readonly #kept = new KeptLeases();
  /** The fences of the leases that were held while a client waited. */
  readonly #contendedFences = new Set<number>();
  /** Since when the lock has been free. */
  #freeSinceMs = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** The store has executed a request of a client. */
  stored(client: Client, { args }: Request, { view: before }: Image, { view: after }: Image): void {
    if (before === after) return;
    const { nowMs, scenario } = this.#stage;
    for (const { fence, owner } of after!.grants) {
      if (!this.#fences.has(fence)) this.#fences.set(fence, clientOfOwner(owner));
      if (after!.queue.length > 0) this.#contendedFences.add(fence);
    }
    const endedEarly = this.#kept.stored(before!, after!, nowMs);
    if (endedEarly !== undefined) this.#report('kept-wrongly', endedEarly);
    if (livePermits(after!, nowMs) > scenario.slots) {
      const owners = after!.grants.map(({ owner }) => clientOfOwner(owner));
      this.#report('two-live-leases', `the store has granted ${owners.join(' and ')} the lock`);
    }
    const stale = unraised(before!, after!);
    if (stale !== undefined) {
      this.#report(
        'fence-order',
        `${clientOfOwner(stale.owner)} is granted fence ${stale.fence} again`,
      );
    }
    this.#releasedFence = releasedFence(client, before!, after!, nowMs) ?? this.#releasedFence;
    const steals = args.some((word) => word.startsWith('steal '));
    if (steals) this.#thefts.stored(before!, after!, nowMs, this.#stage.clients);
    // Both take over the lease of another client, ahead of the queue.
    const takesOver = steals || args.some((word) => word.startsWith('adopt '));
    if (!takesOver) this.#byOthers(client, before!, after!);
    this.#inOrder(before!, after!);
  }

  /** The server has run the exit command of a client's session. */
  exited({ name, isCrashed }: Client): void {
    const { grants, queue } = this.#stage.image.view!;
    const left = [...grants, ...queue].filter(({ owner }) => clientOfOwner(owner) === name);
    if (isCrashed && left.length > 0) {
      this.#report(
        'left-behind',
        `${name} has crashed and its session has ended, but the store keeps its lock or its place in the queue`,
      );
    }
  }

  #byOthers(client: Client, before: View, after: View): void {
    const isOwn = (owner: string): boolean => clientOfOwner(owner) === client.name;
    const cut = cutShort(before, after, this.#stage.nowMs, isOwn);
    if (cut) {
      this.#report(
        'foreign-release',
        `${client.name} ends the lease of ${clientOfOwner(cut.owner)}`,
      );
    }
    const longer = extendedLease(before, after, isOwn);
    if (longer) {
      const owner = clientOfOwner(longer.grant.owner);
      this.#report('prolonged-by-loser', `${client.name} extends the lease of ${owner}`);
    }
    const turn = passedOver(before, after, this.#stage.nowMs);
    if (turn) {
      const [served, passed] = [clientOfOwner(turn.served), clientOfOwner(turn.passed)];
      this.#report(
        'out-of-turn',
        `${served} is granted the lock before ${passed}, which came first`,
      );
    }
  }

  #inOrder(before: View, after: View): void {
    const places = swapped(before, after);
    if (places) {
      const [ahead, behind] = [clientOfOwner(places.ahead), clientOfOwner(places.behind)];
      this.#report(
        'out-of-turn',
        `${behind} loses its place in the queue to ${ahead}, which came later`,
      );
    }
  }

  /** Called when all callbacks of a client have run. */
  check(): void {
    const { slots } = this.#stage.scenario;
    if (this.#takenInside() <= slots) return;
    const held = this.#allHeld().filter((each) => !this.#thefts.isExcused(each, this.#stage.nowMs));
    const holders = held.filter(({ lease }) => lease.isHeld);
    if (sumOf(holders) > slots) {
      this.#report('two-awake-inside', `${namesOf(holders)} hold the lock at once, by \`isHeld\``);
    }
    const unsignalled = held.filter(
      ({ isSignalled, client }) => !isSignalled && !this.#stage.isLate(client),
    );
    if (
      unsignalled.some(({ isSignalled }) => isSignalled === false) &&
      sumOf(unsignalled) > slots
    ) {
      this.#report(
        'unsignalled-loss',
        `${namesOf(unsignalled)} hold the lock at once, and no signal has aborted`,
      );
    }
  }

  /** Called before time passes in a run without faults, when nothing is in transit. */
  idle(): void {
    const { clients, image, nowMs } = this.#stage;
    const { grants, queue } = image.view!;
    const live = grants.filter(({ endMs }) => endMs > nowMs);
    const known = new Set(
      clients.flatMap(({ holds }) => [...holds].map(({ lease }) => lease.fence)),
    );
    for (const { owner, fence } of live) {
      const { name, mayLeaveLeases } = clients.find((each) => each.name === clientOfOwner(owner))!;
      if (known.has(fence) || mayLeaveLeases || this.#kept.has(fence)) continue;
      this.#report('idle-lock', `${name} was granted the lock and does not know it`);
    }
    if (live.length > 0) this.#freeSinceMs = 0;
    else this.#freeSinceMs ||= nowMs;
    const [first] = queue;
    const isIdle = live.length === 0 && nowMs - this.#freeSinceMs >= NOTICED_MS;
    if (first !== undefined && isIdle) {
      this.#report('idle-lock', `the lock is free, and ${clientOfOwner(first.owner)} waits for it`);
    }
    for (const held of this.#allHeld()) this.#checkNotified(held, first !== undefined);
  }

  /** Nothing is in transit and nothing was lost: the holder has received every message. */
  #checkNotified(held: Held, hasWaiters: boolean): void {
    const { name } = held.client;
    if (this.#thefts.isUnnoticed(held)) {
      this.#report('unnoticed-theft', `${name} believes to hold the lock, which was stolen`);
    }
    if (hasWaiters && held.isContended === false) {
      this.#report('unnoticed-waiter', `a client waits, and ${name} was not notified`);
    }
  }

  contended({ client, lease: { fence } }: Held): void {
    if (this.#contendedFences.has(fence)) return;
    this.#report(
      'contended-by-none',
      `${client.name} is notified of a waiter, and there was none while it held the lock`,
    );
  }

  entered({ client, lease }: Held): void {
    if (this.#fences.get(lease.fence) === client.name) return;
    this.#report(
      'fence-order',
      `${client.name} has fence ${lease.fence}, which it was not granted`,
    );
  }

  releasing({ client, lease: { fence }, keepFor }: Held): void {
    if (keepFor !== undefined) {
      this.#kept.releasing(fence);
      return;
    }
    const { nowMs, losses } = this.#stage;
    this.#releases.set(fence, { client, nowMs, losses });
  }

  /** A lease has expired. A released lease must not: the client repeats a lost release before that. */
  ran({ fence, endMs }: Grant): void {
    const release = this.#releases.get(fence);
    if (release === undefined || release.client.isClosing) return;
    const { losses, delays } = this.#stage;
    const isExcused = delays > 0 || losses > release.losses + 1;
    if (isExcused || endMs - release.nowMs <= SENT_AGAIN_MS) return;
    const { name } = release.client;
    this.#report(
      'left-behind',
      `${name} has released its lease, but the store keeps it until it expires`,
    );
  }

  released(held: Held, outcome: ReleaseOutcome): void {
    const { client, lease } = held;
    const { fence } = lease;
    if (held.keepFor !== undefined) this.#checkKept(held, outcome);
    if (outcome !== 'not-held' || fence !== this.#releasedFence) return;
    this.#report(
      'wrong-result',
      `${client.name} gets "not-held" from the release that ended its lease`,
    );
  }

  #checkKept(held: Held, outcome: ReleaseOutcome): void {
    const { image, nowMs, delays } = this.#stage;
    let wrong: string | undefined;
    if (outcome === 'kept') wrong = this.#kept.released(held, image.view!, nowMs, delays === 0);
    else if (outcome === 'released') wrong = this.#kept.freed(held, nowMs);
    if (wrong !== undefined) this.#report('kept-wrongly', wrong);
  }

  ended(client: Client, { calm, any }: Task, ending: Ending): void {
    const may = !this.#stage.isCalm ? any : calm;
    if (may.includes(ending)) return;
    this.#report(
      'wrong-result',
      `a task of ${client.name} ends with "${ending}" instead of ${may.join(' or ')}`,
    );
  }

  threw(client: Client, error: unknown): void {
    const text = error instanceof Error ? error.stack : String(error);
    this.#report('wrong-result', `${client.name} gets an error that is not a LockError: ${text}`);
  }

  stuck(): void {
    const { clients, nowMs, isClosing } = this.#stage;
    const waiting = clients.filter((client) => this.#stage.isUnfinished(client));
    const names = waiting.map(({ name }) => name).join(' and ');
    const what = isClosing ? 'has not closed' : 'still waits';
    this.#report('waiter-not-served', `no more faults, yet ${names} ${what} at ${nowMs} ms`);
  }

  /** All clients have ended and closed. */
  over(): void {
    const { clients, image, nowMs } = this.#stage;
    for (const client of clients) {
      if (client.isCrashed) continue;
      const timers = client.timers.length + (this.#stage.isLate(client) ? 1 : 0);
      if (timers > 0 || client.sentNeedlessly > 0) {
        const what = `${timers} timers, and has sent ${client.sentNeedlessly} needless requests`;
        this.#report('active-after-close', `${client.name} has closed and has ${what}`);
      }
      const { grants, queue } = image.view!;
      const live = grants
        .filter(({ endMs, fence }) => endMs > nowMs && !this.#kept.has(fence))
        .map(({ owner }) => owner);
      const waiting = queue.map(({ owner }) => owner);
      const left = [...live, ...waiting].filter((owner) => clientOfOwner(owner) === client.name);
      if (left.length > 0 && !client.mayLeaveLeases) {
        this.#report(
          'left-behind',
          `${client.name} has ended, but the store keeps ${left.join(', ')}`,
        );
      }
    }
  }

  #takenInside(): number {
    let taken = 0;
    for (const { holds, isPaused } of this.#stage.clients) {
      if (isPaused || holds.size === 0) continue;
      for (const { permits } of holds) taken += permits;
    }
    return taken;
  }

  #allHeld(): Held[] {
    const held: Held[] = [];
    for (const { holds, isPaused } of this.#stage.clients) if (!isPaused) held.push(...holds);
    return held;
  }

  #report(check: LibraryCheck, sentence: string): void {
    this.found ??= { check, sentence };
  }
}

interface Release {
  readonly client: Client;
  readonly nowMs: number;
  readonly losses: number;
}

/** Waiters notice within this time that the lock has become free because a kept lease has ended. */
const NOTICED_MS = 20;

/** A lost request is repeated within this time. */
const SENT_AGAIN_MS = 1500;

type View = NonNullable<Image['view']>;

/** The fence of the lease that this client ended; 0 if other leases changed too, undefined if none changed. */
function releasedFence(
  client: Client,
  before: View,
  after: View,
  nowMs: number,
): number | undefined {
  const fences = new Set(after.grants.map(({ fence }) => fence));
  const gone = before.grants.filter(({ fence }) => !fences.has(fence));
  if (gone.length === 0 && before.fence === after.fence) return undefined;
  const [grant] = gone;
  const isOne = gone.length === 1 && before.fence === after.fence && grant!.endMs > nowMs;
  return isOne && clientOfOwner(grant!.owner) === client.name ? grant!.fence : 0;
}

function sumOf(held: readonly Held[]): number {
  return held.reduce((sum, { permits }) => sum + permits, 0);
}

function namesOf(held: readonly Held[]): string {
  return held.map(({ client }) => client.name).join(' and ');
}
