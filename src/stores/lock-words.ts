import type { Hold, HolderInfo, HoldWords, LockKind, Target } from '../lock/index.ts';

const PREFIXES = { mutex: 'lock', semaphore: 'semaphore', rw: 'rw' } as const satisfies Record<
  LockKind,
  string
>;

/**
 * All keys of a lock share a hash tag, its name, or the part of it before a closing brace. A name that
 * begins with one would have an empty tag, which is none; a sign before it keeps names apart.
 */
export function keyOf({ kind, name }: Omit<Target, 'slots'>): string {
  const first = name.charCodeAt(0);
  const isMarked = first === 0x7d || first === 0x25;
  return `${PREFIXES[kind]}:{${isMarked ? '%' : ''}${name}}`;
}

/** What the script calls a hold. */
export function wordsOf(hold: Hold): HoldWords {
  if (hold.words?.of === hold) return hold.words;
  const token = `${hold.owner} ${infoText(hold.info)}`;
  const words = { of: hold, key: keyOf(hold), token };
  hold.words = words;
  return words;
}

let lastInfo: HolderInfo | undefined;
let lastInfoText = '';

/** Most claims of a process share one. */
function infoText(info: HolderInfo): string {
  if (info !== lastInfo) {
    lastInfoText = JSON.stringify([info.host, info.pid, info.label]);
    lastInfo = info;
  }
  return lastInfoText;
}
