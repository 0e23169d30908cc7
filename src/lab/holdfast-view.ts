import { ownerOf, PASSED_OVER_MS, parseQueued, SUFFIX } from '../stores/index.ts';
import type { Entry } from './store.ts';
import type { Grant, ReadView, Waiting } from './store-view.ts';

/**
 * Reads what the library's script has written about one lock: docs/key-layout.md says what stands where.
 * Tokens are an owner and, after a space, what others may know of it.
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
  if (holder.type === 'zset') return severalIn(holder, key, found);
  const [held] = holder.parts;
  // Another program's token has no space, and its grant no fence.
  const isForeign = !held!.includes(' ');
  const owner = ownerOf(held!);
  const { deadlineMs: endMs } = holder;
  return [{ owner, take: 1, fence: isForeign ? 0 : fence, endMs }];
}

/** The ends of several holders are scores on the lock's own clock, which began with another key's life. */
function severalIn({ parts }: Entry, key: string, found: Found): Grant[] {
  const clock = found.get(key + SUFFIX.clock)!;
  const [base, life] = clock.parts[0]!.split(' ').map(Number);
  const clockStartMs = clock.deadlineMs - life! - base!;
  const records = recordsIn(found.get(key + SUFFIX.state));
  return pairs(parts).map(([score, token]) => {
    const [fence, take] = (records.get(`h:${token}`) ?? '0 0').split(' ').map(Number);
    return {
      owner: ownerOf(token),
      take: take!,
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
