import { plainError } from '../error.ts';
import { Builtin } from '../value.ts';

/**
 * coroutine.yield, in its own file because the calls in a coroutine's Lua code recognise it and suspend.
 * From outside a coroutine, or below a library function such as pcall, it cannot suspend, as in C Lua 5.1.
 */
export const yieldBuiltin = new Builtin(() => {
  throw plainError('attempt to yield across metamethod/C-call boundary');
});
