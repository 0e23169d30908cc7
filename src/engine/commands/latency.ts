import type { Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import type { LatencyEvent, LatencySample } from '../latency.ts';
import type { Session } from '../session.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const ADMIN = ['admin', 'noscript', 'loading', 'stale'] as const;

const subcommands = {
  LATEST: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: latest,
    syntax: '',
    summary: 'Returns the latest and the longest duration of each event',
    since: '2.8.13',
    complexity: 'O(1)',
    tips: ['nondeterministic_output', 'request_policy:all_nodes', 'response_policy:special'],
  },
  HISTORY: {
    arity: 3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: history,
    syntax: 'event',
    summary: 'Returns the samples of an event: time and duration',
    since: '2.8.13',
    complexity: 'O(1)',
    tips: ['nondeterministic_output', 'request_policy:all_nodes', 'response_policy:special'],
  },
  RESET: {
    arity: -2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: reset,
    syntax: '[event [event ...]]',
    summary: 'Removes the samples of some events, or of all',
    since: '2.8.13',
    complexity: 'O(1)',
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
  },
  HELP: help('2.8.13', (): readonly string[] => helpLines('LATENCY', subcommands)),
} as const satisfies CommandTable;

export const latency = {
  LATENCY: container(
    subcommands,
    'Shows what took longer than the setting latency-monitor-threshold',
    '2.8.13',
  ),
} as const satisfies CommandTable;

function latest(session: Session): Reply {
  const { samples, longestMs } = session.engine.latency;
  return [...samples].map(([event, series]) => {
    const { unixSeconds, durationMs } = series.at(-1)!;
    return [event, unixSeconds, durationMs, longestMs.get(event)!];
  });
}

function history(session: Session, argv: readonly string[]): Reply {
  const series: readonly LatencySample[] =
    session.engine.latency.samples.get(argv[2] as LatencyEvent) ?? [];
  return series.map(({ unixSeconds, durationMs }) => [unixSeconds, durationMs]);
}

function reset(session: Session, argv: readonly string[]): Reply {
  const { latency: monitor } = session.engine;
  const events = argv.length > 2 ? argv.slice(2) : [...monitor.samples.keys()];
  return events.filter((event) => monitor.forget(event as LatencyEvent)).length;
}
