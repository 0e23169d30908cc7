import { ownerOf, PASSED_OVER_MS, parseQueued, SUFFIX } from '../stores/index.ts';
import type { Entry } from './store.ts';
import type { Grant, ReadView, Waiting } from './store-view.ts';

/**
 * Reads grants, queue and fence of one lock from the keys that the library's script writes: see
 * docs/key-layout.md. A token is the owner and, after a space, its public info.
 */
export function holdfastView(key: string): ReadView {
  return (entries) => {
    const found = new Map(entries.map((entry) => [entry.key, entry]));
    const fence = Number(found.get(key + SUFFIX.fence)?.parts[0] ?? 0);
    const holder = found.get(key);
    return {
      grants: holder ? grantsIn(holder, key, found, fence) : [],
      queue: queueIn(key, found),
      fence,
    };
  };
}

type Found = ReadonlyMap<string, Entry>;

function grantsIn(holder: Entry, key: string, found: Found, fence: number): Grant[] {
  if (holder.type === 'zset') return sharedIn(holder, key, found);
  const [held] = holder.parts;
  // The token of a foreign client has no space, and its grant has no fence.
  const isForeign = !held!.includes(' ');
  const owner = ownerOf(held!);
  const { deadlineMs: endMs } = holder;
  return [{ owner, permits: 1, fence: isForeign ? 0 : fence, endMs }];
}

/**
 * Reads the grants of a shared lock. Their ends are scores on the lock's own clock, whose start follows from
 * the TTL of the clock key.
 */
function sharedIn({ parts }: Entry, key: string, found: Found): Grant[] {
  const clock = found.get(key + SUFFIX.clock)!;
  const [base, life] = clock.parts[0]!.split(' ').map(Number);
  const clockStartMs = clock.deadlineMs - life! - base!;
  const records = recordsIn(found.get(key + SUFFIX.state));
  return pairs(parts).map(([score, token]) => {
    const [fence, permits] = (records.get(`h:${token}`) ?? '0 0').split(' ').map(Number);
    return {
      owner: ownerOf(token),
      permits: permits!,
      fence: fence!,
      endMs: clockStartMs + Number(score),
    };
  });
}

function queueIn(key: string, found: Found): Waiting[] {
  const queue = key + SUFFIX.queue;
  return pairs(found.get(queue)?.parts ?? []).flatMap(([, member]) => {
    const owner = ownerOf(parseQueued(member).token);
    const alive = found.get(`${queue}:${owner.split('.', 1)[0]}`);
    return alive === undefined ? [] : [{ owner, silentMs: alive.deadlineMs - PASSED_OVER_MS }];
  });
}

function recordsIn(state: Entry | undefined): Map<string, string> {
  return new Map(pairs(state?.parts ?? []));
}

function pairs(parts: readonly string[]): [string, string][] {
  return parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1]!]] : []));
}
