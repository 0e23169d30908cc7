import { ErrorReply, ManyReply, PushReply, type Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { argumentBytes } from '../footprint.ts';
import { assertPattern, globFilter } from '../glob.ts';
import { keysUpTo, oneKey } from '../key-spec.ts';
import { assertName } from '../name-map.ts';
import { SUBSCRIPTION_BYTES, type SubscriptionKind } from '../pub-sub.ts';
import type { Session } from '../session.ts';
import { container, help } from './help.ts';
import { helpLines, wrongSubcommand } from './subcommand-help.ts';

const SUBSCRIBE = ['pubsub', 'noscript', 'loading', 'stale'] as const;
const PUBLISH = ['pubsub', 'loading', 'stale', 'fast', 'may_replicate'] as const;
const LOOK = ['pubsub', 'loading', 'stale'] as const;

const subcommands = {
  CHANNELS: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: (session, argv) => activeNames(session, 'channels', argv),
    syntax: '[pattern]',
    summary: 'Returns the channels that have subscribers',
    since: '2.8.0',
    complexity: 'O(N) for N channels with subscribers, if names and pattern are short',
  },
  NUMSUB: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: (session, argv) => subscriberCounts(session, 'channels', argv),
    syntax: '[channel [channel ...]]',
    summary: 'Returns the number of subscribers of each channel, without patterns',
    since: '2.8.0',
    complexity: 'O(N) for N channels',
  },
  NUMPAT: {
    arity: 2,
    keys: NO_KEYS,
    flags: LOOK,
    run: (session) => session.engine.pubSub.patterns.subscribers.size,
    syntax: '',
    summary: 'Returns the number of distinct patterns with subscribers',
    since: '2.8.0',
    complexity: 'O(1)',
  },
  SHARDCHANNELS: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: (session, argv) => activeNames(session, 'shardChannels', argv),
    syntax: '[pattern]',
    summary: 'Returns the shard channels that have subscribers',
    since: '7.0.0',
    complexity: 'O(N) for N shard channels with subscribers, if names and pattern are short',
  },
  SHARDNUMSUB: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: (session, argv) => subscriberCounts(session, 'shardChannels', argv),
    syntax: '[shardchannel [shardchannel ...]]',
    summary: 'Returns the number of subscribers of each shard channel',
    since: '7.0.0',
    complexity: 'O(N) for N shard channels',
  },
  HELP: help('6.2.0', (): readonly string[] => helpLines('PUBSUB', subcommands)),
} as const satisfies CommandTable;

export const pubSub = {
  SUBSCRIBE: {
    arity: -2,
    keys: NO_KEYS,
    channels: 'names',
    flags: SUBSCRIBE,
    run: (session, argv) => subscribe(session, argv, 'channels'),
    actsInSubscription: true,
    syntax: 'channel [channel ...]',
    summary: 'Subscribes to channels',
    since: '2.0.0',
    complexity: 'O(N) for N channels',
  },
  UNSUBSCRIBE: {
    arity: -1,
    keys: NO_KEYS,
    flags: SUBSCRIBE,
    run: (session, argv) => unsubscribe(session, argv, 'channels'),
    actsInSubscription: true,
    syntax: '[channel [channel ...]]',
    summary: 'Unsubscribes from channels, or from all',
    since: '2.0.0',
    complexity: 'O(N) for N subscribers of a channel',
  },
  PSUBSCRIBE: {
    arity: -2,
    keys: NO_KEYS,
    channels: 'patterns',
    flags: SUBSCRIBE,
    run: (session, argv) => subscribe(session, argv, 'patterns'),
    actsInSubscription: true,
    syntax: 'pattern [pattern ...]',
    summary: 'Subscribes to all channels that match patterns',
    since: '2.0.0',
    complexity: 'O(N) for N patterns of the client',
  },
  PUNSUBSCRIBE: {
    arity: -1,
    keys: NO_KEYS,
    flags: SUBSCRIBE,
    run: (session, argv) => unsubscribe(session, argv, 'patterns'),
    actsInSubscription: true,
    syntax: '[pattern [pattern ...]]',
    summary: 'Unsubscribes from patterns, or from all',
    since: '2.0.0',
    complexity: 'O(N+M) for N patterns of the client and M of all clients',
  },
  SSUBSCRIBE: {
    arity: -2,
    keys: [keysUpTo(-1, 'not_key')],
    channels: 'names',
    flags: SUBSCRIBE,
    run: subscribeToShard,
    actsInSubscription: true,
    syntax: 'shardchannel [shardchannel ...]',
    summary: 'Subscribes to shard channels',
    since: '7.0.0',
    complexity: 'O(N) for N shard channels',
  },
  SUNSUBSCRIBE: {
    arity: -1,
    keys: [keysUpTo(-1, 'not_key')],
    flags: SUBSCRIBE,
    run: (session, argv) => unsubscribe(session, argv, 'shardChannels'),
    actsInSubscription: true,
    syntax: '[shardchannel [shardchannel ...]]',
    summary: 'Unsubscribes from shard channels, or from all',
    since: '7.0.0',
    complexity: 'O(N) for N subscribers of a shard channel',
  },
  PUBLISH: {
    arity: 3,
    keys: NO_KEYS,
    channels: 'first',
    flags: PUBLISH,
    run: (session, argv) => session.engine.pubSub.publish(argv[1]!, argv[2]!),
    syntax: 'channel message',
    summary: 'Sends a message to the subscribers of a channel; returns how many',
    since: '2.0.0',
    complexity: 'O(N+M) for N subscribers of the channel and M patterns of all clients',
  },
  SPUBLISH: {
    arity: 3,
    keys: [oneKey('not_key')],
    channels: 'first',
    flags: PUBLISH,
    run: (session, argv) => session.engine.pubSub.publishToShard(argv[1]!, argv[2]!),
    syntax: 'shardchannel message',
    summary: 'Sends a message to the subscribers of a shard channel; returns how many',
    since: '7.0.0',
    complexity: 'O(N) for N subscribers of the shard channel',
  },
  PUBSUB: container(subcommands, 'Shows channels and subscribers', '2.8.0'),
} as const satisfies CommandTable;

/** The names of each kind in confirmations, and the subscriptions that their number counts. */
const KINDS = {
  channels: { prefix: '', count: countMessages },
  patterns: { prefix: 'p', count: countMessages },
  shardChannels: { prefix: 's', count: (session: Session) => session.shardChannels.size },
} as const satisfies Record<SubscriptionKind, object>;

function countMessages(session: Session): number {
  return session.channels.size + session.patterns.size;
}

/** Returns one confirmation per name, also for a name that is already subscribed. */
function subscribe(session: Session, argv: readonly string[], kind: SubscriptionKind): Reply {
  const { prefix, count } = KINDS[kind];
  const assertValid = kind === 'patterns' ? assertPattern : assertName;
  for (let at = 1; at < argv.length; at++) assertValid(argv[at]!);
  const confirmations: Reply[] = [];
  session.memory.reserve(argv.length * SUBSCRIPTION_BYTES + argumentBytes(argv));
  for (let at = 1; at < argv.length; at++) {
    session.engine.pubSub.subscribe(session, kind, argv[at]!);
    confirmations.push(new PushReply([`${prefix}subscribe`, argv[at]!, count(session)]));
  }
  return new ManyReply(confirmations);
}

/** As in Redis, SSUBSCRIBE is rejected inside of MULTI, and SUBSCRIBE is not, for old clients. */
function subscribeToShard(session: Session, argv: readonly string[]): Reply {
  if (!session.mayBlock) {
    throw new ErrorReply("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
  }
  return subscribe(session, argv, 'shardChannels');
}

/** Without names: from all. A session without subscriptions gets one confirmation with a null name. */
function unsubscribe(session: Session, argv: readonly string[], kind: SubscriptionKind): Reply {
  const { prefix, count } = KINDS[kind];
  const names = argv.length > 1 ? argv.slice(1) : [...session[kind]];
  const confirmations = names.map((name) => {
    session.engine.pubSub.unsubscribe(session, kind, name);
    return new PushReply([`${prefix}unsubscribe`, name, count(session)]);
  });
  if (confirmations.length > 0) return new ManyReply(confirmations);
  return new ManyReply([new PushReply([`${prefix}unsubscribe`, null, count(session)])]);
}

function activeNames(session: Session, kind: SubscriptionKind, argv: readonly string[]): Reply {
  if (argv.length > 3) throw wrongSubcommand(argv);
  const pattern = argv[2];
  const names = [...session.engine.pubSub[kind].subscribers.keys()];
  return pattern === undefined ? names : names.filter(globFilter(pattern));
}

function subscriberCounts(
  session: Session,
  kind: SubscriptionKind,
  argv: readonly string[],
): Reply {
  const { subscribers } = session.engine.pubSub[kind];
  return argv.slice(2).flatMap((name) => [name, subscribers.get(name)?.size ?? 0]);
}
