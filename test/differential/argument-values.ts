import fc from 'fast-check';

/**
 * The values of each kind of argument. Most come from small pools, so that commands use the same keys and members. Some
 * are invalid on purpose.
 */
type Values = fc.Arbitrary<string>;

const pool = (...words: readonly string[]): Values => fc.constantFrom(...words);
const numbers = (from: number, to: number): Values =>
  fc.integer({ min: from, max: to }).map((number) => `${number}`);
const mostly = (usual: Values, odd: Values): Values =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: odd });

const BYTES = '\x00\xff\r\n"\\ \x80';
/** One byte longer than an element of a listpack may be. */
const LONG = 'x'.repeat(65);

const ODD_INTEGERS = pool(
  ...['9223372036854775807', '-9223372036854775808', '9223372036854775808', '4294967296'],
  ...['-4294967297', '2147483647', '-2147483648', '2147483648', '007', '+1', ' 1', '1 ', '-0'],
  ...['1.0', '1e3', '0x10', 'abc', '', '-', '99999999999999999999', '1\0', '4611686018427387904'],
);
const integers = mostly(numbers(-5, 12), ODD_INTEGERS);

// No value overflows a double: that would set C's errno in Redis, and a later SORT would fail.
const ODD_FLOATS = pool(
  ...['inf', '-inf', '+inf', 'Infinity', 'nan', '-nan', '0x1p3', '.5'],
  ...['5.', ' 1', '1 ', '', 'abc', '1e', '-0', '1e17', '1e21', '123456789012345678', '-1.0E5'],
  ...['1.7976931348623157e308', '0.30000000000000004', '3.0e3', '1.5\0', '0x', '1e-7', '+1'],
);
const floats = mostly(
  fc.oneof(numbers(-5, 12), pool('0.1', '1.5', '-2.25', '3.14', '1e3', '0.5')),
  ODD_FLOATS,
);

const members = mostly(
  fc.oneof(pool('a', 'b', 'c', 'd'), numbers(-1, 5)),
  pool('', BYTES, LONG, 'x'.repeat(64), '1.5', '007', '9223372036854775807', '-32769', 'A'),
);
const values = fc.oneof(
  { weight: 3, arbitrary: members },
  { weight: 1, arbitrary: integers },
  { weight: 1, arbitrary: floats },
  { weight: 1, arbitrary: pool('hello servers', 'y'.repeat(44), 'y'.repeat(45), '10', '3.0') },
);

/** Durations so long that no key expires during the test, and so different that rules can tell them apart. */
const farDurations = fc
  .noBias(fc.integer({ min: 100_000, max: 2_000_000_000 }))
  .map((duration) => `${duration}`);
const ODD_TIMES = pool(
  ...['0', '-1', '-100', 'abc', '', '1.5', '9223372036854775807', '-9223372036854775808'],
  ...['9223372036854775', '9223372036854776', '-9223372036854776', '99999999999999999999'],
);
/** Absolute times: years 2100 and later, and some that have passed. */
export const FAR_TIMES_SECONDS = [4102444800, 4133980800, 7258118400] as const;
const scoreBounds = mostly(
  fc.oneof(numbers(-5, 12), pool('-inf', '+inf', '(1', '(3', '(-inf', '(5', '1.5')),
  pool('(', '[1', '', 'abc', '(nan', 'nan', '((1', ' 1', 'inf'),
);
const lexBounds = mostly(
  pool('-', '+', '[a', '(a', '[b', '(c', '[d', '(e', '[', '(', '[1', '(10'),
  pool('a', '', '+x', '-x', `[${BYTES}`, '((a'),
);
const patterns = mostly(
  pool('*', '?*', 's*', '?1', '[a-d]', '*a*', '1*', '[^a]*', 'h?'),
  pool('', '[', '[]', '\\', '\\*', '[a-', '**a**', '[^', '???????', 'a', `*${BYTES}`, '[z-a]'),
);
/** None of them matches the channels of keyspace events. */
const channelPatterns = pool('n*', 'news', 's[op]o*', '?', '[ab]', '[^ab]', '', 'a*', '\\a', '[');
const channels = mostly(pool('news', 'sport', 'a', 'b'), pool('', BYTES, '*'));
const counts = mostly(numbers(0, 6), fc.oneof(numbers(-12, -1), ODD_INTEGERS));
const databases = mostly(
  pool('0', '0', '0', '1', '2'),
  pool('9', '-1', '16', 'abc', '', '2147483648'),
);
/** No timeout or a long one: a block ends because the client is served, not by time. */
const timeouts = mostly(
  pool('0', '1000', '1000.5'),
  pool('-1', 'abc', '', '1e30', 'inf', 'nan', '-0.1', '0x400', '1000000000000000000'),
);

const SORT_PATTERNS = pool('s*', 'h*->a', 'h1->b', '#', 'nosort', 's1', '*', 'h*->', 'z*', '');

/** By the name of the argument in COMMAND DOCS; `command:name` has precedence over `name`. */
export const ARGUMENT_VALUES: Readonly<Record<string, Values>> = {
  value: values,
  // Elements of lists often repeat.
  element: fc.oneof(pool('a', 'b'), members),
  pivot: fc.oneof(pool('a', 'b'), members),
  member: members,
  field: members,
  message: values,
  arg: values,
  increment: integers,
  'incrbyfloat:increment': floats,
  'hincrbyfloat:increment': floats,
  'zincrby:increment': floats,
  decrement: integers,
  score: floats,
  weight: floats,
  min: scoreBounds,
  max: scoreBounds,
  ...Object.fromEntries(
    ['zremrangebylex', 'zrevrangebylex', 'zlexcount', 'zrangebylex'].flatMap((command) => [
      [`${command}:min`, lexBounds],
      [`${command}:max`, lexBounds],
    ]),
  ),
  ...Object.fromEntries(
    ['zrange:start', 'zrange:stop', 'zrangestore:min', 'zrangestore:max'].map((argument) => [
      argument,
      fc.oneof(integers, integers, scoreBounds, lexBounds),
    ]),
  ),
  seconds: mostly(farDurations, ODD_TIMES),
  milliseconds: mostly(farDurations, ODD_TIMES),
  'unix-time-seconds': mostly(pool(...FAR_TIMES_SECONDS.map(String)), ODD_TIMES),
  'unix-time-milliseconds': mostly(
    pool(...FAR_TIMES_SECONDS.map((seconds) => `${seconds * 1000}`)),
    ODD_TIMES,
  ),
  timeout: timeouts,
  'wait:timeout': pool('0', '1000', '-1', 'abc', ''),
  numreplicas: pool('0', '0', '1', '-1', 'abc'),
  count: counts,
  'lrem:count': mostly(numbers(-3, 3), ODD_INTEGERS),
  'num-matches': counts,
  // With a small count a scan needs several steps: see rules.ts.
  'scan:count': pool('1000', '1000', '5', '1', '0', '-1', 'abc', '9223372036854775807'),
  ...Object.fromEntries(
    ['hscan', 'sscan', 'zscan'].map((command) => [
      `${command}:count`,
      pool('1000', '1000', '5', '1', '0', '-1', 'abc', '9223372036854775807'),
    ]),
  ),
  cursor: mostly(pool('0'), pool('1', '-1', 'abc', '', '18446744073709551615', '0x0', ' 0', '00')),
  type: pool('string', 'list', 'set', 'zset', 'hash', 'STRING', 'stream', 'nothing', ''),
  pattern: patterns,
  'sort:pattern': SORT_PATTERNS,
  'sort_ro:pattern': SORT_PATTERNS,
  'psubscribe:pattern': channelPatterns,
  'punsubscribe:pattern': channelPatterns,
  channel: channels,
  shardchannel: channels,
  // The smallest integer is not tested: Redis negates it, which overflows.
  rank: mostly(
    pool('1', '2', '-1', '-2'),
    ODD_INTEGERS.filter((word) => word !== '-9223372036854775808'),
  ),
  len: counts,
  limit: counts,
  // Offsets up to the maximum length of a string would only allocate hundreds of megabytes.
  'setrange:offset': mostly(numbers(0, 20), pool('-1', 'abc', '536870912', '9223372036854775807')),
  db: databases,
  'destination-db': databases,
  'select:index': databases,
  index1: databases,
  index2: databases,
  protover: pool('2', '3', '2', '3', '1', '4', 'abc', ''),
  clientname: pool('me', 'bad name', ''),
  'connection-name': pool('me', 'you', 'bad name', '', 'new\nline'),
  username: pool('default', 'nobody'),
  password: pool('secret', ''),
  'ip:port': pool('1.2.3.4:5', 'abc', ''),
  'yes/no': pool('yes', 'no', 'maybe'),
  'client-id': pool('987654321', '0', '-1', 'abc', '<id of 0>', '<id of 1>', '<id of 2>'),
  'client|kill:client-id': pool('987654321', '0', '-1', 'abc'),
  event: pool('command', 'fast-command', 'nothing'),
  section: pool('server', 'clients', 'everything', 'all', 'keyspace', 'nothing', 'Memory'),
  command: pool('get', 'set', 'nothing'),
  'command-name': pool('get', 'SET', 'client|id', 'nothing', 'config', 'zrange|nothing'),
  category: pool('string', 'fast', 'nothing'),
  'module-name': pool('nothing'),
};

/** For arguments without a pool of their own, by type. */
export const VALUES_BY_TYPE: Readonly<Record<string, Values>> = {
  string: values,
  integer: integers,
  double: floats,
  pattern: patterns,
};

/** Values that replace an argument in a command with a mistake. */
export const INVALID_VALUES: Values = fc.oneof(
  values,
  pool('NX', 'xx', 'GET', 'COUNT', 'LIMIT', 'WITHSCORES', 'EX', 'BYLEX', 'REV', 'AGGREGATE', 'nan'),
);

const KEYS_OF: Readonly<Record<string, readonly string[]>> = {
  string: ['s1', 's2', 's3'],
  hash: ['h1', 'h2'],
  list: ['l1', 'l2', 'l3'],
  set: ['t1', 't2', 't3'],
  'sorted-set': ['z1', 'z2', 'z3'],
};
const ALL_KEYS = [...Object.values(KEYS_OF).flat(), 'none', '', BYTES];

/** A key that usually has the type of the command group. */
export function keysFor(group: string): Values {
  const own = KEYS_OF[group];
  const any = pool(...ALL_KEYS);
  if (own === undefined) return any;
  return fc.oneof({ weight: 8, arbitrary: pool(...own) }, { weight: 1, arbitrary: any });
}
