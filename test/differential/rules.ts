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
import { FAR_TIMES_SECONDS } from './argument-values.ts';
import { type Argv, innerCommand, nameOf } from './generators.ts';

/** Returns whether our reply is equivalent to that of Redis. */
export type Rule = (redis: Reply, ours: Reply, argv: Argv) => boolean;

/** The rule by which the replies of a command are compared. Default: equality. */
export function ruleFor(argv: Argv): Rule {
  const command = innerCommand(argv);
  if (command !== argv) return (redis, ours) => ruleFor(command)(redis, ours, command);
  const name = nameOf(argv);
  if (argv[1]?.toLowerCase() === 'help' && argv.length === 2 && CONTAINERS.has(name))
    return sameKind;
  return RULES[`${name}|${argv[1]?.toLowerCase()}`] ?? RULES[name] ?? equal;
}

/** Containers, whose HELP has texts of our own. */
const CONTAINERS = new Set(
  [...COMMANDS.values()].filter(({ subcommands }) => subcommands).map(({ name }) => name),
);

/** Formats a reply. Two replies are equal if their texts are equal. */
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

/** The order is not specified. */
const inAnyOrder: Rule = (redis, ours) => show(sorted(redis, 1)) === show(sorted(ours, 1));
const pairsInAnyOrder: Rule = (redis, ours) => show(sorted(redis, 2)) === show(sorted(ours, 2));

/** Random members, or facts about the server: same types and same sizes. */
const sameShape: Rule = (redis, ours) => shape(redis) === shape(ours);
const sameKind: Rule = (redis, ours) =>
  redis instanceof ErrorReply ? equal(redis, ours, []) : kind(redis) === kind(ours);

/** The servers read their clocks at different times. Absolute times must be equal. */
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

/** Cursors differ. A scan that is complete after one step must return the same elements. */
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

/** The encoding of a string depends on its history in Redis, and on its content here. */
const stringForm: Rule = (redis, ours, argv) =>
  equal(redis, ours, argv) || (looseness(redis) > looseness(ours) && looseness(ours) >= 0);

function looseness(reply: Reply): number {
  return ['int', 'embstr', 'raw'].indexOf(String(reply));
}

/** The order of a set with BY without a star is not specified. */
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

/**
 * Redis looks for options of SORT in the key behind STORE as well, and then names another key: see docs/differences.md.
 * Otherwise the order is not specified.
 */
const keysInAnyOrder: Rule = (redis, ours, argv) => {
  const [, , command, ...words] = argv.map((word) => word.toLowerCase());
  const isOption = words.some(
    (word, at) => word === 'store' && SORT_OPTIONS.has(words[at + 1] ?? ''),
  );
  return (command === 'sort' && isOption) || inAnyOrder(redis, ours, argv);
};

const SORT_OPTIONS: ReadonlySet<string> = new Set(['by', 'get', 'limit', 'store']);

/** The id of the session differs. */
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
  // In Redis, keys share small integers, and share strings with the transactions that set them.
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
  // For a count such as 1x, Redis returns the destination of ZUNIONSTORE last.
  'command|getkeys': keysInAnyOrder,
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

/** Types and sizes, recursively; errors and integers exactly. */
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
