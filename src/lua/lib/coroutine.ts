import { spend } from '../budget.ts';
import { enterSteps, frameFor, mark, recover } from '../call.ts';
import { argumentError, LuaError, libraryError, position } from '../error.ts';
import { allocate, VALUE_BYTES } from '../memory.ts';
import { toText } from '../number.ts';
import { state } from '../state.ts';
import type { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { asList, Builtin, Closure, LuaThread } from '../value.ts';
import { makeLibrary } from './arguments.ts';
import { yieldBuiltin } from './yield.ts';

/** The `coroutine` table. */
export const coroutineLibrary: LuaTable = makeLibrary(
  {
    create: (args) => create(args),
    resume: (args) => {
      const thread = expectThread(args);
      try {
        return [true, ...resume(thread, args.slice(1))];
      } catch (thrown) {
        if (!(thrown instanceof LuaError)) throw thrown;
        return [false, thrown.value];
      }
    },
    running: () => state.thread,
    status: (args) => expectThread(args).status,
    wrap,
  },
  { yield: yieldBuiltin },
);

function create(args: LuaValue[]): LuaThread {
  const entry = args[0];
  if (!(entry instanceof Closure)) throw argumentError(1, 'Lua function expected');
  allocate(THREAD_BYTES);
  return new LuaThread(entry);
}

/** Approximate bytes that V8 uses for a coroutine that did not start, and for the function of coroutine.wrap. */
const THREAD_BYTES = 512;

/** Switching costs as much as several calls. */
const RESUME_STEPS = 8;

function expectThread(args: LuaValue[]): LuaThread {
  const thread = args[0];
  if (thread instanceof LuaThread) return thread;
  throw argumentError(1, 'coroutine expected');
}

function wrap(args: LuaValue[]): Results {
  const thread = create(args);
  return new Builtin((values) => {
    const { site } = state;
    try {
      return resume(thread, values);
    } catch (thrown) {
      if (!(thrown instanceof LuaError)) throw thrown;
      const text = toText(thrown.value);
      throw new LuaError(text === undefined ? thrown.value : position(site) + text, site);
    }
  });
}

/**
 * Runs a coroutine to its next yield or its end. It has call sites of its own, and its depth counts
 * on top of the resumer's, because a resumed generator takes up JavaScript stack again.
 */
function resume(thread: LuaThread, values: LuaValue[]): LuaValue[] {
  if (thread.status !== 'suspended') {
    throw new LuaError(`cannot resume ${thread.status} coroutine`, state.site);
  }
  const outer = { thread: state.thread, sites: state.sites, registers: mark() };
  spend(RESUME_STEPS);
  allocate(values.length * VALUE_BYTES);
  if (state.nativeDepth >= MAX_RESUME_DEPTH) throw libraryError('C stack overflow');
  if (outer.thread !== undefined) outer.thread.status = 'normal';
  thread.status = 'running';
  state.thread = thread;
  state.sites = thread.sites;
  state.level = thread.level;
  state.nativeDepth += 1;
  state.depth += thread.depth + RESUME_WEIGHT;
  try {
    return advance(thread, values, outer.registers.depth);
  } catch (thrown) {
    thread.status = 'dead';
    throw recover(thrown, outer.registers);
  } finally {
    state.thread = outer.thread;
    state.sites = outer.sites;
    state.level = outer.registers.level;
    state.nativeDepth = outer.registers.nativeDepth;
    state.depth = outer.registers.depth;
    state.site = outer.registers.site;
    if (outer.thread !== undefined) outer.thread.status = 'running';
  }
}

const MAX_RESUME_DEPTH = 199;
const RESUME_WEIGHT = 12;

function advance(thread: LuaThread, values: LuaValue[], base: number): LuaValue[] {
  const { entry } = thread;
  thread.steps ??= enterSteps(entry, frameFor(entry, values), state.site);
  const { done, value } = thread.steps.next(values);
  thread.status = done ? 'dead' : 'suspended';
  thread.level = state.level;
  thread.depth = state.depth - base - RESUME_WEIGHT;
  return asList(value);
}
