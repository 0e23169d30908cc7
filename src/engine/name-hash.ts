/** A 32-bit hash of all chars of a name. Without the seed, a client cannot choose names that collide. */
export function nameHash(name: string, seed: number): number {
  let hash = seed | 0;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x5bd1e995);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b5);
  return hash ^ (hash >>> 15);
}
