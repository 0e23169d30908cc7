// Fills the server by every way to make it keep something, until it refuses. Reads and DEL must go on.
import { flood, GIB, MIB, range, text } from '../tools.js';

const SMALL = 'x'.repeat(10);
const LARGE = text(64 * 1024);
const HUGE = text(MIB);

/** Rows: name, requests, and what is sent once before them. */
const ROWS = [
  ['set-small', (i) => ['SET', `key:${i}`, SMALL]],
  ['set-64-kb', (i) => ['SET', `key:${i}`, LARGE]],
  ['set-1-mb', (i) => ['SET', `key:${i}`, HUGE]],
  ['set-with-expiry', (i) => ['SET', `key:${i}`, SMALL, 'PX', '1000000']],
  ['set-long-names', (i) => ['SET', `${i}:${'n'.repeat(2000)}`, '']],
  ['mset', (i) => ['MSET', ...range(200, (j) => (j % 2 === 0 ? `key:${i}:${j}` : SMALL))]],
  ['append-small-pieces', () => ['APPEND', 'key', SMALL]],
  ['append-to-many', (i) => ['APPEND', `key:${i % 100_000}`, SMALL]],
  ['setrange-sparse', (i) => ['SETRANGE', `key:${i}`, '1000000', 'x']],
  ['setrange-growing', (i) => ['SETRANGE', 'key', String(i * 1000), 'x']],
  ['incr', (i) => ['INCR', `key:${i}`]],
  ['lpush-one-list', () => ['LPUSH', 'list', SMALL]],
  ['rpush-long-elements', () => ['RPUSH', 'list', LARGE]],
  ['rpush-many-lists', (i) => ['RPUSH', `list:${i}`, SMALL]],
  [
    'linsert',
    (i) => (i === 0 ? ['RPUSH', 'list', 'pivot'] : ['LINSERT', 'list', 'BEFORE', 'pivot', SMALL]),
  ],
  ['sadd-one-set', (i) => ['SADD', 'set', `member:${i}`]],
  ['sadd-integers', (i) => ['SADD', 'set', String(i)]],
  ['sadd-many-sets', (i) => ['SADD', `set:${i}`, SMALL]],
  ['hset-one-hash', (i) => ['HSET', 'hash', `field:${i}`, SMALL]],
  ['hset-many-hashes', (i) => ['HSET', `hash:${i}`, 'field', SMALL]],
  ['zadd-one-set', (i) => ['ZADD', 'zset', String(i), `member:${i}`]],
  ['zadd-many-sets', (i) => ['ZADD', `zset:${i}`, '1', SMALL]],
  ['copy', (i) => (i === 0 ? ['SET', 'key', HUGE] : ['COPY', 'key', `copy:${i}`])],
  [
    'copy-of-a-list',
    (i) => ['COPY', 'big-list', `copy:${i}`],
    ['RPUSH', 'big-list', ...range(1000)],
  ],
  [
    'sunionstore',
    (i) => ['SUNIONSTORE', `copy:${i}`, 'big-set'],
    ['SADD', 'big-set', ...range(1000, (i) => `m${i}`)],
  ],
  [
    'zunionstore',
    (i) => ['ZUNIONSTORE', `copy:${i}`, '1', 'big-zset'],
    ['ZADD', 'big-zset', ...range(2000)],
  ],
  [
    'zrangestore',
    (i) => ['ZRANGESTORE', `copy:${i}`, 'big-zset', '0', '-1'],
    ['ZADD', 'big-zset', ...range(2000)],
  ],
  [
    'sort-store',
    (i) => ['SORT', 'big-list', 'STORE', `copy:${i}`],
    ['RPUSH', 'big-list', ...range(1000)],
  ],
  ['lua-set', (i) => ['EVAL', "for i=1,1000 do redis.call('SET',ARGV[1]..':'..i,'x') end", '0', i]],
  ['lua-set-large', (i) => ['EVAL', "redis.call('SET',ARGV[1],string.rep('x',1048576))", '0', i]],
  ['eval-of-new-sources', (i) => ['EVAL', `return ${i} -- ${'c'.repeat(500)}`, '0']],
  ['script-load-small', (i) => ['SCRIPT', 'LOAD', `return ${i}`]],
  ['script-load-large', (i) => ['SCRIPT', 'LOAD', `return '${i}${'s'.repeat(100_000)}'`]],
  ['script-load-code', (i) => ['SCRIPT', 'LOAD', `return ${i}${'+ARGV[1]'.repeat(2000)}`]],
  ['subscribe-many-channels', (i) => ['SUBSCRIBE', `channel:${i}`]],
  ['ssubscribe-many-channels', (i) => ['SSUBSCRIBE', `channel:${i}`]],
  ['psubscribe-many-patterns', (i) => ['PSUBSCRIBE', `pattern:${i}:*`]],
  ['subscribe-long-names', (i) => ['SUBSCRIBE', `${i}:${'n'.repeat(100_000)}`]],
  ['watch-many-keys', (i) => ['WATCH', `key:${i}`]],
  ['watch-long-keys', (i) => ['WATCH', `${i}:${'n'.repeat(100_000)}`]],
  ['multi-queue-small', (i) => (i === 0 ? ['MULTI'] : ['SET', `key:${i}`, SMALL])],
  ['multi-queue-large', (i) => (i === 0 ? ['MULTI'] : ['SET', 'key', LARGE])],
  ['client-setname-long', () => ['CLIENT', 'SETNAME', 'n'.repeat(1_000_000)]],
];

const HOLDFAST_ROWS = [
  [
    'wills-of-one-session',
    (i) =>
      i === 0 ? ['HOLDFAST.SESSION', 's'] : ['HOLDFAST.WILL', 'SET', 's', `will:${i}`, 'DEL', 'k'],
  ],
  [
    'wills-large',
    (i) =>
      i === 0
        ? ['HOLDFAST.SESSION', 's']
        : ['HOLDFAST.WILL', 'SET', 's', `will:${i}`, 'SET', 'k', LARGE],
  ],
];

function fillAttack([name, args, before]) {
  return {
    name: `fill-${name}`,
    family: 'fill',
    what: `Sends ${args(1)[0]} until the server refuses; reads and DEL must go on.`,
    seconds: 60,
    async run(context) {
      const client = await context.client();
      if (before) await client.call(...before);
      // Redis has no limit by default; a part of the load shows what it does with each request.
      const bytes = context.kind === 'redis' ? GIB / 2 : 3 * GIB;
      const sent = await flood(context, client, args, { bytes });
      context.note(`${sent} requests, then ${endOf(context, client)}`);
      await readsGoOn(context);
    },
  };
}

function endOf({ isOver }, client) {
  if (client.lastError !== '') return client.lastError;
  if (isOver) return 'the time was over';
  return client.isClosed ? 'the server closed the client' : 'the limit of the attack';
}

/** A server that refuses writes must still answer reads, and DEL must make room again. */
async function readsGoOn(context) {
  if (context.isOver) return;
  const client = await context.client();
  const requests = [
    ['GET', 'no-such-key'],
    ['DEL', 'key:0'],
    ['INFO', 'memory'],
  ];
  for (const args of requests) {
    const reply = await client.call(...args);
    const isAnswered = context.isOver || (reply !== '' && !reply.startsWith('-'));
    context.check(
      isAnswered,
      `${args.join(' ')} after the fill: ${reply.slice(0, 80) || 'closed'}`,
    );
  }
}

export const FILL_ATTACKS = [
  ...ROWS.map(fillAttack),
  ...HOLDFAST_ROWS.map((row) => ({ ...fillAttack(row), noRedis: 'Holdfast only' })),
  {
    name: 'fill-wills-of-many-sessions',
    family: 'fill',
    what: 'A thousand sessions leave 30 MB of wills each.',
    noRedis: 'Holdfast only',
    async run(context) {
      for (const index of range(1000)) {
        if (context.isOver) return;
        const client = await context.client();
        await client.call('HOLDFAST.SESSION', `s${index}`);
        const args = (i) => ['HOLDFAST.WILL', 'SET', `s${index}`, `w${i}`, 'SET', 'k', HUGE];
        await flood(context, client, args, { requests: 30 });
        if (client.errors > 0) return;
      }
    },
  },
  {
    name: 'fill-blocked-clients-of-many-keys',
    family: 'fill',
    what: 'A hundred clients block on 50,000 keys each.',
    async run(context) {
      for (const client of await context.clients(100)) {
        await client.send('BLPOP', ...range(50_000, (i) => `list:${i}:${'n'.repeat(20)}`), '0');
      }
      await context.pause(3000);
    },
  },
  {
    name: 'fill-watch-from-many-clients',
    family: 'fill',
    what: 'Five hundred clients watch the same 10,000 keys, then one changes them all.',
    async run(context) {
      const keys = range(10_000, (i) => `key:${i}`);
      const [writer, ...watchers] = await context.clients(501);
      for (const watcher of watchers) await watcher.call('WATCH', ...keys);
      await writer.call('MSET', ...keys.flatMap((key) => [key, '1']));
    },
  },
  {
    name: 'fill-multi-queues-of-many-clients',
    family: 'fill',
    what: 'A thousand clients queue 4 MB each in MULTI and never run it.',
    async run(context) {
      for (const client of await context.clients(1000)) {
        if (context.isOver) return;
        await client.call('MULTI');
        for (const _ of range(4)) await client.call('SET', 'key', HUGE);
      }
    },
  },
  {
    name: 'fill-client-names-of-many-clients',
    family: 'fill',
    what: 'Two thousand clients take names of 1 MB; CLIENT LIST prints them.',
    async run(context) {
      for (const client of await context.clients(2000)) {
        if (context.isOver) return;
        await client.call('CLIENT', 'SETNAME', HUGE);
      }
      await (await context.client()).call('CLIENT', 'LIST');
    },
  },
  {
    name: 'fill-databases',
    family: 'fill',
    what: 'Fills all 16 databases and swaps them.',
    async run(context) {
      const client = await context.client();
      const args = (i) =>
        i % 1000 === 0 ? ['SELECT', (i / 1000) % 16] : ['SET', `key:${i}`, LARGE];
      await flood(context, client, args, { bytes: context.kind === 'redis' ? GIB / 2 : 3 * GIB });
      await client.call('SWAPDB', '0', '1');
      await readsGoOn(context);
    },
  },
];
