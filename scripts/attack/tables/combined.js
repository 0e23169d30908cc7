// Commands that are harmless one by one, combined: churn at the memory limit, transactions of large values,
// scripts that are undone, exit commands, pauses and switches of the protocol inside a pipeline.
import { flood, GIB, MIB, range, text } from '../tools.js';
import { request } from '../wire.js';

const CHURN_MS = 12_000;
const MAX_ARGUMENTS = 2000;

/** Sends the requests in one write and reads the replies; errors are answers too. */
async function pipeline(client, requests) {
  await client.sendEncoded(
    Buffer.concat(requests.map((args) => request(...args))),
    requests.length,
  );
  await client.receiveAll();
}

/** Sends a request of very many arguments as several of at most 2,000 each. */
async function load(client, args) {
  const head = args[0] === 'MSET' ? 1 : 2;
  const first = args.slice(0, head);
  if (args.length <= MAX_ARGUMENTS) return client.call(...args);
  for (let at = head; at < args.length; at += MAX_ARGUMENTS) {
    await client.call(...first, ...args.slice(at, at + MAX_ARGUMENTS));
  }
}

/** Repeats `work(round)` until the time is over. */
async function during(context, ms, work) {
  const endMs = performance.now() + ms;
  for (let round = 0; performance.now() < endMs && !context.isOver; round += 1) await work(round);
}

async function fill(context, client, args) {
  // Redis has no limit by default.
  await flood(context, client, args, { bytes: context.kind === 'redis' ? GIB / 4 : 3 * GIB });
}

/** Fills the server with values of one size, then replaces and deletes them at random at the limit. */
function churn(name, bytes, { deletes = true, clients = 4 } = {}) {
  return {
    name: `churn-${name}`,
    family: 'churn',
    what: `Fills the server with values of ${bytes} bytes, then replaces them for 12 s.`,
    seconds: 60,
    async run(context) {
      const first = await context.client();
      const value = text(bytes);
      let keys = 0;
      await fill(context, first, (i) => {
        keys = i;
        return ['SET', `key:${i}`, value];
      });
      const others = await context.clients(clients);
      const count = Math.max(1, Math.min(500, Math.floor((2 * MIB) / bytes)));
      await Promise.all(
        others.map((client) =>
          during(context, CHURN_MS, () => {
            const requests = range(count, () => {
              const key = `key:${Math.floor(Math.random() * keys)}`;
              if (deletes && Math.random() < 0.3) return ['DEL', key];
              return ['SET', key, text(Math.ceil(bytes * (0.5 + Math.random())))];
            });
            return pipeline(client, requests);
          }),
        ),
      );
    },
  };
}

/**
 * Runs one script again and again, from a few clients at a time. redis-server gets one client only: it runs
 * an endless script until SCRIPT KILL. So its figure is not that of the same load.
 */
function scripts(name, what, script, { before = [], clients = 3, ms = 8000, args = ['0'] } = {}) {
  return {
    name: `scripts-${name}`,
    family: 'scripts',
    what,
    seconds: 40,
    async run(context) {
      const first = await context.client();
      for (const args of before) await load(first, args);
      const all = await context.clients(context.kind === 'redis' ? 1 : clients);
      await Promise.all(
        all.map((client) => during(context, ms, () => client.call('EVAL', script, ...args))),
      );
      context.note(`last error: ${all[0].lastError.slice(0, 100)}`);
    },
  };
}

/** One EXEC of many equal requests. */
function exec(name, what, before, requests) {
  return {
    name: `exec-${name}`,
    family: 'exec',
    what,
    seconds: 30,
    async run(context) {
      const client = await context.client();
      for (const args of before) await load(client, args);
      await client.call('MULTI');
      await flood(context, client, (i) => requests[i % requests.length], {
        requests: requests.count ?? requests.length,
      });
      const reply = await client.call('EXEC');
      context.note(`EXEC: ${JSON.stringify(reply.slice(0, 60))}`);
    },
  };
}

function repeated(count, ...requests) {
  return Object.assign(requests, { count });
}

const members = (count) => range(count, (i) => `member:${i}`);

export const COMBINED_ATTACKS = [
  churn('values-of-100-bytes', 100),
  churn('values-of-10-kb', 10_000),
  churn('values-of-100-kb', 100_000),
  churn('values-below-1-mb', MIB - 100),
  churn('values-above-1-mb', MIB + 100),
  churn('values-of-20-mb', 20 * MIB, { clients: 2 }),
  churn('replaced-values-of-100-kb', 100_000, { deletes: false }),
  {
    name: 'churn-lists-at-the-limit',
    family: 'churn',
    what: 'Fills lists, then rotates, pops and pushes elements of 1 kB for 12 s.',
    seconds: 60,
    async run(context) {
      const client = await context.client();
      const value = text(1000);
      await fill(context, client, (i) => ['RPUSH', `list:${i % 50}`, value]);
      await during(context, CHURN_MS, (round) =>
        pipeline(
          client,
          range(500, (i) => {
            const key = `list:${(round + i) % 50}`;
            return [
              ['LMOVE', key, `list:${i % 50}`, 'LEFT', 'RIGHT'],
              ['LPOP', key],
              ['RPUSH', key, value],
            ][i % 3];
          }),
        ),
      );
    },
  },
  {
    name: 'churn-hashes-at-the-limit',
    family: 'churn',
    what: 'Fills hashes and sorted sets, then replaces fields and members for 12 s.',
    seconds: 60,
    async run(context) {
      const client = await context.client();
      await fill(context, client, (i) =>
        i % 2 ? ['HSET', `h${i % 1000}`, `f${i}`, i] : ['ZADD', `z${i % 1000}`, i, `m${i}`],
      );
      await during(context, CHURN_MS, () =>
        pipeline(
          client,
          range(1000, (i) => {
            const n = Math.floor(Math.random() * 1e6);
            if (i % 4 === 0) return ['HDEL', `h${n % 1000}`, `f${n}`];
            if (i % 4 === 1) return ['ZREM', `z${n % 1000}`, `m${n}`];
            return i % 4 === 2
              ? ['HSET', `h${n % 1000}`, `f${n}`, n]
              : ['ZADD', `z${n % 1000}`, n, `m${n}`];
          }),
        ),
      );
    },
  },
  {
    name: 'churn-append-and-setrange',
    family: 'churn',
    what: 'APPEND and SETRANGE alternate on values of 5 MB, with GETRANGE of one byte between them.',
    seconds: 40,
    async run(context) {
      const clients = await context.clients(4);
      await Promise.all(
        clients.map((client, c) =>
          during(context, 10_000, (round) =>
            pipeline(client, [
              ...range(50, (i) => [
                ['APPEND', `v${c}`, text(1000)],
                ['SETRANGE', `v${c}`, String((i * 7919) % 5_000_000), 'yy'],
                ['GETRANGE', `v${c}`, '4999999', '4999999'],
              ]).flat(),
              ...(round % 20 === 19 ? [['DEL', `v${c}`]] : []),
            ]),
          ),
        ),
      );
    },
  },
  {
    name: 'churn-reconnect-while-full',
    family: 'churn',
    what: 'A full server: clients come, send 200 kB of a request, leave, and others are evicted.',
    seconds: 60,
    async run(context) {
      const client = await context.client();
      await fill(context, client, (i) => ['SET', `key:${i}`, text(100_000)]);
      await during(context, 10_000, async () => {
        const clients = await context.clients(100);
        await Promise.all(
          clients.map((each) =>
            each.write(Buffer.from('*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9000000\r\n'), text(200_000)),
          ),
        );
        for (const each of clients) each.close();
      });
    },
  },
  {
    name: 'churn-expiry-at-the-limit',
    family: 'churn',
    what: 'Keys of 1 kB that end after 50 ms are written as fast as possible by four clients.',
    seconds: 40,
    async run(context) {
      const clients = await context.clients(4);
      const value = text(1000);
      await Promise.all(
        clients.map((client, c) =>
          during(context, 10_000, (round) =>
            pipeline(
              client,
              range(500, (i) => ['SET', `k${c}:${round}:${i}`, value, 'PX', '50']),
            ),
          ),
        ),
      );
    },
  },
  exec(
    'copies-of-large-values',
    'EXEC of 2,000 COPY of a value of 4 MB to two keys.',
    [['SET', 'v', text(4 * MIB)]],
    repeated(2000, ['COPY', 'v', 'a', 'REPLACE'], ['COPY', 'v', 'b', 'REPLACE']),
  ),
  exec(
    'copies-of-a-set',
    'EXEC of 200 COPY of a set of 100,000 members to one key.',
    [['SADD', 's', ...members(100_000)]],
    repeated(200, ['COPY', 's', 'a', 'REPLACE']),
  ),
  exec(
    'renames-of-a-large-list',
    'EXEC of 100,000 RENAMEs of a list of 100,000.',
    [['RPUSH', 'a', ...members(100_000)]],
    repeated(100_000, ['RENAME', 'a', 'b'], ['RENAME', 'b', 'a']),
  ),
  exec(
    'flush-and-swap',
    'EXEC of 50,000 SWAPDB, FLUSHDB and SELECT.',
    [['MSET', ...members(100_000)]],
    repeated(50_000, ['SWAPDB', '0', '1'], ['FLUSHDB'], ['SELECT', '3'], ['SET', 'k', 'v']),
  ),
  exec(
    'subscribe-in-exec',
    'EXEC of 20,000 SUBSCRIBE and PUBLISH to oneself.',
    [['HELLO', '3']],
    repeated(20_000, ['SUBSCRIBE', 'n'], ['PUBLISH', 'n', 'x'.repeat(2000)]),
  ),
  exec(
    'hello-switches',
    'EXEC of 20,000 HELLO 2, HELLO 3 and HGETALL.',
    [['HSET', 'h', ...members(1000)]],
    repeated(20_000, ['HELLO', '3'], ['HGETALL', 'h'], ['HELLO', '2'], ['HGETALL', 'h']),
  ),
  exec(
    'hrandfield-negative',
    'EXEC of 100 HRANDFIELD h -1000000 WITHVALUES.',
    [['HSET', 'h', ...members(100)]],
    repeated(100, ['HRANDFIELD', 'h', '-1000000', 'WITHVALUES']),
  ),
  exec(
    'slow-reads',
    'EXEC of 200 SORT of a list of 50,000.',
    [['RPUSH', 'l', ...range(50_000)]],
    repeated(200, ['SORT', 'l', 'DESC', 'LIMIT', '0', '1']),
  ),
  exec(
    'scripts',
    'EXEC of 1,000 endless scripts.',
    [],
    repeated(1000, ['EVAL', 'while true do end', '0']),
  ),
  exec(
    'incrbyfloat',
    'EXEC of 100,000 INCRBYFLOAT with long numbers.',
    [],
    repeated(
      100_000,
      ['INCRBYFLOAT', 'f', `0.${'1'.repeat(17)}`],
      ['INCRBYFLOAT', 'f', '1e300'],
      ['DEL', 'f'],
    ),
  ),
  exec(
    'lpos-of-all',
    'EXEC of 50 LPOS COUNT 0 over 200,000 equal elements.',
    [['RPUSH', 'l', ...range(200_000, () => 'x')]],
    repeated(50, ['LPOS', 'l', 'x', 'COUNT', '0']),
  ),
  {
    name: 'sort-by-long-equal-weights',
    family: 'time',
    what: 'SORT BY with two weights of 1 MB that differ in their last byte, 2,000 elements.',
    async run(context) {
      const client = await context.client();
      await load(client, ['RPUSH', 'l', ...range(2000, (i) => (i % 2 ? 'a' : 'b'))]);
      await client.call('SET', 'w_a', Buffer.concat([text(MIB), text(1, 'a')]));
      await client.call('SET', 'w_b', Buffer.concat([text(MIB), text(1, 'b')]));
      await client.call('SORT', 'l', 'BY', 'w_*', 'ALPHA', 'LIMIT', '0', '1');
    },
  },
  {
    name: 'sort-by-long-numbers',
    family: 'time',
    what: 'SORT BY weights that are numbers of 1 MB, 2,000 elements.',
    async run(context) {
      const client = await context.client();
      await load(client, ['RPUSH', 'l', ...range(2000, (i) => (i % 2 ? 'a' : 'b'))]);
      await client.call('SET', 'w_a', text(MIB, '1'));
      await client.call('SET', 'w_b', text(MIB, '0'));
      const reply = await client.call('SORT', 'l', 'BY', 'w_*', 'LIMIT', '0', '1');
      context.note(`reply: ${JSON.stringify(reply.slice(0, 80))}`);
    },
  },
  {
    name: 'sort-get-many-patterns',
    family: 'time',
    what: 'SORT of 20,000 elements with 200 GET patterns of 1,000 bytes.',
    async run(context) {
      const client = await context.client();
      await load(client, ['RPUSH', 'l', ...range(20_000)]);
      const gets = range(200, (i) => ['GET', `${'p'.repeat(1000)}${i}*`]).flat();
      const reply = await client.call('SORT', 'l', ...gets);
      context.note(`reply: ${JSON.stringify(reply.slice(0, 80))}`);
    },
  },
  {
    name: 'sort-get-long-values-store',
    family: 'fill',
    what: 'SORT GET STORE of one value of 1 MB for each of 10,000 elements, ten times.',
    async run(context) {
      const client = await context.client();
      await load(client, [
        'RPUSH',
        'l',
        ...range(context.kind === 'redis' ? 500 : 10_000, () => 'a'),
      ]);
      await client.call('SET', 'v_a', text(MIB));
      for (const i of range(10))
        await client.call('SORT', 'l', 'BY', 'x', 'GET', 'v_*', 'STORE', `d${i}`);
      context.note(`last error: ${client.lastError}`);
    },
  },
  {
    name: 'set-algebra-of-many-keys',
    family: 'time',
    what: 'SINTER, SUNION, SDIFF and ZUNIONSTORE that name one set of 5,000 members 3,000 times.',
    async run(context) {
      const client = await context.client();
      await load(client, ['SADD', 's', ...members(5000)]);
      const keys = range(3000, () => 's');
      for (const command of ['SINTER', 'SUNION', 'SDIFF']) await client.call(command, ...keys);
      await client.call('SINTERCARD', '3000', ...keys);
      await client.call('ZUNIONSTORE', 'd', '3000', ...keys);
      await client.call('ZINTER', '3000', ...keys, 'WITHSCORES');
    },
  },
  {
    name: 'pause-with-pipelines',
    family: 'time',
    what: 'CLIENT PAUSE for 2 s; 500 clients pipeline 400 SETs of 2 kB each meanwhile.',
    async run(context) {
      const [admin, ...clients] = await context.clients(501);
      await admin.call('CLIENT', 'PAUSE', '2000', 'WRITE');
      const requests = range(400, (i) => ['SET', `k${i}`, text(2000)]);
      await Promise.all(clients.map((client) => pipeline(client, requests)));
    },
  },
  {
    name: 'pause-again-and-again',
    family: 'time',
    what: 'One write holds 20,000 times CLIENT PAUSE 1 WRITE, SET and CLIENT UNPAUSE.',
    async run(context) {
      const clients = await context.clients(10);
      const requests = range(
        20_000,
        (i) =>
          [
            ['CLIENT', 'PAUSE', '1', 'WRITE'],
            ['CLIENT', 'UNPAUSE'],
            ['SET', 'k', i],
          ][i % 3],
      );
      await Promise.all(clients.map((client) => pipeline(client, requests)));
    },
  },
  {
    name: 'reply-modes-in-pipelines',
    family: 'output',
    what: 'CLIENT REPLY SKIP, OFF and ON, HELLO 2 and 3 and pushes to oneself in one pipeline of 60,000.',
    async run(context) {
      const client = await context.client();
      const publisher = await context.client();
      const requests = range(10_000, () => [
        ['HELLO', '3'],
        ['SUBSCRIBE', 'n'],
        ['CLIENT', 'REPLY', 'SKIP'],
        ['PUBLISH', 'n', 'x'.repeat(300)],
        ['UNSUBSCRIBE', 'n'],
        ['HELLO', '2'],
      ]).flat();
      client.write(Buffer.concat(requests.map((args) => request(...args))));
      await flood(context, publisher, () => ['PUBLISH', 'n', 'y'.repeat(300)], {
        requests: 20_000,
      });
      await context.pause(2000);
    },
  },
  {
    name: 'wills-that-publish',
    family: 'time',
    what: 'A session leaves 20,000 wills that publish 1 kB to 20 subscribers, then ends.',
    noRedis: 'Holdfast only',
    async run(context) {
      const [owner, ...subscribers] = await context.clients(21);
      for (const subscriber of subscribers) await subscriber.call('SUBSCRIBE', 'n');
      await owner.call('HOLDFAST.SESSION', 's');
      await flood(
        context,
        owner,
        (i) => ['HOLDFAST.WILL', 'SET', 's', `w${i}`, 'PUBLISH', 'n', 'x'.repeat(1000)],
        { requests: 20_000 },
      );
      context.note(`last error: ${owner.lastError}`);
      owner.close();
      await context.pause(5000);
    },
  },
  {
    name: 'wills-that-run-endless-scripts',
    family: 'time',
    what: 'Ten sessions leave 50 endless scripts each and end together.',
    noRedis: 'Holdfast only',
    async run(context) {
      const owners = await context.clients(10);
      for (const [s, owner] of owners.entries()) {
        await owner.call('HOLDFAST.SESSION', `s${s}`);
        await flood(
          context,
          owner,
          (i) => ['HOLDFAST.WILL', 'SET', `s${s}`, `w${i}`, 'EVAL', 'while true do end', '0'],
          { requests: 50 },
        );
        if (s === 0) context.note(`last error: ${owner.lastError}`);
      }
      for (const owner of owners) owner.close();
      await context.pause(10_000);
    },
  },
  {
    name: 'wills-that-fill',
    family: 'fill',
    what: 'Sessions leave wills that write values of 1 MB and copies of them, and end.',
    noRedis: 'Holdfast only',
    async run(context) {
      for (const s of range(60)) {
        if (context.isOver) return;
        const owner = await context.client();
        await owner.call('HOLDFAST.SESSION', `s${s}`);
        await flood(
          context,
          owner,
          (i) =>
            i < 20
              ? ['HOLDFAST.WILL', 'SET', `s${s}`, `w${i}`, 'SET', `k${s}:${i}`, text(MIB)]
              : [
                  'HOLDFAST.WILL',
                  'SET',
                  `s${s}`,
                  `w${i}`,
                  'EVAL',
                  `redis.call('SET',KEYS[1],string.rep('x',4e6))`,
                  '1',
                  `c${s}:${i}`,
                ],
          { requests: 40 },
        );
        owner.close();
      }
      await context.pause(3000);
    },
  },
  {
    name: 'watch-block-kill',
    family: 'connections',
    what: 'Transactions that watch, push to blocked clients and kill them, 5,000 times.',
    async run(context) {
      const [writer, killer] = await context.clients(2);
      for (const _ of range(25)) {
        if (context.isOver) return;
        const blocked = await context.clients(100);
        const ids = [];
        for (const client of blocked) {
          ids.push((await client.call('CLIENT', 'ID')).slice(1, -2));
          await client.call('WATCH', 'l');
          client.send('BLMOVE', 'l', 'm', 'LEFT', 'RIGHT', '0');
        }
        await writer.call('MULTI');
        for (const id of ids) {
          writer.send('RPUSH', 'l', 'a', 'b', 'c');
          writer.send('CLIENT', 'KILL', 'ID', id);
          writer.send('LPOP', 'm');
        }
        await writer.call('EXEC');
        await killer.call('DEL', 'l', 'm');
      }
    },
  },
  {
    name: 'keyspace-events-times-patterns',
    family: 'time',
    what: '50 clients with 200 patterns each receive the keyspace events of a script of 20,000 writes.',
    async run(context) {
      const [admin, ...subscribers] = await context.clients(51);
      await admin.call('CONFIG', 'SET', 'notify-keyspace-events', 'KEA');
      for (const subscriber of subscribers) {
        await subscriber.call(
          'PSUBSCRIBE',
          ...range(200, (i) => `__key*__:*${'?'.repeat(i % 5)}*`),
        );
      }
      await admin.call('EVAL', "for i=1,20000 do redis.call('SET','k'..i,i) end", '0');
      await flood(
        context,
        admin,
        (i) => ['MSET', ...members(200).flatMap((m) => [`${m}:${i}`, 'x'])],
        { requests: 10 },
      );
    },
  },
  {
    name: 'admin-floods',
    family: 'time',
    what: 'Eight clients pipeline INFO, COMMAND DOCS, CONFIG GET *, MEMORY, OBJECT, LATENCY and SLOWLOG.',
    async run(context) {
      const clients = await context.clients(8);
      await clients[0].call('CONFIG', 'SET', 'slowlog-log-slower-than', '0');
      await load(clients[0], ['SADD', 's', ...members(200_000)]);
      const kinds = [
        ['INFO', 'everything'],
        ['COMMAND', 'DOCS'],
        ['COMMAND'],
        ['CONFIG', 'GET', '*'],
        ['MEMORY', 'USAGE', 's', 'SAMPLES', '0'],
        ['MEMORY', 'STATS'],
        ['MEMORY', 'DOCTOR'],
        ['OBJECT', 'ENCODING', 's'],
        ['LATENCY', 'HISTOGRAM'],
        ['LATENCY', 'GRAPH', 'command'],
        ['SLOWLOG', 'GET', '-1'],
        ['CLIENT', 'LIST'],
        ['DEBUG', 'OBJECT', 's'],
      ];
      await Promise.all(
        clients.map((client) =>
          pipeline(
            client,
            range(1300, (i) => kinds[i % kinds.length]),
          ),
        ),
      );
    },
  },
  {
    name: 'slowlog-of-huge-arguments',
    family: 'fill',
    what: 'SLOWLOG and LATENCY keep commands of 30 long arguments, with a length of 10 million.',
    async run(context) {
      const client = await context.client();
      await client.call('CONFIG', 'SET', 'slowlog-log-slower-than', '0');
      await client.call('CONFIG', 'SET', 'slowlog-max-len', '10000000');
      const big = text(100_000);
      for (const _ of range(20)) await client.call('DEL', ...range(30, () => big));
      await flood(
        context,
        client,
        (i) => ['DEL', ...range(31, (j) => `${i}:${j}:${'x'.repeat(115)}`)],
        { bytes: context.kind === 'redis' ? GIB / 8 : GIB },
      );
      const reply = await client.call('SLOWLOG', 'LEN');
      context.note(`slowlog: ${reply.trim()} entries`);
      await client.call('SLOWLOG', 'GET', '-1');
    },
  },
  {
    name: 'expireat-in-the-past',
    family: 'time',
    what: 'A script gives 200,000 keys a deadline in the past, then far beyond the end of time.',
    async run(context) {
      const client = await context.client();
      await flood(context, client, (i) => ['SET', `k${i}`, i], { requests: 200_000 });
      await flood(context, client, (i) => ['EXPIREAT', `k${i}`, i % 2 ? '1' : '9223372036854775'], {
        requests: 200_000,
      });
      await flood(context, client, (i) => ['PEXPIRE', `k${i}`, '9223372036854775807'], {
        requests: 1000,
      });
    },
  },
  {
    name: 'replies-stopped-in-the-middle',
    family: 'output',
    what: 'Three hundred clients stop reading in the middle of a reply of 3 MB, half close, and go on later.',
    async run(context) {
      const [writer, ...clients] = await context.clients(301);
      await writer.call('SET', 'v', text(3 * MIB));
      for (const client of clients) {
        await client.send('GET', 'v');
        client.stopReading();
        client.send('GET', 'v');
        client.halfClose();
      }
      await context.pause(1000);
      await during(context, 5000, async () => {
        for (const client of clients) client.readAgain();
        await context.pause(1);
        for (const client of clients) client.stopReading();
        await context.pause(20);
      });
    },
  },
  {
    name: 'list-ring',
    family: 'time',
    what: 'LMOVE and RPOPLPUSH turn a list of 200,000 in pipelines of eight clients.',
    async run(context) {
      const clients = await context.clients(8);
      await load(clients[0], ['RPUSH', 'l', ...range(200_000)]);
      const requests = range(50_000, (i) =>
        i % 2 ? ['LMOVE', 'l', 'l', 'LEFT', 'RIGHT'] : ['RPOPLPUSH', 'l', 'l'],
      );
      await Promise.all(clients.map((client) => pipeline(client, requests)));
    },
  },
  scripts(
    'endless-from-twenty-clients',
    'Twenty clients send an endless script again and again.',
    'while true do end',
    { clients: 20 },
  ),
  scripts(
    'endless-after-a-write-from-twenty-clients',
    'Twenty clients send an endless script that writes again and again.',
    "while true do redis.call('INCR','n') end",
    { clients: 20 },
  ),
  scripts(
    'near-the-memory-limit',
    'Scripts that make tables up to their memory limit, without end.',
    'local t={} for i=1,1e9 do t[i]={i} end',
  ),
  scripts(
    'strings-near-the-memory-limit',
    'Scripts that make strings up to their memory limit, without end.',
    "local t={} for i=1,1e9 do t[i]=string.rep('x',1000)..i end",
  ),
  scripts(
    'large-strings-near-the-memory-limit',
    'Scripts that make strings of 1 MB up to their limit.',
    'local t={} for i=1,1e9 do t[i]=string.rep(tostring(i),150000) end',
  ),
  scripts(
    'undo-at-the-limit',
    'Scripts delete 61 of 90 values of 1 MB, write 31 again, and are undone.',
    "for i=0,60 do redis.call('DEL','key:'..i) end for i=0,30 do redis.call('SET','key:'..i,string.rep('x',1e6)) end while true do end",
    { before: range(90, (i) => ['SET', `key:${i}`, text(MIB)]) },
  ),
  scripts(
    'undo-of-flushall',
    'Scripts flush 16 databases, swap them, write and are undone.',
    "for d=0,15 do redis.call('SELECT',d) redis.call('FLUSHDB') redis.call('SWAPDB',d,(d+1)%16) for i=1,100 do redis.call('SET','k'..i,i) end end redis.call('FLUSHALL') while true do end",
    { before: [['MSET', ...members(100_000)]] },
  ),
  scripts(
    'undo-of-large-collections',
    'Scripts remove a set, sorted set and list of 50,000 element by element.',
    "while redis.call('SPOP','s') do end while #redis.call('ZPOPMIN','z')>0 do end while redis.call('LPOP','l') do end while true do end",
    {
      before: [
        ['SADD', 's', ...members(50_000)],
        ['ZADD', 'z', ...members(50_000).flatMap((m, i) => [i, m])],
        ['RPUSH', 'l', ...members(50_000)],
      ],
    },
  ),
  scripts(
    'huge-keys-and-argv',
    'Scripts with 60,000 KEYS and ARGV.',
    'local n=0 for i=1,#ARGV do n=n+#ARGV[i] end return KEYS',
    { args: ['30000', ...range(60_000, (i) => `argument:${i}`)], clients: 2 },
  ),
  scripts(
    'pcall-after-the-budget',
    'Scripts that call redis.pcall in nested loops after their budget.',
    "local function f() while true do pcall(redis.pcall,'SET','k',string.rep('x',1e5)) end end while true do pcall(f) xpcall(f,f) coroutine.wrap(f)() end",
  ),
  scripts(
    'error-objects',
    'Scripts that throw tables with metatables and huge fields.',
    "error(setmetatable({err=string.rep('x\\r\\n',3e6)},{__index=function(t,k) while true do end end,__tostring=function() while true do end end}))",
  ),
  scripts(
    'metatables-in-replies',
    'Scripts that return tables with __index and __len without end.',
    'local m={} m.__index=function(t,k) return setmetatable({},m) end m.__len=function() return 1e9 end return setmetatable({},m)',
  ),
  scripts(
    'setresp-3-maps',
    'Scripts that read a hash of 50,000 fields as a map of RESP3 in a loop.',
    "redis.setresp(3) local t={} for i=1,1e5 do t[i]=redis.call('HGETALL','h') end return t",
    { before: [['HSET', 'h', ...members(100_000)]] },
  ),
  scripts(
    'cjson-round-trips',
    'Scripts that encode and decode nested JSON in a loop.',
    "local t={1,'a',{b=2}} for i=1,9 do t={t,t,{k=t}} end while true do t=cjson.decode(cjson.encode(t)) end",
  ),
  scripts(
    'cmsgpack-round-trips',
    'Scripts that pack and unpack nested tables in a loop.',
    "local t={1,'a',{b=2}} for i=1,9 do t={t,t,{k=t}} end while true do t=cmsgpack.unpack(cmsgpack.pack(t)) end",
  ),
  scripts(
    'gsub-of-matches',
    'Scripts that replace with captures of captures.',
    "local s=string.rep('ab',5000) while true do s=string.gsub(s,'((a)(b))','%1%2%3'):sub(1,20000) end",
  ),
  scripts(
    'coroutine-generators',
    'Scripts that leave a million suspended coroutines.',
    'local t={} for i=1,1e6 do local c=coroutine.wrap(function(...) coroutine.yield(...) end) c(i) t[i]=c end return #t',
  ),
  scripts(
    'closures',
    'Scripts that make closures that hold each other.',
    'local f=function() end while true do local g=f f=function() return g() end end',
  ),
  scripts(
    'vararg-growth',
    'Scripts that double their arguments by recursion.',
    'local function f(...) return f(..., ...) end local function g(...) return g(1, ...) end pcall(f,1,2,3) return g(1)',
  ),
  scripts(
    'table-growth-by-hash',
    'Scripts that give tables float, boolean and table keys.',
    'local t={} for i=1,1e9 do t[i+0.5]=i t[{}]=i t[tostring(i)]=true end',
  ),
  scripts(
    'getrange-in-a-loop',
    'Scripts that read a value of 20 MB by GETRANGE and keep the parts.',
    "local t={} for i=1,1e6 do t[i]=redis.call('GETRANGE','v',i,i+15e6) end return #t",
    { before: [['SET', 'v', text(20 * MIB)]] },
  ),
  scripts(
    'publish-to-none',
    'Scripts that publish 100 kB to no subscriber in a loop.',
    "local s=string.rep('x',1e5) while true do redis.call('PUBLISH','n',s) end",
  ),
];
