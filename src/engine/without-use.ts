import type { Engine } from './engine.ts';

/** Reads without marking keys as used. In Redis, EXISTS, TYPE, OBJECT, MEMORY and the TTL of a key do so. */
export function withoutUse<Result>(engine: Engine, read: () => Result): Result {
  const { marksUse } = engine;
  engine.marksUse = false;
  try {
    return read();
  } finally {
    // The other commands of a script or a transaction mark keys again.
    engine.marksUse = marksUse;
  }
}
