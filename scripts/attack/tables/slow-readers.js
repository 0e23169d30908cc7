// Clients that do not read, or read slowly, in every mode in which the server sends without being asked.
import { flood, MIB, range, streamRequest, text } from '../tools.js';

const LARGE = text(MIB);

/** Ways to become a receiver, and the request that sends 1 MiB to it. */
const KINDS = [
  ['subscribe', [['SUBSCRIBE', 'news']], () => ['PUBLISH', 'news', LARGE]],
  [
    'subscribe-resp3',
    [
      ['HELLO', '3'],
      ['SUBSCRIBE', 'news'],
    ],
    () => ['PUBLISH', 'news', LARGE],
  ],
  ['psubscribe', [['PSUBSCRIBE', 'n*', 'ne*', 'new*']], () => ['PUBLISH', 'news', LARGE]],
  [
    'psubscribe-resp3',
    [
      ['HELLO', '3'],
      ['PSUBSCRIBE', 'n*'],
    ],
    () => ['PUBLISH', 'news', LARGE],
  ],
  ['ssubscribe', [['SSUBSCRIBE', 'news']], () => ['SPUBLISH', 'news', LARGE]],
  ['monitor', [['MONITOR']], () => ['ECHO', LARGE]],
  ['monitor-resp3', [['HELLO', '3'], ['MONITOR']], () => ['ECHO', LARGE]],
  [
    'keyspace-events',
    [
      ['CONFIG', 'SET', 'notify-keyspace-events', 'KEA'],
      ['PSUBSCRIBE', '__key*__:*'],
    ],
    (i) => ['SET', `${i}${'n'.repeat(300_000)}`, '1'],
  ],
  [
    'reply-off-subscribe',
    [
      ['SUBSCRIBE', 'news'],
      ['UNSUBSCRIBE', 'news'],
      ['SUBSCRIBE', 'news'],
    ],
    () => ['PUBLISH', 'news', LARGE],
  ],
];

function unread([name, setUp, push]) {
  return {
    name: `unread-${name}`,
    family: 'output',
    what: `Twenty receivers do not read; ${push(0)[0]} sends 600 MB to each.`,
    async run(context) {
      const [writer, ...receivers] = await context.clients(21);
      for (const receiver of receivers) {
        // A confirmation of RESP3 is a push: it is not waited for as a reply.
        for (const args of setUp) await receiver.send(...args);
      }
      await context.pause(300);
      for (const receiver of receivers) receiver.stopReading();
      await flood(context, writer, push, { requests: 600 });
    },
  };
}

/** Requests whose replies are much larger than they are; sent by clients that do not read. */
const REPLIES = [
  ['get', 'GET', 'v'],
  ['mget', 'MGET', ...range(100, () => 'v')],
  ['getrange', 'GETRANGE', 'v', '0', '-1'],
  ['echo', 'ECHO', LARGE],
  ['lrange', 'LRANGE', 'list', '0', '-1'],
  ['smembers', 'SMEMBERS', 'set'],
  ['hgetall', 'HGETALL', 'hash'],
  ['zrange', 'ZRANGE', 'zset', '0', '-1', 'WITHSCORES'],
  ['keys', 'KEYS', '*'],
  ['scan', 'SCAN', '0', 'COUNT', '1000000'],
  ['sort', 'SORT', 'list', 'BY', 'nosort', 'GET', 'v'],
  ['command', 'COMMAND'],
  ['command-docs', 'COMMAND', 'DOCS'],
  ['client-list', 'CLIENT', 'LIST'],
  ['info', 'INFO', 'everything'],
  ['config-get', 'CONFIG', 'GET', '*'],
  ['srandmember', 'SRANDMEMBER', 'set', '-1000000'],
  ['zrandmember', 'ZRANDMEMBER', 'zset', '-1000000', 'WITHSCORES'],
  ['hrandfield', 'HRANDFIELD', 'hash', '-1000000', 'WITHVALUES'],
  [
    'evalsha-reply',
    'EVAL',
    "local t={} for i=1,100 do t[i]=redis.call('GET','v') end return t",
    '0',
  ],
];

async function load(client) {
  await client.call('SET', 'v', LARGE);
  await client.call('RPUSH', 'list', ...range(10_000));
  await client.call('SADD', 'set', ...range(10_000, (i) => `m${i}`));
  await client.call('HSET', 'hash', ...range(20_000));
  await client.call('ZADD', 'zset', ...range(20_000));
  await client.call('MSET', ...range(20_000));
}

function unreadReplies([name, ...args]) {
  return {
    name: `unread-replies-${name}`,
    family: 'output',
    what: `Ten clients pipeline ${args[0]} 500 times each and do not read.`,
    async run(context) {
      const [writer, ...receivers] = await context.clients(11);
      await load(writer);
      const sending = receivers.map(async (receiver) => {
        receiver.stopReading();
        for (const _ of range(500)) {
          if (receiver.isClosed) return;
          await receiver.send(...args);
        }
      });
      await Promise.race([Promise.all(sending), context.pause(5000)]);
      await context.pause(500);
    },
  };
}

export const SLOW_READER_ATTACKS = [
  ...KINDS.map(unread),
  ...REPLIES.map(unreadReplies),
  {
    name: 'blpop-served-500-mb-unread',
    family: 'output',
    what: 'Ten clients block on lists, are served 50 MB each and do not read.',
    async run(context) {
      const [writer, ...blocked] = await context.clients(11);
      for (const [index, client] of blocked.entries()) {
        await client.send('BLPOP', `list${index}`, '0');
        client.stopReading();
      }
      const value = text(50 * MIB);
      for (const index of range(10)) await writer.call('RPUSH', `list${index}`, value);
    },
  },
  {
    name: 'bzmpop-served-100000-unread',
    family: 'output',
    what: 'Ten clients block in BZMPOP with COUNT 100000 and do not read what they are served.',
    async run(context) {
      const [writer, ...blocked] = await context.clients(11);
      for (const client of blocked) {
        await client.send('BZMPOP', '0', '1', 'z', 'MIN', 'COUNT', '100000');
        client.stopReading();
      }
      for (const index of range(10)) {
        await streamRequest(writer, ['ZADD', 'z'], 200_000, String);
        await writer.receive(index + 1);
      }
    },
  },
  {
    name: 'reply-off-then-pipeline',
    family: 'output',
    what: 'A client turns replies off and asks for 5 GB of them.',
    async run(context) {
      const client = await context.client();
      await client.call('SET', 'v', LARGE);
      await client.send('CLIENT', 'REPLY', 'OFF');
      for (const _ of range(50))
        await client.write(Buffer.from(`*101\r\n$4\r\nMGET\r\n${'$1\r\nv\r\n'.repeat(100)}`));
      await context.pause(1000);
    },
  },
  {
    name: 'subscriber-reads-a-byte-at-a-time',
    family: 'output',
    what: 'Fifty subscribers read for a moment every 50 ms while 300 MB are published.',
    async run(context) {
      const [writer, ...subscribers] = await context.clients(51);
      for (const subscriber of subscribers) await subscriber.call('SUBSCRIBE', 'news');
      const publishing = flood(context, writer, () => ['PUBLISH', 'news', LARGE], {
        requests: 300,
      });
      const reading = (async () => {
        for (const _ of range(100)) {
          for (const subscriber of subscribers) subscriber.readAgain();
          await context.pause(2);
          for (const subscriber of subscribers) subscriber.stopReading();
          await context.pause(48);
        }
      })();
      await Promise.all([publishing, reading]);
    },
  },
  {
    name: 'thousand-subscribers-unread',
    family: 'output',
    what: 'A thousand subscribers do not read; 30 messages of 1 MiB are published.',
    async run(context) {
      const [writer, ...subscribers] = await context.clients(1001);
      await Promise.all(subscribers.map((subscriber) => subscriber.call('SUBSCRIBE', 'news')));
      for (const subscriber of subscribers) subscriber.stopReading();
      await flood(context, writer, () => ['PUBLISH', 'news', LARGE], { requests: 30 });
    },
  },
  {
    name: 'monitor-of-many-small-commands',
    family: 'output',
    what: 'Ten clients that do not read run MONITOR while another sends 500,000 commands.',
    async run(context) {
      const [writer, ...monitors] = await context.clients(11);
      for (const monitor of monitors) {
        await monitor.call('MONITOR');
        monitor.stopReading();
      }
      await flood(context, writer, (i) => ['SET', `key:${i % 100}`, i], { requests: 500_000 });
    },
  },
  {
    name: 'exec-of-4-gb-reply',
    family: 'output',
    what: 'EXEC runs 4,500 queued GETs of 1 MiB.',
    noRedis: 'needs 4.5 GB there',
    async run(context) {
      const client = await context.client();
      await client.call('SET', 'v', LARGE);
      await client.call('MULTI');
      for (const _ of range(4500)) await client.send('GET', 'v');
      await client.receiveAll();
      await client.call('EXEC');
    },
  },
  {
    name: 'exec-of-100000-keys-star',
    family: 'time',
    what: 'MULTI queues 100,000 times KEYS * over 1,000 keys.',
    async run(context) {
      const client = await context.client();
      await client.call('MSET', ...range(2000));
      await client.call('MULTI');
      await flood(context, client, () => ['KEYS', '*'], { requests: 100_000 });
      await client.call('EXEC');
    },
  },
  {
    name: 'exec-of-a-million-writes',
    family: 'time',
    what: 'MULTI queues a million SETs and runs them.',
    async run(context) {
      const client = await context.client();
      await client.call('MULTI');
      await flood(context, client, (i) => ['SET', `key:${i}`, i], { requests: 1_000_000 });
      await client.call('EXEC');
    },
  },
];
