import { type Script, scriptOf } from '../../client/index.ts';

/**
 * A slot that moves to another node of a cluster has some of a lock's keys here and some there, for as
 * long as it moves. A script that makes up keys from those it was given, as ours does, would find half a
 * lock, give it away twice, and write keys that the move then stumbles over. But Redis refuses a call that
 * names a key which is on neither side (TRYAGAIN) until the move is done. So one such key is named in
 * every call, and forgotten by the script before it begins.
 */
export function guardSlot(script: Script, keys: string[]): { script: Script; keys: string[] } {
  return { script: withoutLastKey(script), keys: [...keys, `${keys[0]}:moving`] };
}

/** Whether a call was refused for that. ioredis tries again by itself, and gives up after some redirections. */
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
