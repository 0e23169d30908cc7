/**
 * Lua 5.1 as Redis 7.0 offers it to scripts. The host provides the keyspace and the clock. A script is
 * parsed and compiled once to JavaScript closures, never to JavaScript text, and runs synchronously
 * within a budget.
 */
export type { Budget } from './budget.ts';
export type { LuaHost } from './host.ts';
export { allocate as chargeScript, ScriptStopped } from './memory.ts';
export { type CompiledScript, compileScript } from './script.ts';
