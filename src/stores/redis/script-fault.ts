import { isWrongType } from '../../client/index.ts';

/** Errors that retries cannot fix, each with advice for the operator or the programmer. */
const FINAL_ERRORS: readonly { readonly is: (error: Error) => boolean; readonly advice: string }[] =
  [
    {
      is: isWrongType,
      advice:
        'Another program uses the key of this lock for another type of value: perhaps Redisson, whose locks are hashes. ' +
        'Use another name, or delete the key if no program needs it.',
    },
    {
      // The last two are refusals inside of a script: of Redis 7.2 or later, and of Redis 7.0 and `holdfast serve`.
      is: matches(
        /^(NOAUTH|WRONGPASS|NOPERM)\b|\bACL failure in script\b|^ERR The user executing the script can't /,
      ),
      advice: "Check the client's user, its password and its rights.",
    },
    {
      is: matches(/^ERR AUTH .*without any password/),
      advice: 'The server has no password: leave it out of the address.',
    },
    {
      is: matches(/^ERR DB index is out of range/),
      advice: 'Use a database that the server has: redis://host:port/0.',
    },
    {
      is: matches(/^MOVED /),
      advice:
        'The server is a node of a cluster: use redisStore(new Cluster([…])) of ioredis or node-redis.',
    },
    {
      is: matches(/^ERR unknown command/i),
      advice:
        'Holdfast needs a server with scripts: Redis 6.2 or later, Valkey, or holdfast serve.',
    },
  ];

/** Adds the advice and `isFinal` to an error that retries cannot fix. Returns any other error unchanged. */
export function withAdvice(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const found = FINAL_ERRORS.find(({ is }) => is(error));
  if (found === undefined) return error;
  const message = `${error.message} ${found.advice}`;
  return Object.assign(new Error(message, { cause: error }), { isFinal: true });
}

function matches(pattern: RegExp): (error: Error) => boolean {
  return ({ message }) => pattern.test(message);
}
