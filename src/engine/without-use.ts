import type { Engine } from './engine.ts';

/** Reads keys without changing their time of last use, as EXISTS, TYPE, OBJECT, MEMORY and TTL do in Redis. */
export function withoutUse<Result>(engine: Engine, read: () => Result): Result {
  const { marksUse } = engine;
  engine.marksUse = false;
  try {
    return read();
  } finally {
    // The next command of a script or a transaction may mark keys as used.
    engine.marksUse = marksUse;
  }
}
