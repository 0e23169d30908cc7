// Requests of every command with huge words and with a million arguments, and broken or slow requests.
import { COMMANDS } from '../../../build/engine/index.js';
import { flood, MIB, range, Slowest, streamRequest, text } from '../tools.js';
import { request } from '../wire.js';

const HUGE = text(64 * MIB, 'aA');
const MANY = 1_000_000;
/** How many places after the name of a command. */
const POSITIONS = 4;
/** A reply that takes longer is that of a blocking command, or of a server that hangs. */
const REPLY_MS = 20_000;
/** These end the server or hold all clients up by design. */
const LEFT_OUT = new Set(['shutdown', 'monitor', 'wait']);

/** A key of the type that the commands of a group take. */
const KEYS = { hash: 'hash', list: 'list', set: 'set', 'sorted-set': 'zset', sorted_set: 'zset' };

function commandsByGroup() {
  const groups = new Map();
  for (const command of COMMANDS.values()) {
    if (LEFT_OUT.has(command.name)) continue;
    const group = command.name.startsWith('holdfast.') ? 'holdfast' : command.group;
    groups.set(group, [...(groups.get(group) ?? []), ...variants(command)]);
  }
  return groups;
}

/** A command with subcommands is attacked by itself and through each of them. */
function variants({ name, arity, subcommands }) {
  const itself = { words: [name], arity: Math.abs(arity) };
  const subs = [...(subcommands ?? [])].map(([word, sub]) => ({
    words: [name, word],
    arity: Math.abs(sub.arity),
  }));
  return [itself, ...subs];
}

async function prepare(client) {
  await client.call('RPUSH', 'list', '1', '2', '3');
  await client.call('SADD', 'set', '1', '2', '3');
  await client.call('HSET', 'hash', '1', '2');
  await client.call('ZADD', 'zset', '1', '1', '2', '2');
  await client.call('SET', 'string', '1');
}

/** The args of a command, as far as `position`, with plausible words around it. */
function argsAt({ words, arity }, position, key, word) {
  const count = Math.max(arity, position + 1);
  return range(count, (index) => {
    if (index === position) return word;
    return words[index] ?? (index === words.length ? key : '1');
  });
}

/** Sends each on a connection that is replaced if the server closed it or does not answer. */
async function sendEach(context, requests) {
  const slowest = new Slowest();
  let client = await context.client();
  await prepare(client);
  for (const [label, send] of requests) {
    if (context.isOver) {
      context.note(`no time left for ${label} and what follows`);
      break;
    }
    context.notes.splice(0, Infinity, `at the end: ${label}`);
    const isAnswered = await slowest.time(label, () =>
      Promise.race([send(client).then(() => !client.isClosed), context.pause(REPLY_MS)]),
    );
    if (isAnswered) continue;
    client.close();
    client = await context.client();
  }
  if (!context.isOver) context.notes.splice(0, Infinity, String(slowest));
}

function hugeWords([group, commands]) {
  const key = KEYS[group] ?? 'string';
  return {
    name: `huge-words-${group}`,
    family: 'words',
    what: `Each ${group} command with a word of 64 MB in each place.`,
    seconds: 120,
    ...(group === 'holdfast' && { noRedis: 'Holdfast only' }),
    run: (context) =>
      sendEach(
        context,
        commands.flatMap((command) =>
          range(POSITIONS, (index) => command.words.length + index).map((position) => [
            `${command.words.join(' ')} at ${position}`,
            (client) => client.call(...argsAt(command, position, key, HUGE)),
          ]),
        ),
      ),
  };
}

function manyArguments([group, commands]) {
  const key = KEYS[group] ?? 'string';
  return {
    name: `million-arguments-${group}`,
    family: 'words',
    what: `Each ${group} command with a million short arguments.`,
    seconds: 120,
    ...(group === 'holdfast' && { noRedis: 'Holdfast only' }),
    run: (context) =>
      sendEach(
        context,
        commands.map(({ words }) => [
          words.join(' '),
          async (client) => {
            const expected = client.received + 1;
            await streamRequest(client, [...words, key], MANY, (index) => String(index));
            await client.receive(expected);
          },
        ]),
      ),
  };
}

/** Bytes that are not requests, or claim much and bring little. */
const BROKEN = [
  ['multibulk-of-a-billion', '*1000000000\r\n'],
  ['multibulk-of-2-to-the-31', '*2147483647\r\n$4\r\nPING\r\n'],
  ['multibulk-negative', '*-9223372036854775808\r\n'],
  ['bulk-of-512-mb-claimed', '*2\r\n$4\r\nECHO\r\n$536870912\r\nx'],
  ['bulk-of-2-to-the-63', '*1\r\n$9223372036854775807\r\n'],
  ['bulk-header-without-end', `*1\r\n$${'1'.repeat(100_000)}`],
  ['inline-without-end', 'a'.repeat(70_000)],
  ['inline-of-many-words', `${'a '.repeat(30_000)}\r\n`],
  ['inline-open-quotes', `PING "${'\\x41'.repeat(15_000)}\r\n`],
  ['inline-empty-lines', '\r\n'.repeat(500_000)],
  ['empty-multibulks', '*0\r\n'.repeat(500_000)],
  ['http', 'POST / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['tls-hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
];

function brokenRequest([name, bytes]) {
  return {
    name: `broken-${name}`,
    family: 'requests',
    what: 'Two hundred connections send bytes that are no request, or claim more than they bring.',
    async run(context) {
      const clients = await context.clients(200);
      await Promise.all(clients.map((client) => client.write(Buffer.from(bytes, 'latin1'))));
      await context.pause(500);
    },
  };
}

export const REQUEST_ATTACKS = [
  ...[...commandsByGroup()].map(hugeWords),
  ...[...commandsByGroup()].map(manyArguments),
  ...BROKEN.map(brokenRequest),
  {
    name: 'million-pings-unread',
    family: 'requests',
    what: 'A million PINGs are pipelined by a client that does not read.',
    quick: true,
    async run(context) {
      const client = await context.client();
      client.stopReading();
      const pings = Buffer.from('PING\r\n'.repeat(10_000));
      const sending = (async () => {
        for (const _ of range(100)) await client.write(pings);
      })();
      await Promise.race([sending, context.pause(3000)]);
    },
  },
  {
    name: 'pipeline-of-a-million-gets',
    family: 'time',
    what: 'A million GETs are pipelined as fast as the server takes them.',
    async run(context) {
      const client = await context.client();
      const gets = Buffer.concat(range(10_000, (i) => request('GET', `key:${i}`)));
      for (const _ of range(100)) await client.sendEncoded(gets, 10_000);
      await client.receiveAll();
    },
  },
  {
    name: 'pipeline-of-slow-scripts',
    family: 'time',
    what: 'One write holds 1,000 scripts of about 10 ms each.',
    quick: true,
    async run(context) {
      const client = await context.client();
      const script = request('EVAL', 'local n=0 for i=1,1e6 do n=n+i end return n', '0');
      await client.sendEncoded(Buffer.concat(range(1000, () => script)), 1000);
      await Promise.race([client.receiveAll(), context.pause(5000)]);
    },
  },
  {
    name: 'pipeline-of-slow-commands',
    family: 'time',
    what: 'Twenty clients pipeline 200 times KEYS * over 100,000 keys in one write.',
    async run(context) {
      const [writer, ...clients] = await context.clients(21);
      await flood(context, writer, (i) => ['SET', `key:${i}`, i], { requests: 100_000 });
      const pipeline = Buffer.concat(range(200, () => request('KEYS', 'no:such:*')));
      const sending = clients.map(async (client) => {
        await client.sendEncoded(pipeline, 200);
        await client.receiveAll();
      });
      await Promise.race([Promise.all(sending), context.pause(10_000)]);
    },
  },
  {
    name: 'half-requests-on-1000-connections',
    family: 'requests',
    what: 'A thousand connections hold a request of 1 MB open that lacks its last byte.',
    async run(context) {
      const clients = await context.clients(1000);
      const body = text(MIB);
      for (const client of clients) {
        if (context.isOver) return;
        await client.write(Buffer.from(`*2\r\n$4\r\nECHO\r\n$${MIB + 1}\r\n`), body);
      }
      await context.pause(1000);
    },
  },
  {
    name: 'half-requests-of-500-mb',
    family: 'requests',
    what: 'Eight connections hold a request of 500 MB open that lacks its last byte.',
    async run(context) {
      const body = text(MIB);
      const sending = (await context.clients(8)).map(async (client) => {
        await client.write(Buffer.from(`*2\r\n$4\r\nECHO\r\n$${500 * MIB + 1}\r\n`));
        for (let sent = 0; sent < 500 && !client.isClosed; sent += 1) await client.write(body);
      });
      await Promise.race([Promise.all(sending), context.pause(15_000)]);
    },
  },
  {
    name: 'blocked-after-large-requests',
    family: 'requests',
    what: 'Three hundred clients send ECHO of 8 MB without a reply, then BLPOP, and stay blocked.',
    async run(context) {
      const bytes = Buffer.concat([
        request('CLIENT', 'REPLY', 'SKIP'),
        request('ECHO', text(8 * MIB)),
        request('BLPOP', 'nothing', '0'),
      ]);
      for (const client of await context.clients(300)) {
        if (context.isOver) break;
        await client.write(bytes);
      }
      await context.pause(1000);
    },
  },
  {
    name: 'one-byte-at-a-time',
    family: 'requests',
    what: 'Two hundred clients send requests of 2 kB one byte at a time.',
    async run(context) {
      const clients = await context.clients(200);
      const bytes = request('SET', 'key', 'v'.repeat(2000));
      for (let at = 0; at < bytes.length && !context.isOver; at += 1) {
        await Promise.all(clients.map((client) => client.write(bytes.subarray(at, at + 1))));
      }
    },
  },
  {
    name: 'large-request-in-small-chunks',
    family: 'requests',
    what: 'A value of 100 MB arrives in chunks of 100 bytes.',
    async run(context) {
      const client = await context.client();
      const chunk = text(100);
      await client.write(Buffer.from(`*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$${100 * MIB}\r\n`));
      for (let sent = 0; sent < 100 * MIB && !context.isOver; sent += chunk.length) {
        await client.write(chunk);
        if (sent % 10_000 === 0) await new Promise(setImmediate);
      }
    },
  },
  {
    name: 'many-small-words-in-small-chunks',
    family: 'requests',
    what: 'A request of a million arguments arrives in a thousand chunks.',
    async run(context) {
      const client = await context.client();
      await client.write(Buffer.from('*1000001\r\n$3\r\nDEL\r\n'));
      const chunk = Buffer.from('$4\r\nabcd\r\n'.repeat(1000));
      for (const _ of range(1000)) {
        await client.write(chunk);
        await new Promise(setImmediate);
      }
      await client.receive(1);
    },
  },
];
