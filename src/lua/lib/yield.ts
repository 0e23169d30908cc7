import { plainError } from '../error.ts';
import { Builtin } from '../value.ts';

/**
 * coroutine.yield, by itself because the calls of a coroutine's own Lua code know it and suspend.
 * Called in any other way, from outside a coroutine or below a library function such as pcall, it
 * cannot suspend, in C Lua 5.1 as here.
 */
export const yieldBuiltin = new Builtin(() => {
  throw plainError('attempt to yield across metamethod/C-call boundary');
});
