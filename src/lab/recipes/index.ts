import type { Recipe } from '../recipe.ts';
import { fenced } from './fenced.ts';
import { holdfastMutex } from './holdfast-mutex.ts';
import { holdfastReadWrite } from './holdfast-read-write.ts';
import { holdfastSemaphore } from './holdfast-semaphore.ts';
import { luaSetnxExpire } from './lua-setnx-expire.ts';
import { memcachedAdd } from './memcached-add.ts';
import { memcachedEviction } from './memcached-eviction.ts';
import { memcachedTouch } from './memcached-touch.ts';
import { multiSetnxExpire } from './multi-setnx-expire.ts';
import { setNxExDel } from './set-nx-ex-del.ts';
import { setNxPxGetDel } from './set-nx-px-get-del.ts';
import { setNxPxLuaDel } from './set-nx-px-lua-del.ts';
import { setnxOnly } from './setnx-only.ts';
import { setnxRepairedExpire } from './setnx-repaired-expire.ts';
import { setnxThenExpire } from './setnx-then-expire.ts';
import { timestampDelSetnx } from './timestamp-del-setnx.ts';
import { timestampGetset } from './timestamp-getset.ts';
import { timestampGetsetChecked } from './timestamp-getset-checked.ts';
import { timestampGetsetSlow } from './timestamp-getset-slow.ts';
import { watchdog } from './watchdog.ts';

/** In the order of the documents, where each recipe fixes a problem of an earlier one. */
export const RECIPES: readonly Recipe[] = [
  setnxOnly,
  setnxThenExpire,
  setnxRepairedExpire,
  multiSetnxExpire,
  luaSetnxExpire,
  setNxExDel,
  setNxPxGetDel,
  setNxPxLuaDel,
  timestampDelSetnx,
  timestampGetset,
  timestampGetsetChecked,
  timestampGetsetSlow,
  memcachedAdd,
  memcachedTouch,
  memcachedEviction,
  watchdog,
  fenced,
  holdfastMutex,
  holdfastReadWrite,
  holdfastSemaphore,
];
