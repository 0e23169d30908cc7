import { COMMANDS } from '../../src/engine/index.ts';
import {
  DoubleReply,
  ErrorReply,
  MapReply,
  NullArrayReply,
  PushReply,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from '../../src/resp/index.ts';
import { type Argv, nameOf, said } from './generators.ts';
import { FAR_TIMES_SECONDS } from './words.ts';

/** Whether our reply is as good as that of Redis. */
export type Rule = (redis: Reply, ours: Reply, argv: Argv) => boolean;

/** How replies are compared where equality is not the measure. Everything else must be equal. */
export function ruleFor(argv: Argv): Rule {
  const command = said(argv);
  if (command !== argv) return (redis, ours) => ruleFor(command)(redis, ours, command);
  const name = nameOf(argv);
  if (argv[1]?.toLowerCase() === 'help' && argv.length === 2 && CONTAINERS.has(name))
    return sameKind;
  return RULES[`${name}|${argv[1]?.toLowerCase()}`] ?? RULES[name] ?? equal;
}

/** Their HELP is in our own words. */
const CONTAINERS = new Set(
  [...COMMANDS.values()].filter(({ subcommands }) => subcommands).map(({ name }) => name),
);

/** A reply as a person reads it; two replies are equal when they read the same. */
export function show(reply: Reply): string {
  if (typeof reply === 'string') return JSON.stringify(reply);
  if (reply instanceof SimpleReply) return `+${reply.text}`;
  if (reply instanceof ErrorReply) return `-${reply.message}`;
  if (reply instanceof DoubleReply) return `,${reply.text}`;
  if (reply instanceof VerbatimReply) return `=${reply.format}:${JSON.stringify(reply.text)}`;
  if (reply instanceof NullArrayReply) return '(nil array)';
  if (reply instanceof SetReply) return `~[${reply.members.map(show).join(', ')}]`;
  if (reply instanceof PushReply) return `>[${reply.items.map(show).join(', ')}]`;
  if (reply instanceof MapReply) return `{${reply.entries.map(showPair).join(', ')}}`;
  if (Array.isArray(reply)) return `[${reply.map(show).join(', ')}]`;
  return reply === null ? '(nil)' : String(reply);
}

function showPair([key, value]: readonly [Reply, Reply]): string {
  return `${show(key)}: ${show(value)}`;
}

const equal: Rule = (redis, ours) => show(redis) === show(ours);

/** Redis promises no order here. */
const inAnyOrder: Rule = (redis, ours) => show(sorted(redis, 1)) === show(sorted(ours, 1));
const pairsInAnyOrder: Rule = (redis, ours) => show(sorted(redis, 2)) === show(sorted(ours, 2));

/** Members by chance, or facts of one's own: the same kind, and as many. */
const sameShape: Rule = (redis, ours) => shape(redis) === shape(ours);
const sameKind: Rule = (redis, ours) =>
  redis instanceof ErrorReply ? equal(redis, ours, []) : kind(redis) === kind(ours);

/** Clocks are read at two moments. What was set as a point in time must be read back exactly. */
function near(tolerance: number, exact: readonly number[] = []): Rule {
  return (redis, ours) => {
    if (!isPositive(redis) || !isPositive(ours) || exact.includes(Number(redis))) {
      return equal(redis, ours, []);
    }
    return Math.abs(Number(redis) - Number(ours)) <= tolerance;
  };
}

function isPositive(reply: Reply): boolean {
  return (typeof reply === 'number' || typeof reply === 'bigint') && reply >= 0;
}

/** Cursors are each server's own. A walk that one step completes must have found the same. */
function scanned(rule: Rule): Rule {
  return (redis, ours, argv) => {
    if (!Array.isArray(redis) || !Array.isArray(ours)) return equal(redis, ours, argv);
    const isWhole = redis[0] === '0' && ours[0] === '0' && /^0+$/.test(cursorOf(argv));
    return isWhole ? rule(redis[1], ours[1], argv) : kind(redis[1]) === kind(ours[1]);
  };
}

function cursorOf(argv: Argv): string {
  return argv[nameOf(argv) === 'scan' ? 1 : 2] ?? '';
}

/** APPEND, SETRANGE and INCRBYFLOAT leave a looser form in Redis; here it follows from the content. */
const stringForm: Rule = (redis, ours, argv) =>
  equal(redis, ours, argv) || (looseness(redis) > looseness(ours) && looseness(ours) >= 0);

function looseness(reply: Reply): number {
  return ['int', 'embstr', 'raw'].indexOf(String(reply));
}

/** Of a set that is not sorted (BY without a star) the order is each server's own. */
const sortedOrNot: Rule = (redis, ours, argv) => {
  if (equal(redis, ours, argv)) return true;
  const by = argv.findLastIndex((word, at) => at > 1 && word.toLowerCase() === 'by');
  if (by < 0 || argv[by + 1]?.includes('*')) return false;
  const isWhole = !argv.some((word) => /^(get|limit)$/i.test(word));
  return isWhole ? inAnyOrder(redis, ours, argv) : sameLength(redis, ours);
};

function sameLength(redis: Reply, ours: Reply): boolean {
  return Array.isArray(redis) && Array.isArray(ours) && redis.length === ours.length;
}

/** The session's number is each server's own. */
const withoutId: Rule = (redis, ours, argv) => equal(dropId(redis), dropId(ours), argv);

const TTL_SECONDS = near(3);
const TTL_MS = near(3000);

const RULES: Readonly<Record<string, Rule>> = {
  keys: inAnyOrder,
  smembers: inAnyOrder,
  sinter: inAnyOrder,
  sunion: inAnyOrder,
  sdiff: inAnyOrder,
  hkeys: inAnyOrder,
  hvals: inAnyOrder,
  hgetall: pairsInAnyOrder,
  'config|get': pairsInAnyOrder,
  'pubsub|channels': inAnyOrder,
  'pubsub|shardchannels': inAnyOrder,
  scan: scanned(inAnyOrder),
  sscan: scanned(inAnyOrder),
  hscan: scanned(pairsInAnyOrder),
  zscan: scanned(pairsInAnyOrder),
  randomkey: sameShape,
  spop: sameShape,
  srandmember: sameShape,
  hrandfield: sameShape,
  zrandmember: sameShape,
  ttl: TTL_SECONDS,
  pttl: TTL_MS,
  expiretime: near(3, FAR_TIMES_SECONDS),
  pexpiretime: near(
    3000,
    FAR_TIMES_SECONDS.map((seconds) => seconds * 1000),
  ),
  // Redis shares small integers between keys, and strings with the transactions that made them.
  'object|idletime': sameKind,
  'object|refcount': sameKind,
  'object|encoding': stringForm,
  sort: sortedOrNot,
  sort_ro: sortedOrNot,
  hello: withoutId,
  'client|id': sameKind,
  'client|list': sameKind,
  'client|info': sameKind,
  'slowlog|get': sameKind,
  'slowlog|len': sameKind,
  'memory|usage': sameKind,
  'memory|stats': sameKind,
  'memory|doctor': sameKind,
  info: sameKind,
  time: sameShape,
  command: sameKind,
  'command|count': sameKind,
  'command|list': sameKind,
  'command|info': sameKind,
  'command|docs': sameKind,
  // The destination of ZUNIONSTORE comes last when the count is not quite a number.
  'command|getkeys': inAnyOrder,
  role: sameKind,
};

function sorted(reply: Reply, width: 1 | 2): Reply {
  if (reply instanceof SetReply) return new SetReply(sortedItems(reply.members, 1));
  if (reply instanceof MapReply) {
    return new MapReply([...reply.entries].sort((a, b) => compareText(showPair(a), showPair(b))));
  }
  return Array.isArray(reply) ? sortedItems(reply, width) : reply;
}

function sortedItems(items: readonly Reply[], width: number): Reply[] {
  const groups: Reply[][] = [];
  for (let at = 0; at < items.length; at += width) groups.push(items.slice(at, at + width));
  return groups.sort((a, b) => compareText(show(a), show(b))).flat();
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function kind(reply: Reply): string {
  if (reply === null || typeof reply !== 'object') return reply === null ? 'null' : typeof reply;
  return 'kind' in reply ? reply.kind : 'array';
}

/** Kinds and sizes, all the way down; errors and integers to the letter. */
function shape(reply: Reply): string {
  if (reply instanceof ErrorReply || typeof reply === 'number') return show(reply);
  if (reply instanceof SetReply) return `~[${reply.members.map(shape)}]`;
  if (reply instanceof MapReply) return `{${reply.entries.length}}`;
  return Array.isArray(reply) ? `[${reply.map(shape)}]` : kind(reply);
}

function dropId(reply: Reply): Reply {
  if (reply instanceof MapReply) return new MapReply(reply.entries.filter(([key]) => key !== 'id'));
  if (!Array.isArray(reply)) return reply;
  const at = reply.indexOf('id');
  return at < 0 ? reply : reply.toSpliced(at, 2);
}
