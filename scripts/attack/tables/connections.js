// Connections as such: storms, limits, kills, guesses, signals, the end of the server and of many keys.
import { flood, MIB, range, text } from '../tools.js';
import { request } from '../wire.js';

const MAX_END_MS = 3000;
const ENDLESS = request('EVAL', 'while true do end', '0');

/** Sends a signal, or SHUTDOWN, while `hostile` runs: the server must end within 3 s with exit code 0. */
function ending(name, what, hostile, { command } = {}) {
  return {
    name,
    family: 'ending',
    what,
    endsServer: true,
    noRedis: 'only the end is judged',
    async run(context) {
      await hostile(context);
      const startMs = performance.now();
      if (command) (await context.client()).send(...command);
      else context.signal('SIGTERM');
      await context.endWithin(30_000);
      const endMs = Math.round(performance.now() - startMs);
      context.note(`ended after ${endMs} ms`);
      context.check(endMs <= MAX_END_MS, `took ${endMs} ms to end`);
    },
  };
}

async function manyScripts(context) {
  const client = await context.client();
  await client.sendEncoded(Buffer.concat(range(1000, () => ENDLESS)), 1000);
  await context.pause(200);
}

async function manyUnread(context) {
  const [writer, ...clients] = await context.clients(101);
  await writer.call('SET', 'v', text(4 * MIB));
  for (const client of clients) {
    client.stopReading();
    await client.send('GET', 'v');
  }
}

async function manyKeys(context) {
  await flood(context, await context.client(), (i) => ['SET', `key:${i}`, i], {
    requests: 500_000,
  });
}

export const CONNECTION_ATTACKS = [
  {
    name: 'connect-and-close-storm',
    family: 'connections',
    what: 'Twenty thousand connections open and close, 200 at a time.',
    async run(context) {
      for (const _ of range(100)) {
        if (context.isOver) return;
        for (const client of await context.clients(200)) client.close();
      }
    },
  },
  {
    name: 'connect-half-request-and-reset',
    family: 'connections',
    what: 'Ten thousand connections send half a request and leave.',
    async run(context) {
      for (const _ of range(50)) {
        if (context.isOver) return;
        for (const client of await context.clients(200)) {
          client.write(Buffer.from('*3\r\n$3\r\nSET\r\n$100\r\nhalf'));
          client.close();
        }
      }
    },
  },
  {
    name: 'close-with-replies-on-the-way',
    family: 'connections',
    what: 'Two thousand clients ask for 4 MB and leave without reading.',
    async run(context) {
      const writer = await context.client();
      await writer.call('SET', 'v', text(4 * MIB));
      for (const _ of range(40)) {
        for (const client of await context.clients(50)) {
          await client.send('GET', 'v');
          client.close();
        }
      }
    },
  },
  {
    name: 'more-than-maxclients',
    family: 'connections',
    what: 'A thousand connections come to a server that takes a hundred.',
    async run(context) {
      const client = await context.client();
      await client.call('CONFIG', 'SET', 'maxclients', '100');
      await context.clients(1000);
      await context.pause(500);
    },
  },
  {
    name: 'half-open-5000',
    family: 'connections',
    what: 'Five thousand connections stay idle, a thousand of them half closed.',
    async run(context) {
      for (const index of range(25)) {
        const clients = await context.clients(200);
        if (index < 5) for (const client of clients) client.halfClose();
      }
      await context.pause(1000);
    },
  },
  {
    name: 'client-kill-storm',
    family: 'connections',
    what: 'Two thousand clients that block, watch and subscribe are killed one by one, by id.',
    async run(context) {
      const [killer, ...victims] = await context.clients(2001);
      const modes = [['BLPOP', 'list', '0'], ['WATCH', 'key'], ['SUBSCRIBE', 'news'], ['MULTI']];
      const ids = [];
      for (const [index, victim] of victims.entries()) {
        ids.push((await victim.call('CLIENT', 'ID')).slice(1, -2));
        await victim.send(...modes[index % modes.length]);
      }
      await flood(context, killer, (i) => ['CLIENT', 'KILL', 'ID', ids[i]], { requests: 2000 });
    },
  },
  {
    name: 'client-kill-during-push',
    family: 'connections',
    what: 'Subscribers are killed by a script that publishes to them meanwhile.',
    async run(context) {
      const [killer, ...victims] = await context.clients(101);
      const ids = [];
      for (const victim of victims) {
        ids.push((await victim.call('CLIENT', 'ID')).slice(1, -2));
        await victim.call('SUBSCRIBE', 'news');
      }
      await killer.call('MULTI');
      for (const id of ids) {
        await killer.call('PUBLISH', 'news', text(100_000));
        await killer.call('CLIENT', 'KILL', 'ID', id);
      }
      await killer.call('EXEC');
    },
  },
  {
    name: 'auth-guesses',
    family: 'connections',
    what: 'Ten clients guess passwords for three seconds; prints how many they can try.',
    async run(context) {
      const [admin, ...guessers] = await context.clients(11);
      await admin.call('CONFIG', 'SET', 'requirepass', 'correct horse');
      const endMs = performance.now() + 3000;
      const pipeline = Buffer.concat(range(100, (i) => request('AUTH', `guess${i}`)));
      const guessing = guessers.map(async (guesser) => {
        while (performance.now() < endMs && !guesser.isClosed) {
          await guesser.sendEncoded(pipeline, 100);
          await Promise.race([guesser.receiveAll(), context.pause(3000)]);
        }
        return guesser.received;
      });
      const guesses = (await Promise.all(guessing)).reduce((sum, count) => sum + count, 0);
      context.note(`${Math.round(guesses / 3)} guesses a second`);
      const isSlow = context.kind === 'redis' || guesses / 3 < 1000;
      context.check(isSlow, `${Math.round(guesses / 3)} guesses a second`);
    },
  },
  {
    name: 'before-auth-large-requests',
    family: 'connections',
    what: 'A hundred clients that have not signed in send requests of 100 MB and of a million words.',
    async run(context) {
      const [admin, ...clients] = await context.clients(101);
      await admin.call('CONFIG', 'SET', 'requirepass', 'correct horse');
      const body = text(MIB);
      const strangers = await context.clients(100);
      for (const client of clients) client.close();
      const sending = strangers.map(async (client, index) => {
        const head = index % 2 ? '*2\r\n$4\r\nAUTH\r\n$104857600\r\n' : '*1000000\r\n';
        await client.write(Buffer.from(head));
        for (const _ of range(100)) if (!client.isClosed) await client.write(body);
      });
      await Promise.race([Promise.all(sending), context.pause(5000)]);
    },
  },
  {
    name: 'before-auth-unread-errors',
    family: 'connections',
    what: 'Fifty clients that have not signed in pipeline commands and do not read the errors.',
    async run(context) {
      const admin = await context.client();
      await admin.call('CONFIG', 'SET', 'requirepass', 'correct horse');
      const pipeline = Buffer.from('*1\r\n$4\r\nPING\r\n'.repeat(10_000));
      const sending = (await context.clients(50)).map(async (client) => {
        client.stopReading();
        for (const _ of range(100)) await client.write(pipeline);
      });
      await Promise.race([Promise.all(sending), context.pause(4000)]);
    },
  },
  {
    name: 'client-pause-for-30000-years',
    family: 'connections',
    what: 'CLIENT PAUSE for 2^60 ms; another client must be able to end it.',
    async run(context) {
      const [client, other] = await context.clients(2);
      const reply = await client.call('CLIENT', 'PAUSE', String(2n ** 60n), 'WRITE');
      context.note(`reply: ${JSON.stringify(reply)}`);
      client.close();
      await other.call('CLIENT', 'UNPAUSE');
      context.check((await other.call('SET', 'k', 'v')) === '+OK\r\n', 'the pause goes on');
    },
  },
  {
    name: 'blocked-3000-clients-on-one-key',
    family: 'connections',
    what: 'Three thousand clients block on one list, one script serves them all.',
    async run(context) {
      const [writer, ...blocked] = await context.clients(3001);
      await Promise.all(blocked.map((client) => client.send('BLPOP', 'list', '0')));
      await context.pause(500);
      await writer.call('EVAL', "for i=1,3000 do redis.call('RPUSH','list',i) end", '0');
      await Promise.race([
        Promise.all(blocked.map((client) => client.receive(1))),
        context.pause(5000),
      ]);
    },
  },
  {
    name: 'blocked-clients-move-in-a-ring',
    family: 'connections',
    what: 'A hundred clients block in BLMOVE from each list to the next, in a ring; one element goes round.',
    async run(context) {
      const clients = await context.clients(100);
      for (const [index, client] of clients.entries()) {
        await client.send(
          'BLMOVE',
          `ring${index}`,
          `ring${(index + 1) % 100}`,
          'LEFT',
          'RIGHT',
          '0',
        );
      }
      await (await context.client()).call('RPUSH', 'ring0', 'x');
      await context.pause(500);
    },
  },
  {
    name: 'expiry-of-a-million-keys-at-once',
    family: 'time',
    what: 'A million keys end in the same millisecond.',
    async run(context) {
      const client = await context.client();
      const atMs = Date.now() + 12_000;
      await flood(context, client, (i) => ['SET', `key:${i}`, 'v', 'PXAT', atMs], {
        requests: 1_000_000,
      });
      await context.pause(Math.max(0, atMs - Date.now()) + 1500);
    },
  },
  {
    name: 'expiry-storm-with-subscriber',
    family: 'time',
    what: '300,000 keys end in the same millisecond while twenty clients receive keyspace events.',
    async run(context) {
      const [client, ...subscribers] = await context.clients(21);
      await client.call('CONFIG', 'SET', 'notify-keyspace-events', 'KEA');
      const atMs = Date.now() + 6000;
      await flood(context, client, (i) => ['SET', `key:${i}`, 'v', 'PXAT', atMs], {
        requests: 300_000,
      });
      for (const subscriber of subscribers)
        await subscriber.call('PSUBSCRIBE', '__keyevent*:expired');
      await context.pause(Math.max(0, atMs - Date.now()) + 3000);
    },
  },
  {
    name: 'flushall-of-a-million-keys',
    family: 'time',
    what: 'FLUSHALL removes a million keys while clients watch some of them.',
    async run(context) {
      const [client, ...watchers] = await context.clients(101);
      await flood(context, client, (i) => ['SET', `key:${i}`, i], { requests: 1_000_000 });
      for (const [index, watcher] of watchers.entries()) {
        await watcher.call('WATCH', ...range(1000, (i) => `key:${index * 1000 + i}`));
      }
      await client.call('FLUSHALL');
    },
  },
  {
    name: 'del-of-a-large-set',
    family: 'time',
    what: 'DEL and RENAME of a sorted set of a million members.',
    async run(context) {
      const client = await context.client();
      await flood(context, client, (i) => ['ZADD', 'z', ...range(200, (j) => i * 100 + (j >> 1))], {
        requests: 10_000,
      });
      await client.call('RENAME', 'z', 'y');
      await client.call('DEL', 'y');
    },
  },
  {
    name: 'set-algebra-of-large-sets',
    family: 'time',
    what: 'SDIFF, SUNION, SINTER and ZUNION of sets of 300,000 members.',
    async run(context) {
      const client = await context.client();
      for (const name of ['a', 'b']) {
        await flood(
          context,
          client,
          (i) => ['SADD', name, ...range(100, (j) => `${name === 'a' ? 'm' : 'n'}${i * 100 + j}`)],
          { requests: 3000 },
        );
      }
      for (const command of ['SDIFF', 'SUNION', 'SINTER']) await client.call(command, 'a', 'b');
      await client.call('ZUNION', '2', 'a', 'b', 'WITHSCORES');
      await client.call('SUNIONSTORE', 'c', 'a', 'b');
    },
  },
  {
    name: 'list-in-the-middle',
    family: 'time',
    what: 'LINSERT, LREM and LPOS in the middle of a list of a million elements, 2,000 times.',
    async run(context) {
      const client = await context.client();
      await flood(context, client, (i) => ['RPUSH', 'l', ...range(200, (j) => `e${i * 200 + j}`)], {
        requests: 5000,
      });
      const requests = [
        ['LINSERT', 'l', 'BEFORE', 'e500000', 'x'],
        ['LREM', 'l', '1', 'x'],
        ['LPOS', 'l', 'no such element'],
        ['LINDEX', 'l', '500000'],
      ];
      await flood(context, client, (i) => requests[i % 4], { requests: 2000 });
    },
  },
  {
    name: 'numeric-keys-with-equal-hashes',
    family: 'time',
    what: 'A million keys and fields that look like array indices.',
    async run(context) {
      const client = await context.client();
      await flood(context, client, (i) => ['HSET', 'h', i * 1024, '1'], { requests: 500_000 });
      await flood(context, client, (i) => ['SET', i * 1024, '1'], { requests: 500_000 });
    },
  },
  {
    name: 'glob-patterns-in-every-command',
    family: 'time',
    what: 'PSUBSCRIBE, SCAN, HSCAN, CONFIG GET and PUBSUB with a pattern of 25 kB.',
    async run(context) {
      const client = await context.client();
      const pattern = `*${'a'.repeat(25_000)}b`;
      const subject = 'a'.repeat(50_000);
      await client.call('SET', subject, '1');
      await client.call('HSET', 'h', subject, '1');
      const subscriber = await context.client();
      await subscriber.call('SUBSCRIBE', subject);
      await subscriber.call('PSUBSCRIBE', pattern);
      await client.call('PUBLISH', subject, 'x');
      await client.call('SCAN', '0', 'MATCH', pattern, 'COUNT', '1000');
      await client.call('HSCAN', 'h', '0', 'MATCH', pattern);
      await client.call('PUBSUB', 'CHANNELS', pattern);
      await client.call('CONFIG', 'GET', pattern);
      await client.call('COMMAND', 'LIST', 'FILTERBY', 'PATTERN', pattern);
    },
  },
  {
    name: 'publish-against-10000-patterns',
    family: 'time',
    what: 'One client subscribes to 10,000 patterns; another publishes 2,000 messages.',
    async run(context) {
      const [subscriber, writer] = await context.clients(2);
      await flood(context, subscriber, (i) => ['PSUBSCRIBE', `*${i}*x`], { requests: 10_000 });
      await flood(context, writer, () => ['PUBLISH', 'a'.repeat(200), 'x'], { requests: 2000 });
    },
  },
  ending(
    'sigterm-during-endless-scripts',
    'SIGTERM while one client has a thousand endless scripts queued.',
    manyScripts,
  ),
  ending('sigterm-with-unread-replies', 'SIGTERM while 100 clients leave 4 MB unread.', manyUnread),
  ending('sigterm-with-many-keys', 'SIGTERM with half a million keys.', manyKeys),
  ending(
    'shutdown-with-unread-replies',
    'SHUTDOWN NOSAVE while 100 clients leave 4 MB unread.',
    manyUnread,
    { command: ['SHUTDOWN', 'NOSAVE'] },
  ),
  {
    name: 'signal-sighup',
    family: 'signals',
    what: 'SIGHUP must not end the server.',
    quick: true,
    async run(context) {
      context.signal('SIGHUP');
      await context.pause(500);
    },
  },
  {
    name: 'signal-sigusr1',
    family: 'signals',
    what: 'SIGUSR1 must not open the debugger.',
    noRedis: 'ends it',
    quick: true,
    async run(context) {
      context.signal('SIGUSR1');
      await context.pause(500);
      context.check(!context.log.includes('Debugger listening'), 'the debugger listens');
    },
  },
  {
    name: 'log-flood-by-protocol-errors',
    family: 'connections',
    what: 'Ten thousand connections are closed for protocol errors; the log must stay small.',
    async run(context) {
      for (const _ of range(50)) {
        if (context.isOver) return;
        const clients = await context.clients(200);
        await Promise.all(
          clients.map((client) => client.write(Buffer.from('POST / HTTP/1.1\r\n\r\n'))),
        );
        await context.pause(20);
      }
    },
  },
];
