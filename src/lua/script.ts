import { createHash } from 'node:crypto';
import type { Reply } from '../resp/index.ts';
import { ErrorReply } from '../resp/index.ts';
import type { Budget } from './budget.ts';
import { closeBudget, openBudget } from './budget.ts';
import { enter, frameFor, recover } from './call.ts';
import { errorReply, MAX_LINE, toReply } from './convert.ts';
import type { LuaError } from './error.ts';
import type { LuaHost } from './host.ts';
import { display } from './lib/base.ts';
import { resetCjson } from './lib/cjson.ts';
import { seedRandom } from './lib/random.ts';
import type { CompiledChunk } from './load.ts';
import { compileChunk } from './load.ts';
import { memory, setBytesLeft } from './memory.ts';
import { toText } from './number.ts';
import { index } from './operators.ts';
import { fillGlobals } from './sandbox.ts';
import { globals, NATIVE_SITE, state } from './state.ts';
import { LuaSyntaxError } from './syntax-error.ts';
import { LuaTable } from './table.ts';
import type { ChunkName, Closure, LuaValue } from './value.ts';
import { first, NOTHING } from './value.ts';

fillGlobals();

const USER_SCRIPT: ChunkName = { source: '@user_script', short: 'user_script' };

/** Compiles a script. Throws an ErrorReply with Redis's text when it does not compile. */
export function compileScript(source: string): CompiledScript {
  const { flags, body } = readShebang(source);
  try {
    return new CompiledScript(source, flags, compileChunk(body, USER_SCRIPT));
  } catch (thrown) {
    if (!(thrown instanceof LuaSyntaxError)) throw thrown;
    throw errorReply(`ERR Error compiling script (new function): ${thrown.message}`);
  }
}

/** A script that can run any number of times. */
export class CompiledScript {
  /** The script's name for EVALSHA. */
  readonly sha: string;
  readonly source: string;
  /** The flags of a `#!lua flags=...` line, none without one. */
  readonly flags: readonly string[] | undefined;
  /** Approximate memory in bytes. */
  readonly bytes: number;
  private readonly main: Closure;
  private readonly seesGlobals: boolean;

  constructor(source: string, flags: readonly string[] | undefined, chunk: CompiledChunk) {
    this.sha = createHash('sha1').update(source, 'latin1').digest('hex');
    this.source = source;
    this.flags = flags;
    this.bytes = chunk.bytes;
    this.main = chunk.main;
    this.seesGlobals = chunk.seesGlobals;
  }

  /**
   * Runs the script to its end. The arrays become KEYS and ARGV: the caller must not use them any more.
   * Errors of the script are returned as ErrorReply; ScriptStopped is thrown.
   */
  run(host: LuaHost, keys: string[], args: string[], budget: Budget): Reply {
    const outer = state.isRunning
      ? { state: { ...state }, bytesLeft: memory.bytesLeft }
      : undefined;
    try {
      open(host, keys, args, budget);
      if (this.seesGlobals) showGlobals();
      const results = enter(this.main, frameFor(this.main, NOTHING), NATIVE_SITE);
      return toReply(first(results), state.protocol);
    } catch (thrown) {
      return report(recover(thrown, ORIGIN), this.sha);
    } finally {
      if (outer === undefined) close();
      else reopen(outer);
    }
  }
}

const ORIGIN = { depth: 0, nativeDepth: 0, level: 0, site: NATIVE_SITE };

function open(host: LuaHost, keys: string[], args: string[], budget: Budget): void {
  openBudget(budget);
  state.isRunning = true;
  state.host = host;
  state.depth = 0;
  state.nativeDepth = 0;
  state.level = 0;
  state.thread = undefined;
  state.protocol = 2;
  state.keys = LuaTable.fromList(keys);
  state.argv = LuaTable.fromList(args);
  seedRandom(0);
  resetCjson();
}

/** The state of an outer run, which a run inside its host call restores at its end. */
interface OuterRun {
  readonly state: typeof state;
  readonly bytesLeft: number;
}

function reopen(outer: OuterRun): void {
  Object.assign(state, outer.state);
  setBytesLeft(outer.bytesLeft);
  showGlobals();
}

/** Puts KEYS and ARGV into the table of globals. Only scripts that access globals as a table need that. */
function showGlobals(): void {
  globals.setString('KEYS', state.keys);
  globals.setString('ARGV', state.argv);
}

/** Releases the references that the script held. */
function close(): void {
  state.isRunning = false;
  closeBudget();
  state.returned = undefined;
  state.tailCallee = undefined;
  state.tailArguments = [];
}

/** The reply for an error that no pcall caught, with Redis's text. */
function report(error: LuaError, sha: string): ErrorReply {
  const { value, site } = error;
  if (value instanceof LuaTable && value.locked) return lockedReport(sha);
  const text = value instanceof LuaTable ? fieldText(value) : displayText(value);
  const message = (value instanceof LuaTable ? '' : 'ERR ') + text.slice(0, MAX_LINE - PLACE_CHARS);
  return errorReply(`${message} script: ${sha}, on ${site.chunk.source}:${site.line}.`);
}

/** Maximum length of the position after an error's text. */
const PLACE_CHARS = 1024;

/** The text of an error that is a table. Redis 7.0 crashes without one; later versions say this. */
function fieldText(table: LuaTable): string {
  try {
    return toText(index(table, 'err', NATIVE_SITE, undefined)) ?? UNKNOWN_ERROR;
  } catch (thrown) {
    recover(thrown, ORIGIN);
    return UNKNOWN_ERROR;
  }
}

const UNKNOWN_ERROR = 'ERR unknown error';

/** Redis's error handler writes the position into the table, which fails if the table is read-only. */
function lockedReport(sha: string): ErrorReply {
  const place = 'err_handler_def:10';
  const message = `ERR ${place}: Attempt to modify a readonly table`;
  return new ErrorReply(`${message} script: ${sha}, on @${place}.`);
}

function displayText(value: LuaValue): string {
  return toText(display(value)) ?? '';
}

const SCRIPT_FLAGS: ReadonlySet<string> = new Set([
  'no-writes',
  'allow-oom',
  'allow-stale',
  'no-cluster',
  'allow-cross-slot-keys',
]);

interface Shebang {
  readonly flags: readonly string[] | undefined;
  readonly body: string;
}

/** Reads `#!lua flags=a,b`. The rest keeps its line numbers. */
function readShebang(source: string): Shebang {
  if (!source.startsWith('#!')) return { flags: undefined, body: source };
  const end = source.indexOf('\n');
  if (end < 0) throw new ErrorReply('ERR Invalid script shebang');
  const [engine, ...options] = source
    .slice(0, end)
    .split(' ')
    .filter((word) => word !== '');
  if (engine !== '#!lua') {
    throw errorReply(`ERR Unexpected engine in script shebang: ${engine}`);
  }
  const flags = options.flatMap(readOption);
  return { flags, body: source.slice(end) };
}

function readOption(option: string): string[] {
  if (!option.startsWith('flags=')) throw errorReply(`ERR Unknown lua shebang option: ${option}`);
  const list = option.slice('flags='.length);
  const flags = list === '' ? [] : list.split(',');
  const unknown = flags.find((flag) => !SCRIPT_FLAGS.has(flag));
  if (unknown !== undefined) throw errorReply(`ERR Unexpected flag in script shebang: ${unknown}`);
  return flags;
}
