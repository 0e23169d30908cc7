import type { ReleaseOutcome } from '../../lock/index.ts';
import type { Text } from '../recipe.ts';
import type { Image } from '../store.ts';
import {
  cutShort,
  type Grant,
  liveTake,
  passedOver,
  prolonged,
  swapped,
  unraised,
} from '../store-view.ts';
import { type Client, clientOfOwner, type Held, type Request } from './client.ts';
import type { Ending, Task } from './scenario.ts';
import type { Stage } from './stage.ts';

/** What must never happen, and what is said of it. */
export const LIBRARY_CHECKS = {
  'two-live-leases': {
    en: 'The store has granted more than there is.',
    zh: '存储授予的超过了容量。',
  },
  'two-awake-inside': {
    en: 'Clients that are not paused hold more than there is, by their own words.',
    zh: '没有停顿的客户端都自称持锁，超过了容量。',
  },
  'untold-loss': {
    en: 'The lock is another’s, and the signal of a client that is not paused has not told it.',
    zh: '锁已归别人，而没有停顿的客户端没有收到信号。',
  },
  'foreign-release': {
    en: 'A client ends the lease of another before its time.',
    zh: '一个客户端提前结束了另一个的租约。',
  },
  'prolonged-by-loser': {
    en: 'A client prolongs the lease of another.',
    zh: '一个客户端延长了另一个的租约。',
  },
  'fence-order': {
    en: 'A grant has a fence that is not larger than all before it, or a lease one that was not granted.',
    zh: '某次授予的编号不大于此前的编号，或租约的编号并未授予。',
  },
  'out-of-turn': {
    en: 'A client gets the lock, or a place in line, before one that came first and still waits.',
    zh: '先来的客户端仍在等待，后来者却先得到了锁，或排到了它的前面。',
  },
  'idle-lock': {
    en: 'Nothing is on its way and nothing was lost, yet whoever has the lock does not know, or nobody has it and somebody waits.',
    zh: '没有任何消息在途，也没有丢失，得到锁的客户端却不知道，或者锁空闲而有人在等。',
  },
  'waiter-not-served': {
    en: 'A live client never gets its turn, although faults have stopped.',
    zh: '故障停止之后，仍有存活的客户端永远轮不到。',
  },
  'false-word': {
    en: 'A task ends in a way that nothing excuses.',
    zh: '任务得到了毫无理由的结果。',
  },
  'left-behind': {
    en: 'The store keeps a lease or a place in line for a client that has ended and lost nothing.',
    zh: '客户端已正常结束，存储里却还留着它的租约或排队位置。',
  },
  restless: {
    en: 'The library renews when everything was given back, or has timers or sends requests after it was closed.',
    zh: '全部归还之后仍在续期，或关闭之后仍有定时器、仍在发请求。',
  },
} as const satisfies Record<string, Text>;

export type LibraryCheck = keyof typeof LIBRARY_CHECKS;

export interface Found {
  readonly check: LibraryCheck;
  readonly sentence: string;
}

/** Looks at everything that happens on a stage, and keeps the first thing that must not. */
export class Watcher {
  found: Found | undefined;
  readonly #stage: Stage;
  /** Whom the store has granted each fence. */
  readonly #fences = new Map<number, string>();
  /** The fence of what a client gave back last, if nothing was granted or given back since. */
  #givenBack = 0;
  /** When each was given back, and what had got lost by then. */
  readonly #releases = new Map<number, Release>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** A request of a client was carried out. */
  stored(client: Client, { args }: Request, { view: before }: Image, { view: after }: Image): void {
    if (before === after) return;
    const { nowMs, scenario } = this.#stage;
    for (const { fence, owner } of after!.grants) {
      if (!this.#fences.has(fence)) this.#fences.set(fence, clientOfOwner(owner));
    }
    if (liveTake(after!, nowMs) > scenario.slots) {
      const owners = after!.grants.map(({ owner }) => clientOfOwner(owner));
      this.#find('two-live-leases', `the store has granted ${owners.join(' and ')} the lock`);
    }
    const stale = unraised(before!, after!);
    if (stale !== undefined) {
      this.#find(
        'fence-order',
        `${clientOfOwner(stale.owner)} is granted fence ${stale.fence} again`,
      );
    }
    this.#givenBack = gaveBack(client, before!, after!, nowMs) ?? this.#givenBack;
    // Who adopts takes from another, and passes those in line.
    if (!args.some((word) => word.startsWith('adopt '))) this.#byOthers(client, before!, after!);
  }

  /** The exit command of a client's session was run. */
  exited({ name, isCrashed }: Client): void {
    const { grants, queue } = this.#stage.image.view!;
    const left = [...grants, ...queue].filter(({ owner }) => clientOfOwner(owner) === name);
    if (isCrashed && left.length > 0) {
      this.#find(
        'left-behind',
        `${name} has died with its session, but the store keeps its lock or place`,
      );
    }
  }

  #byOthers(client: Client, before: View, after: View): void {
    const isOwn = (owner: string): boolean => clientOfOwner(owner) === client.name;
    const cut = cutShort(before, after, this.#stage.nowMs, isOwn);
    if (cut) {
      this.#find('foreign-release', `${client.name} ends the lease of ${clientOfOwner(cut.owner)}`);
    }
    const longer = prolonged(before, after, isOwn);
    if (longer) {
      const owner = clientOfOwner(longer.grant.owner);
      this.#find('prolonged-by-loser', `${client.name} prolongs the lease of ${owner}`);
    }
    const turn = passedOver(before, after, this.#stage.nowMs);
    if (turn) {
      const [served, passed] = [clientOfOwner(turn.served), clientOfOwner(turn.passed)];
      this.#find('out-of-turn', `${served} is granted the lock before ${passed}, who came first`);
    }
    const places = swapped(before, after);
    if (places) {
      const [ahead, behind] = [clientOfOwner(places.ahead), clientOfOwner(places.behind)];
      this.#find('out-of-turn', `${behind} loses its place in line to ${ahead}, who came later`);
    }
  }

  /** A client's program has done what it had to do. */
  look(): void {
    const { slots } = this.#stage.scenario;
    if (this.#takenInside() <= slots) return;
    const held = this.#allHeld();
    const believers = held.filter(({ lease }) => lease.isHeld);
    if (sumOf(believers) > slots) {
      this.#find('two-awake-inside', `${namesOf(believers)} all hold the lock by their own words`);
    }
    const untold = held.filter(({ isTold, client }) => !isTold && !this.#stage.isLate(client));
    if (untold.some(({ isTold }) => isTold === false) && sumOf(untold) > slots) {
      this.#find('untold-loss', `${namesOf(untold)} hold the lock, as far as their signals tell`);
    }
  }

  /** Nothing is left to happen but that time passes, and all was well so far. */
  idle(): void {
    const { clients, image, nowMs } = this.#stage;
    const { grants, queue } = image.view!;
    const live = grants.filter(({ endMs }) => endMs > nowMs);
    const known = new Set(
      clients.flatMap(({ holds }) => [...holds].map(({ lease }) => lease.fence)),
    );
    for (const { owner, fence } of live) {
      const { name, mayLeave } = clients.find((each) => each.name === clientOfOwner(owner))!;
      if (known.has(fence) || mayLeave) continue;
      this.#find('idle-lock', `${name} was granted the lock, and does not know it`);
    }
    const [first] = queue;
    if (first !== undefined && live.length === 0) {
      this.#find(
        'idle-lock',
        `nobody has the lock, and ${clientOfOwner(first.owner)} waits for it`,
      );
    }
  }

  entered({ client, lease }: Held): void {
    if (this.#fences.get(lease.fence) === client.name) return;
    this.#find('fence-order', `${client.name} has fence ${lease.fence}, which it was not granted`);
  }

  releasing({ client, lease: { fence } }: Held): void {
    const { nowMs, losses } = this.#stage;
    this.#releases.set(fence, { client, nowMs, losses });
  }

  /** A lease runs to its end. One that was given back must not: what got lost is sent again before. */
  ran({ fence, endMs }: Grant): void {
    const release = this.#releases.get(fence);
    if (release === undefined || release.client.isClosing) return;
    const { losses, delays } = this.#stage;
    const isExcused = delays > 0 || losses > release.losses + 1;
    if (isExcused || endMs - release.nowMs <= SENT_AGAIN_MS) return;
    const { name } = release.client;
    this.#find(
      'left-behind',
      `${name} has given its lease back, but the store keeps it to its end`,
    );
  }

  released({ client, lease: { fence } }: Held, outcome: ReleaseOutcome): void {
    if (outcome !== 'not-held' || fence !== this.#givenBack) return;
    this.#find('false-word', `${client.name} is told that it held nothing when it gave it back`);
  }

  ended(client: Client, { calm, any }: Task, ending: Ending): void {
    const may = !this.#stage.isCalm ? any : calm;
    if (may.includes(ending)) return;
    this.#find('false-word', `${client.name} is told "${ending}" instead of ${may.join(' or ')}`);
  }

  threw(client: Client, error: unknown): void {
    const text = error instanceof Error ? error.stack : String(error);
    this.#find('false-word', `${client.name} gets an error that is none of the library's: ${text}`);
  }

  stuck(): void {
    const { clients, nowMs, isClosing } = this.#stage;
    const waiting = clients.filter((client) => this.#stage.isUnfinished(client));
    const names = waiting.map(({ name }) => name).join(' and ');
    const what = isClosing ? 'has not closed' : 'still waits';
    this.#find('waiter-not-served', `no more faults, yet ${names} ${what} at ${nowMs} ms`);
  }

  /** All clients have ended and closed. */
  over(): void {
    const { clients, image, nowMs } = this.#stage;
    for (const client of clients) {
      if (client.isCrashed) continue;
      const timers = client.timers.length + (this.#stage.isLate(client) ? 1 : 0);
      if (timers > 0 || client.sentNeedlessly > 0) {
        const what = `${timers} timers, and has sent ${client.sentNeedlessly} needless requests`;
        this.#find('restless', `${client.name} has closed and has ${what}`);
      }
      const { grants, queue } = image.view!;
      const live = grants.filter(({ endMs }) => endMs > nowMs).map(({ owner }) => owner);
      const waiting = queue.map(({ owner }) => owner);
      const left = [...live, ...waiting].filter((owner) => clientOfOwner(owner) === client.name);
      if (left.length > 0 && !client.mayLeave) {
        this.#find(
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
      for (const { take } of holds) taken += take;
    }
    return taken;
  }

  #allHeld(): Held[] {
    const held: Held[] = [];
    for (const { holds, isPaused } of this.#stage.clients) if (!isPaused) held.push(...holds);
    return held;
  }

  #find(check: LibraryCheck, sentence: string): void {
    this.found ??= { check, sentence };
  }
}

interface Release {
  readonly client: Client;
  readonly nowMs: number;
  readonly losses: number;
}

/** After so long a request that got lost has been sent again. */
const SENT_AGAIN_MS = 1500;

type View = NonNullable<Image['view']>;

/** The fence of the one lease that this client ended; 0 if others changed too, undefined if none did. */
function gaveBack(client: Client, before: View, after: View, nowMs: number): number | undefined {
  const fences = new Set(after.grants.map(({ fence }) => fence));
  const gone = before.grants.filter(({ fence }) => !fences.has(fence));
  if (gone.length === 0 && before.fence === after.fence) return undefined;
  const [grant] = gone;
  const isOne = gone.length === 1 && before.fence === after.fence && grant!.endMs > nowMs;
  return isOne && clientOfOwner(grant!.owner) === client.name ? grant!.fence : 0;
}

function sumOf(held: readonly Held[]): number {
  return held.reduce((sum, { take }) => sum + take, 0);
}

function namesOf(held: readonly Held[]): string {
  return held.map(({ client }) => client.name).join(' and ');
}
