// Requests that once ended the server, showed one client's data to another or stalled all clients.
import { MIB, range, streamRequest, text } from '../tools.js';
import { request } from '../wire.js';

const PUSH_4500 = `local v = string.rep('x', 1048576)
for i = 1, 4500 do redis.call('RPUSH', KEYS[1], v) end return 1`;
const PUBLISH_MIB = `local v = string.rep('x', 1048576)
for i = 1, ARGV[1] do redis.call('PUBLISH', 'news', v) end return 1`;
const ENDLESS = request('EVAL', 'while true do end', '0');

export const ISSUE_ATTACKS = [
  {
    name: 'blocked-pop-of-4-gb',
    family: 'output',
    what: 'BLMPOP is served 4,500 values of 1 MiB, then somebody publishes to a subscriber.',
    noRedis: 'needs 9 GB there',
    async run(context) {
      const [blocked, subscriber, writer] = await context.clients(3);
      await blocked.send('BLMPOP', '0', '1', 'L', 'LEFT', 'COUNT', '4500');
      await subscriber.call('SUBSCRIBE', 'news');
      const before = subscriber.receivedBytes;
      await writer.call('EVAL', PUSH_4500, '1', 'L');
      await writer.call('PUBLISH', 'news', 'short');
      await context.pause(300);
      const bytes = subscriber.receivedBytes - before;
      context.check(bytes <= 64, `the subscriber received ${bytes} bytes for a message of 5`);
    },
  },
  {
    name: 'mget-4-gb-reply',
    family: 'output',
    what: 'MGET asks 4,600 times for a value of 1 MiB in 40 kB.',
    quick: true,
    async run(context) {
      const client = await context.client();
      // A buffer that doubles from this first value has 22 bytes left when it can grow no further: too
      // few for an error reply.
      await client.call('SET', 'a', text(19_963));
      await client.call('SET', 'b', text(MIB));
      await client.call('MGET', 'a', ...range(4599, () => 'b'));
    },
  },
  {
    name: 'lua-publishes-4-gb-unread',
    family: 'output',
    what: 'A script publishes 4,200 messages of 1 MiB to a subscriber that does not read.',
    quick: true,
    async run(context) {
      const [subscriber, writer] = await context.clients(2);
      await subscriber.call('SUBSCRIBE', 'news');
      subscriber.stopReading();
      await writer.call('EVAL', PUBLISH_MIB, '0', '4200');
    },
  },
  {
    name: 'cjson-encode-150-mb-of-quotes',
    family: 'lua',
    what: 'cjson.encode escapes 150 MB of quotes: the result is twice as long.',
    quick: true,
    async run(context) {
      const client = await context.client();
      await client.call('EVAL', 'return #cjson.encode(ARGV[1])', '0', text(150 * MIB, '"'));
    },
  },
  {
    name: 'monitor-of-150-mb-of-nul',
    family: 'output',
    what: 'MONITOR prints a value of 150 MB of NUL, four characters for each byte.',
    quick: true,
    async run(context) {
      const [monitor, writer] = await context.clients(2);
      await monitor.call('MONITOR');
      await writer.call('SET', 'k', text(150 * MIB, '\0'));
    },
  },
  {
    name: '113-million-empty-arguments',
    family: 'requests',
    what: 'One request holds 113 million empty arguments.',
    seconds: 40,
    async run(context) {
      const client = await context.client();
      const count = 113_000_000;
      await client.write(Buffer.from(`*${count + 1}\r\n$3\r\nDEL\r\n`));
      const chunk = Buffer.from('$0\r\n\r\n'.repeat(100_000));
      for (let sent = 0; sent < count && !client.isClosed && !context.isOver; sent += 100_000) {
        await client.write(chunk);
      }
      await client.receive(1);
    },
  },
  {
    name: 'setrange-9-values-of-512-mb',
    family: 'fill',
    what: 'SETRANGE makes nine values of 512 MB from a few bytes, GETRANGE reads one.',
    async run(context) {
      const client = await context.client();
      for (const index of range(9)) await client.call('SETRANGE', `k${index}`, '536870800', 'x');
      await client.call('GETRANGE', 'k0', '0', '10');
    },
  },
  {
    name: 'lua-reply-shared-table-2-to-the-40',
    family: 'lua',
    what: 'A script returns 40 nested tables, each of which holds the next one twice.',
    async run(context) {
      const client = await context.client();
      await client.call('EVAL', 'local t={1} for i=1,40 do t={t,t} end return t', '0');
    },
  },
  {
    name: 'debtors-of-240-mb-and-ten-readers',
    family: 'output',
    what: 'Four clients leave 240 MB unread; ten others read 4 MB each and must not be closed.',
    async run(context) {
      const [writer, ...debtors] = await context.clients(5);
      await writer.call('SET', 'large', text(240 * MIB));
      await writer.call('SET', 'small', text(4 * MIB));
      for (const debtor of debtors) {
        debtor.stopReading();
        await debtor.send('GET', 'large');
      }
      await context.pause(1000);
      const readers = await context.clients(10);
      await Promise.all(readers.map((reader) => reader.call('GET', 'small')));
      const closed = readers.filter(({ isClosed }) => isClosed).length;
      context.check(closed === 0, `${closed} of 10 clients that read were closed`);
    },
  },
  {
    name: 'lua-publishes-a-million',
    family: 'lua',
    what: 'A script publishes a million short messages to one subscriber that reads.',
    async run(context) {
      const [subscriber, writer] = await context.clients(2);
      await subscriber.call('SUBSCRIBE', 'news');
      await writer.call('EVAL', "for i=1,1e6 do redis.call('PUBLISH','news','hello') end", '0');
    },
  },
  {
    name: 'lua-million-calls-beside-monitor',
    family: 'lua',
    what: 'A script calls a million commands while a client that reads runs MONITOR.',
    async run(context) {
      const [monitor, writer] = await context.clients(2);
      await monitor.call('MONITOR');
      await writer.call('EVAL', "for i=1,1e6 do redis.call('PUBLISH','news','hello') end", '0');
    },
  },
  {
    name: 'publish-100-mb-to-40-subscribers',
    family: 'output',
    what: 'A hundred messages of 1 MiB go to 40 subscribers, half of which do not read.',
    async run(context) {
      const [writer, ...subscribers] = await context.clients(41);
      await Promise.all(subscribers.map((subscriber) => subscriber.call('SUBSCRIBE', 'news')));
      for (const subscriber of subscribers.slice(20)) subscriber.stopReading();
      await writer.call('EVAL', PUBLISH_MIB, '0', '100');
    },
  },
  {
    name: 'three-endless-scripts-in-one-write',
    family: 'time',
    what: 'One write holds three endless scripts.',
    noRedis: 'never ends there',
    quick: true,
    async run(context) {
      const client = await context.client();
      await client.sendEncoded(Buffer.concat([ENDLESS, ENDLESS, ENDLESS]), 3);
      await client.receiveAll();
    },
  },
  {
    name: 'thousand-endless-scripts-in-one-write',
    family: 'time',
    what: 'One write holds a thousand endless scripts; the client then leaves.',
    noRedis: 'never ends there',
    async run(context) {
      const client = await context.client();
      await client.sendEncoded(Buffer.concat(range(1000, () => ENDLESS)), 1000);
      await context.pause(10_000);
    },
  },
  ...[
    ['unknown-command-of-40-mb', () => [text(40 * MIB, 'aA')]],
    ['option-word-of-250-mb', () => ['SET', 'k', 'v', text(250 * MIB, 'aA')]],
    ['unknown-subcommand-of-40-mb', () => ['CLIENT', text(40 * MIB, 'aA')]],
  ].map(([name, args]) => ({
    name,
    family: 'requests',
    what: 'A word that the server compares without regard to case is tens of MB long.',
    quick: name === 'unknown-command-of-40-mb',
    async run(context) {
      const client = await context.client();
      await client.call(...args());
    },
  })),
  ...[
    ['keys-pattern-25-kb-of-key-50-kb', 25_000, 50_000],
    ['keys-pattern-100-kb-of-key-1-mb', 100_000, MIB],
  ].map(([name, patternBytes, keyBytes]) => ({
    name,
    family: 'time',
    what: 'KEYS compares a long pattern with a long key that matches it up to the last byte.',
    async run(context) {
      const client = await context.client();
      await client.call('SET', text(keyBytes, 'a'), '1');
      await client.call('KEYS', `*${'a'.repeat(patternBytes)}b`);
    },
  })),
  {
    name: 'sadd-1-million-in-one-command',
    family: 'time',
    what: 'SADD adds a million members in one command.',
    async run(context) {
      const client = await context.client();
      await streamRequest(client, ['SADD', 'set'], 1_000_000, (index) => `member:${index}`);
      await client.receive(1);
    },
  },
  {
    name: 'sort-1-million',
    family: 'time',
    what: 'SORT ALPHA orders a list of a million elements.',
    async run(context) {
      const client = await context.client();
      await client.call(
        'EVAL',
        "for i=1,1000 do local t={} for j=1,1000 do t[j]=tostring((i*7919+j*104729)%1000003) end redis.call('RPUSH','l',unpack(t)) end",
        '0',
      );
      await client.call('SORT', 'l', 'ALPHA');
    },
  },
  {
    name: 'thousand-slow-readers-of-1-mb',
    family: 'output',
    what: 'A thousand clients ask for 1 to 3 MB and read it slowly.',
    async run(context) {
      const [writer, ...readers] = await context.clients(1001);
      for (const size of [1, 2, 3]) await writer.call('SET', `v${size}`, text(size * MIB));
      await Promise.all(
        readers.map((reader, index) => {
          reader.stopReading();
          return reader.send('GET', `v${1 + (index % 3)}`);
        }),
      );
      await context.pause(2000);
      for (const reader of readers) {
        reader.readAgain();
        await context.pause(1);
      }
      await context.pause(1000);
    },
  },
];
