import type { LuaHost } from './host.ts';
import { LuaTable } from './table.ts';
import type { CallSite, Closure, LuaThread, LuaValue, Results } from './value.ts';

const NO_HOST: LuaHost = {
  call: () => null,
  log: () => {},
  monotonicMs: () => 0,
  setProtocol: () => {},
  setReplication: () => {},
  mayCall: () => undefined,
};

/** The place of a caller that is a library function: it has no line. */
export const NATIVE_SITE: CallSite = {
  chunk: { source: '=[C]', short: '[C]' },
  line: -1,
  name: undefined,
  isMethod: false,
};

/**
 * The registers of the interpreter. Scripts run one at a time and to their end, so there is one set. A
 * run inside a host call of another saves and restores them.
 */
class State {
  isRunning = false;
  host = NO_HOST;
  /** Steps until the next check of the budget. */
  fuel = 0;
  stepsLeft = 0;
  deadlineMs = 0;
  /** Weight of the active functions, see Prototype.weight. */
  depth = 0;
  /** Active library functions that call back, which C Lua limits to 200. */
  nativeDepth = 0;
  /** `sites[0..level-1]`: where each active Lua function was called. */
  level = 0;
  sites: CallSite[] = [];
  /** Where the running library function was called. */
  site: CallSite = NATIVE_SITE;
  /** The results of the return statement that is leaving its function. */
  returned: Results = undefined;
  /** The callee and arguments of a pending tail call. */
  tailCallee: Closure | undefined = undefined;
  tailArguments: LuaValue[] = [];
  thread: LuaThread | undefined = undefined;
  keys = new LuaTable();
  argv = new LuaTable();
  protocol: 2 | 3 = 2;
}

export const state = new State();

/** The globals, filled once by the sandbox and locked from then on. */
export const globals = new LuaTable();
