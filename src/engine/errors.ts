import { ErrorReply } from '../resp/index.ts';

export const INT64_MAX = 2n ** 63n - 1n;
export const INT64_MIN = -(2n ** 63n);

/** The errors that several command groups return, with the texts of Redis 7. */
export const WRONG_TYPE = new ErrorReply(
  'WRONGTYPE Operation against a key holding the wrong kind of value',
);
export const SYNTAX_ERROR = new ErrorReply('ERR syntax error');
export const NOT_AN_INTEGER = new ErrorReply('ERR value is not an integer or out of range');
export const NOT_AN_INT32 = new ErrorReply(
  'ERR value is out of range, value must between -2147483648 and 2147483647',
);
export const NOT_A_FLOAT = new ErrorReply('ERR value is not a valid float');
export const NO_SUCH_KEY = new ErrorReply('ERR no such key');
export const OUT_OF_RANGE = new ErrorReply('ERR index out of range');
export const NOT_POSITIVE = new ErrorReply('ERR value is out of range, must be positive');
export const OVERFLOW = new ErrorReply('ERR increment or decrement would overflow');
export const NOT_FINITE = new ErrorReply('ERR increment would produce NaN or Infinity');

export function wrongArity(commandName: string): ErrorReply {
  return new ErrorReply(`ERR wrong number of arguments for '${commandName}' command`);
}

export function invalidExpire(commandName: string): ErrorReply {
  return new ErrorReply(`ERR invalid expire time in '${commandName}' command`);
}

export const OUT_OF_MEMORY = new ErrorReply(
  "OOM command not allowed when used memory > 'maxmemory'.",
);
