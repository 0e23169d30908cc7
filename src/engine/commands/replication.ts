import { type CommandTable, NO_KEYS, type Outcome } from '../command.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { waitMsArgument } from './wait-time.ts';

/** Commands about replicas, which clients send. There are none. */
export const replicas = {
  WAIT: {
    arity: 3,
    keys: NO_KEYS,
    flags: ['noscript'],
    run: wait,
    syntax: 'numreplicas timeout',
    summary: 'Blocks until so many replicas have the writes, or until the timeout; returns 0',
    since: '3.0.0',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'response_policy:agg_min'],
  },
} as const satisfies CommandTable;

export const role = {
  ROLE: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['noscript', 'loading', 'stale', 'fast'],
    run: () => ['master', 0, []],
    syntax: '',
    summary: 'Returns that this is a master without replicas',
    since: '2.8.12',
    complexity: 'O(1)',
  },
} as const satisfies CommandTable;

function wait(session: Session, argv: readonly string[]): Outcome {
  const wanted = integerArgument(argv[1]!);
  const durationMs = waitMsArgument(argv[2]!);
  if (wanted <= 0) return 0;
  return session.engine.blocking.block(session, {
    keys: [],
    timeoutMs: durationMs === 0 ? Number.POSITIVE_INFINITY : durationMs,
    timeoutReply: 0,
    serve: () => undefined,
  });
}
