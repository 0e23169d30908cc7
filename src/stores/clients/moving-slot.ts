import { type Script, scriptOf } from '../../client/index.ts';
import { baseOf } from '../redis/lock-keys.ts';

/**
 * While a slot moves to another node of a cluster, some keys of a lock are on the old node and some on the new one. A
 * script that derives keys from those in KEYS, as ours does, would find half a lock, grant it twice, and write keys that
 * make the move fail. Redis refuses a call with a key that exists on neither node (TRYAGAIN) until the move is done. So
 * every call names one such key, and the script drops it before it begins.
 */
export function guardSlot(script: Script, keys: string[]): { script: Script; keys: string[] } {
  return { script: withoutLastKey(script), keys: [...keys, `${baseOf(keys[0]!)}:moving`] };
}

/** Whether a call was refused because its slot moves. ioredis retries, and fails after some redirections. */
export function isMoving(error: unknown): boolean {
  return error instanceof Error && /^(TRYAGAIN|Too many Cluster redirections)/.test(error.message);
}

const guarded = new WeakMap<Script, Script>();

function withoutLastKey(script: Script): Script {
  const known = guarded.get(script);
  if (known !== undefined) return known;
  const made = scriptOf(`KEYS[#KEYS] = nil\n${script.text}`);
  guarded.set(script, made);
  return made;
}
