import type { Statement } from '../parse.ts';
import type { Frame, LuaValue, Results } from '../value.ts';
import type { Context } from './context.ts';

export function compileSteps(
  _context: Context,
  _body: readonly Statement[],
): (frame: Frame) => Generator<LuaValue[], Results, LuaValue[]> {
  throw new Error('not yet');
}
