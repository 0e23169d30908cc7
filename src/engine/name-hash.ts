/** 32 bits from all chars of a name. Nobody who does not know the seed can choose names that collide. */
export function nameHash(name: string, seed: number): number {
  let hash = seed | 0;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x5bd1e995);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b5);
  return hash ^ (hash >>> 15);
}
