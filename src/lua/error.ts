import { state } from './state.ts';
import type { CallSite, LuaValue } from './value.ts';

/** A Lua error on its way to the nearest pcall. `site` is where it was raised, for Redis's report. */
export class LuaError {
  readonly value: LuaValue;
  readonly site: CallSite;
  constructor(value: LuaValue, site: CallSite) {
    this.value = value;
    this.site = site;
  }
}

/** `user_script:1: ` for a place in Lua text, nothing for a library function. */
export function position(site: CallSite): string {
  return site.line > 0 ? `${site.chunk.short}:${site.line}: ` : '';
}

/** An error of the language itself, raised by an operation in Lua text. */
export function runtimeError(site: CallSite, message: string): LuaError {
  return new LuaError(position(site) + message, site);
}

/** An error of a library function, placed where it was called. */
export function libraryError(message: string): LuaError {
  return runtimeError(state.site, message);
}

/** An error of a library function whose text carries no position. */
export function plainError(message: string): LuaError {
  return new LuaError(message, state.site);
}

/** `bad argument #1 to 'rep' (...)`, numbered as the caller wrote it. */
export function argumentError(index: number, reason: string): LuaError {
  const { name, isMethod } = state.site;
  const shown = isMethod ? index - 1 : index;
  const callee = name ?? '?';
  if (shown === 0 && isMethod) return libraryError(`calling '${callee}' on bad self (${reason})`);
  return libraryError(`bad argument #${shown} to '${callee}' (${reason})`);
}
