import type { Redis } from 'ioredis';
import { compileScript, type LuaHost, ScriptStopped } from '../src/lua/index.ts';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from '../src/resp/index.ts';
import type { RecordedReply } from './lua-corpus.ts';

/** A host without a keyspace, for scripts that only compute. */
const host: LuaHost = {
  call: () => new ErrorReply('ERR there is no keyspace here'),
  log: () => {},
  monotonicMs: () => 0,
  setProtocol: () => {},
  setReplication: () => {},
  mayCall: () => true,
};

const BUDGET = { steps: 20_000_000, deadlineMs: 1 };

/** The reply of our Lua to a script, in the form of a record. */
export function evaluate(script: string, keys: string[], args: string[]): RecordedReply {
  try {
    return flatten(compileScript(script).run(host, [...keys], [...args], BUDGET));
  } catch (thrown) {
    if (thrown instanceof ErrorReply) return { error: thrown.message };
    if (thrown instanceof ScriptStopped) return { error: `stopped: ${thrown.reason}` };
    throw thrown;
  }
}

/** A reply as RESP2 would show it to ioredis. */
function flatten(reply: Reply): RecordedReply {
  if (typeof reply === 'bigint') return Number(reply);
  if (typeof reply === 'boolean') return reply ? 1 : 0;
  if (reply === null || typeof reply !== 'object') return reply;
  if (reply instanceof ErrorReply) return { error: reply.message };
  if (reply instanceof MapReply) return reply.entries.flat().map(flatten);
  if (reply instanceof SetReply) return reply.members.map(flatten);
  if (reply instanceof SimpleReply || reply instanceof VerbatimReply) return reply.text;
  if (reply instanceof DoubleReply || reply instanceof BigNumberReply) return reply.text;
  if (Array.isArray(reply)) return reply.map(flatten);
  throw new Error('a script does not return this kind of reply');
}

/** The reply of a real Redis to a script. */
export async function recordOf(
  redis: Redis,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<RecordedReply> {
  const source = Buffer.from(script, 'latin1');
  return redis
    .callBuffer('EVAL', source, keys.length, ...keys, ...args)
    .then(toRecord, (error: Error) => ({ error: error.message }));
}

function toRecord(reply: unknown): RecordedReply {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  if (Array.isArray(reply)) return reply.map(toRecord);
  if (reply instanceof Error) return { error: reply.message };
  return reply as null | number;
}
