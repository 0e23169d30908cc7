import { createHash } from 'node:crypto';
import { ErrorReply } from '../../resp/index.ts';
import { spend, spendMaking, spendReading } from '../budget.ts';
import { fromReply, MAX_LINE, withCode } from '../convert.ts';
import { LuaError } from '../error.ts';
import { formatGeneral } from '../format-number.ts';
import { toNumber, toText, untilNul } from '../number.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { NOTHING } from '../value.ts';
import { makeLibrary, toInt } from './arguments.ts';

/** The version whose scripting interface this is. */
const VERSION = '7.0.15';
const VERSION_NUMBER = 0x0007_000f;

/** The `redis` table. */
export const redisLibrary: LuaTable = makeLibrary(
  {
    acl_check_cmd: aclCheckCommand,
    breakpoint: () => false,
    call: (args) => command(args, true),
    debug: () => NOTHING,
    error_reply: errorReply,
    holdfast_event: event,
    log,
    pcall: (args) => command(args, false),
    replicate_commands: () => true,
    set_repl: setReplication,
    setresp: setProtocol,
    sha1hex,
    status_reply: statusReply,
  },
  {
    LOG_DEBUG: 0,
    LOG_VERBOSE: 1,
    LOG_NOTICE: 2,
    LOG_WARNING: 3,
    REDIS_VERSION: VERSION,
    REDIS_VERSION_NUM: VERSION_NUMBER,
    REPL_ALL: 3,
    REPL_AOF: 1,
    REPL_NONE: 0,
    REPL_REPLICA: 2,
    REPL_SLAVE: 2,
  },
);

/** A command takes as long as some dozen steps. */
const CALL_STEPS = 32;

/** redis.call and redis.pcall: the arguments become the command unchanged. */
function command(args: LuaValue[], raises: boolean): Results {
  const argv = commandArguments(args);
  if (argv instanceof LuaTable) {
    if (raises) throw new LuaError(argv, state.site);
    return argv;
  }
  const { site } = state;
  spend(CALL_STEPS);
  const reply = state.host.call(argv);
  const value = fromReply(reply, state.protocol);
  if (raises && reply instanceof ErrorReply) throw new LuaError(value, site);
  return value;
}

/** The command's arguments, or the error table if they are invalid. */
function commandArguments(args: LuaValue[]): string[] | LuaTable {
  if (args.length === 0) {
    return failure('Please specify at least one argument for this redis lib call');
  }
  for (let at = 0; at < args.length; at++) {
    if (typeof args[at] !== 'string') return convertArguments(args);
  }
  return args as string[];
}

function convertArguments(args: readonly LuaValue[]): string[] | LuaTable {
  const argv: string[] = [];
  for (const argument of args) {
    if (typeof argument === 'string') argv.push(argument);
    else if (typeof argument === 'number') argv.push(numberArgument(argument));
    else return failure('Lua redis lib command arguments must be strings or integers');
  }
  return argv;
}

/** Numbers keep all their digits as arguments of a command: C's `%.17g`. */
function numberArgument(value: number): string {
  if (Number.isSafeInteger(value) && (value !== 0 || 1 / value > 0)) return String(value);
  return formatGeneral(value, 17);
}

function failure(message: string): LuaTable {
  const table = new LuaTable();
  table.setString('err', `ERR ${message}`);
  return table;
}

function fail(message: string): never {
  throw new LuaError(failure(message), state.site);
}

function errorReply(args: LuaValue[]): Results {
  const [text] = args;
  if (args.length !== 1 || typeof text !== 'string') {
    return failure('wrong number or type of arguments');
  }
  const table = new LuaTable();
  const line = untilNul(text.slice(0, MAX_LINE));
  table.setString('err', withCode(line.startsWith('-') ? line.slice(1) : line));
  return table;
}

function statusReply(args: LuaValue[]): Results {
  const [text] = args;
  if (args.length !== 1 || typeof text !== 'string') {
    return failure('wrong number or type of arguments');
  }
  const table = new LuaTable();
  table.setString('ok', text);
  return table;
}

/** How much is hashed between two reads of the clock. */
const HASH_CHUNK = 1024 * 1024;

function sha1hex(args: LuaValue[]): Results {
  if (args.length !== 1) fail('wrong number of arguments');
  const text = toText(args[0]) ?? '';
  const hash = createHash('sha1');
  for (let at = 0; at < text.length; at += HASH_CHUNK) {
    spendReading(HASH_CHUNK);
    hash.update(text.slice(at, at + HASH_CHUNK), 'latin1');
  }
  return hash.digest('hex');
}

function log(args: LuaValue[]): Results {
  if (args.length < 2) fail('redis.log() requires two arguments or more.');
  const number = toNumber(args[0]);
  if (number === undefined) fail('First argument must be a number (log level).');
  const level = toInt(number);
  if (level < 0 || level > 3) fail('Invalid debug level.');
  spendMaking(MAX_LOG_CHARS);
  state.host.log(level, logLine(args));
  return NOTHING;
}

/** Longer lines are cut. */
const MAX_LOG_CHARS = 1024;

/** The texts and numbers after the level. */
function logLine(args: LuaValue[]): string {
  let line = '';
  for (let at = 1; at < args.length && line.length < MAX_LOG_CHARS; at++) {
    const word = toText(args[at])?.slice(0, MAX_LOG_CHARS);
    if (word !== undefined) line += line === '' ? word : ` ${word}`;
  }
  return line.slice(0, MAX_LOG_CHARS);
}

function setProtocol(args: LuaValue[]): Results {
  if (args.length !== 1) fail('redis.setresp() requires one argument.');
  const protocol = toInt(toNumber(args[0]) ?? 0);
  if (protocol !== 2 && protocol !== 3) fail('RESP version must be 2 or 3.');
  state.protocol = protocol;
  state.host.setProtocol(protocol);
  return NOTHING;
}

function setReplication(args: LuaValue[]): Results {
  if (args.length !== 1) fail('redis.set_repl() requires two arguments.');
  const flags = toInt(toNumber(args[0]) ?? 0);
  if ((flags & ~3) !== 0) {
    fail('Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.');
  }
  state.host.setReplication(flags);
  return NOTHING;
}

/** Not in Redis. */
function event(args: LuaValue[]): Results {
  const [type, key, token, fence = 0] = args;
  const areTexts = typeof type === 'string' && typeof key === 'string';
  if (areTexts && typeof token === 'string' && typeof fence === 'number') {
    state.host.event?.(type, key, token, fence);
  }
  return NOTHING;
}

function aclCheckCommand(args: LuaValue[]): Results {
  const argv = commandArguments(args);
  if (argv instanceof LuaTable) throw new LuaError(argv, state.site);
  const may = state.host.mayCall(argv);
  if (may === undefined) fail('Invalid command passed to redis.acl_check_cmd()');
  return may;
}
