import { runtimeError } from './error.ts';
import { makeLibrary } from './lib/arguments.ts';
import { baseFunctions } from './lib/base.ts';
import { bitLibrary } from './lib/bit.ts';
import { cjsonLibrary } from './lib/cjson.ts';
import { cmsgpackLibrary } from './lib/cmsgpack.ts';
import { coroutineLibrary } from './lib/coroutine.ts';
import { mathLibrary } from './lib/math.ts';
import { nextBuiltin } from './lib/next.ts';
import { redisLibrary } from './lib/redis.ts';
import { stringLibrary } from './lib/string.ts';
import { structLibrary } from './lib/struct.ts';
import { tableLibrary } from './lib/table.ts';
import { stringMetatable } from './metatable.ts';
import { globals, state } from './state.ts';
import { LuaTable } from './table.ts';
import { Builtin } from './value.ts';

const libraries: Readonly<Record<string, LuaTable>> = {
  bit: bitLibrary,
  cjson: cjsonLibrary,
  cmsgpack: cmsgpackLibrary,
  coroutine: coroutineLibrary,
  math: mathLibrary,
  redis: redisLibrary,
  string: stringLibrary,
  struct: structLibrary,
  table: tableLibrary,
};

/** Fills the globals, which all scripts share and none can change. Called once, when scripts are loaded. */
export function fillGlobals(): void {
  for (const [name, run] of Object.entries(baseFunctions))
    globals.setString(name, new Builtin(run));
  for (const [name, library] of Object.entries(libraries)) globals.setString(name, library);
  globals.setString('next', nextBuiltin);
  globals.setString('_G', globals);
  globals.setString('_VERSION', 'Lua 5.1');
  globals.setString('KEYS', state.keys);
  globals.setString('ARGV', state.argv);
  globals.metatable = makeLibrary({
    __index: ([, name]) => {
      throw runtimeError(
        state.site,
        `Script attempted to access nonexistent global variable '${String(name)}'`,
      );
    },
  });
  lock(globals);
  stringMetatable.setString('__index', stringLibrary);
  lock(stringMetatable);
}

/** Makes a table and all tables reachable from it read-only. */
function lock(table: LuaTable): void {
  if (table.locked) return;
  table.locked = true;
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    const value = table.valueAt(at);
    if (value instanceof LuaTable && value !== state.keys && value !== state.argv) lock(value);
  }
  if (table.metatable !== undefined) lock(table.metatable);
}
