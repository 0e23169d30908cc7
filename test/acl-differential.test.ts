import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commandsOfCategory } from '../src/engine/acl/command-rights.ts';
import { CATEGORIES } from '../src/engine/command-categories.ts';
import { MapReply, type Reply } from '../src/resp/index.ts';
import { DISPATCHED, requestOf } from './acl-requests.ts';
import { ONLY_HERE } from './differential/exemptions.ts';
import { RawClient } from './differential/raw-client.ts';
import { show } from './differential/rules.ts';
import { newSeed } from './new-seed.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

/** ACL on redis-server 7.0 and on our server: the same rules must have the same replies and allow the same requests. */
const { HOLDFAST_SEED = newSeed() } = process.env;

const servers: RunningServer[] = [];
let clients: RawClient[];

beforeAll(async () => {
  servers.push(await startRealRedis(), await startHoldfast());
  clients = await Promise.all(servers.map(({ port }) => RawClient.connect(port)));
  for (const client of clients) await client.request('HELLO', '3');
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  for (const server of servers) await server.stop();
});

beforeEach(async () => {
  await both('ACL', 'DELUSER', 'a', 'b');
  await both('ACL', 'LOG', 'RESET');
});

/** Sends a request to both servers. Returns both replies. */
async function both(...argv: readonly string[]): Promise<[redis: Reply, ours: Reply]> {
  const [redis, ours] = await Promise.all(clients.map((client) => client.request(...argv)));
  return [redis!, ours!];
}

/** Sends a request to both servers. Expects equal replies, and returns one. */
async function same(...argv: readonly string[]): Promise<string> {
  const [redis, ours] = await both(...argv);
  expect(show(ours), argv.join(' ')).toBe(show(redis));
  return show(ours);
}

describe('ACL SETUSER', () => {
  it.each([
    ['a wrong word', ['foo']],
    ['an unknown command', ['+foo']],
    ['an unknown category', ['+@foo']],
    ['an unknown category, removed', ['-@foo']],
    ['an unknown subcommand', ['+config|foo']],
    ['an unknown subcommand, removed', ['-config|foo']],
    ['a first argument of a subcommand', ['+config|get|x']],
    ['two first arguments', ['+set|a|b']],
    ['an empty subcommand', ['+config|']],
    ['an empty first argument', ['+get|']],
    ['a first argument, removed', ['-get|x']],
    ['a first argument', ['+get|x']],
    ['an empty rule', ['']],
    ['a plus alone', ['+']],
    ['a category sign alone', ['+@']],
    ['an empty key pattern', ['~']],
    ['no letter before the pattern', ['%~x']],
    ['a wrong letter before the pattern', ['%RX~x']],
    ['the same letter twice', ['%RR~x']],
    ['lower case letters before the pattern', ['%rw~x']],
    ['a key pattern with a space', ['~a b']],
    ['a channel pattern with a space', ['&a b']],
    ['a pattern after all keys', ['allkeys', '~a']],
    ['a pattern after all channels', ['allchannels', '&a']],
    ['all keys twice', ['~*', 'allkeys']],
    ['an empty password', ['>']],
    ['a password that is not there, removed', ['<zz']],
    ['a password, removed', ['>zz', '<zz']],
    ['a short hash', ['#zz']],
    ['a hash in upper case', [`#${'A'.repeat(64)}`]],
    ['a hash', [`#${'a'.repeat(64)}`]],
    ['a short hash, removed', ['!zz']],
    ['a hash that is not there, removed', [`!${'b'.repeat(64)}`]],
    ['an open parenthesis', ['(']],
    ['an unclosed selector', ['(+get', '~x']],
    ['an empty selector', ['()']],
    ['a closing parenthesis', ['a)']],
    ['a selector in parts', ['(+get', '~x', '&y)']],
    ['a user rule in a selector', ['(on)']],
    ['an unknown category in a selector', ['(+@foo)']],
    ['a selector in a selector', ['((+get))']],
    [
      'upper case words',
      ['ON', 'NOPASS', 'ALLKEYS', 'ALLCHANNELS', 'ALLCOMMANDS', '+@READ', '+GET'],
    ],
    ['reset', ['on', '>x', '~x', '&x', '+get', '(+set)', 'reset']],
    ['payload rules', ['skip-sanitize-payload', 'sanitize-payload']],
    ['payload rules, the other way', ['sanitize-payload', 'skip-sanitize-payload']],
    ['cleared selectors', ['(+set)', 'clearselectors']],
    ['the right to read joined with that to write', ['%R~x', '%W~y', '%W~x']],
    ['categories without commands here', ['+@geo', '-@stream', '+@bitmap', '+@hyperloglog']],
  ])('%s: %j has the same reply and result', async (_, rules) => {
    await same('ACL', 'SETUSER', 'a', ...rules);
    const users = await both('ACL', 'GETUSER', 'a');
    const [redis, ours] = users.map(withoutCommands);
    expect(ours).toBe(redis);
  });

  it.each([
    ['no rule', []],
    ['all commands', ['+@all', '~*', '&*']],
    ['one command', ['on', '>p', '+get', '~a*', '%R~b*', '&c*']],
    ['a category', ['-@all', '+@string', '-get']],
    ['a selector', ['+get', '(+set ~x &y)']],
    ['a subcommand', ['+config|get']],
    ['a first argument', ['+select|0']],
  ])('%s has the same line in ACL LIST', async (_, rules) => {
    await same('ACL', 'SETUSER', 'a', ...rules);
    if (!rules.includes('+@string')) await same('ACL', 'LIST');
    await same('ACL', 'USERS');
  });

  it.each(['a b', 'a\0b', 'a\nb'])('refuses the name %j', async (name) => {
    await same('ACL', 'SETUSER', name, 'on');
  });
});

/** ACL GETUSER without the command rules, which Redis 7.0 shows in another form. */
function withoutCommands(reply: Reply): string {
  if (!(reply instanceof MapReply)) return show(reply);
  return show(
    new MapReply(
      reply.entries.map(([name, value]) => {
        if (name === 'commands') return [name, null];
        if (name === 'selectors') return [name, (value as Reply[]).map(withoutCommands)];
        return [name, value];
      }),
    ),
  );
}

/** The requests of every command that both servers have. */
const REQUESTS = DISPATCHED.filter(({ name }) => !ONLY_HERE.has(name)).map((command) =>
  requestOf(command, 'own:'),
);

/** Whether the user `a` may run each request, by ACL DRYRUN. */
async function compareRights(): Promise<number> {
  const dryRuns = REQUESTS.map((argv) => ['ACL', 'DRYRUN', 'a', ...argv]);
  const [redis, ours] = await Promise.all(clients.map((client) => client.requestAll(dryRuns)));
  dryRuns.forEach((argv, at) => {
    expect(show(ours![at]!), argv.join(' ')).toBe(show(redis![at]!));
  });
  return redis!.filter((reply) => show(reply) === '+OK').length;
}

describe('the rights of a user over every command', () => {
  it.each([
    ['nothing', []],
    ['all', ['+@all', '~*', '&*']],
    ['all commands', ['+@all']],
    ['other keys', ['+@all', '~other:*', '&*']],
    ['own keys', ['+@all', '~own:*', '&*']],
    ['own keys to read', ['+@all', '%R~own:*', '&*']],
    ['own keys to write', ['+@all', '%W~own:*', '&*']],
    ['own keys to read and to write', ['+@all', '%R~own:*', '%W~own:*', '&*']],
    ['other channels', ['+@all', '~*', '&other:*']],
    ['own channels', ['+@all', '~*', '&own:*']],
    ['the literal channel', ['+@all', '~*', '&own:channel']],
    ['a selector for keys', ['+@all', '(+@read ~own:*)']],
    ['selectors that each lack a part', ['+@read', '(~own:*)', '(+@all)']],
    ['a selector that allows all', ['(+@all ~* &*)']],
    ['containers', ['+client', '+config', '-config|set', '~*', '&*']],
    ['no container', ['+@all', '-client', '-acl', '+client|id', '~*', '&*']],
  ])('%s: allows and refuses the same requests', async (_, rules) => {
    await same('ACL', 'SETUSER', 'a', ...rules);
    await compareRights();
  });

  it.each(CATEGORIES.filter((name) => commandsOfCategory(name)!.length > 0))(
    'the category %s, added and removed: allows and refuses the same requests',
    async (name) => {
      await same('ACL', 'SETUSER', 'a', 'reset', '~*', '&*', `+@${name}`);
      expect(await compareRights()).toBeGreaterThan(0);
      await same('ACL', 'SETUSER', 'a', 'reset', '~*', '&*', '+@all', `-@${name}`);
      expect(await compareRights()).toBeGreaterThan(0);
    },
  );

  it('SET needs the right to read only with GET', async () => {
    await same('ACL', 'SETUSER', 'a', '+@all', '%W~own:*');
    await same('ACL', 'DRYRUN', 'a', 'SET', 'own:key', 'x', 'EX', '1');
    await same('ACL', 'DRYRUN', 'a', 'SET', 'own:key', 'x', 'get');
  });

  it('SORT needs the right to write the key of the last STORE', async () => {
    await same('ACL', 'SETUSER', 'a', '+@all', '%R~own:*', '%W~target');
    await same('ACL', 'DRYRUN', 'a', 'SORT', 'own:key', 'STORE', 'target');
    await same('ACL', 'DRYRUN', 'a', 'SORT', 'own:key', 'STORE', 'own:key');
    await same('ACL', 'DRYRUN', 'a', 'SORT', 'own:key', 'STORE', 'target', 'STORE', 'other');
  });

  it('random rules have the same replies, and allow and refuse the same requests', {
    timeout: withinMs(120_000),
  }, async () => {
    const seed = Number(HOLDFAST_SEED);
    const property = fc.asyncProperty(fc.array(RULES, { maxLength: 8 }), async (rules) => {
      await both('ACL', 'DELUSER', 'a');
      await same('ACL', 'SETUSER', 'a', 'allchannels');
      await same('ACL', 'SETUSER', 'a', ...rules);
      const [redis, ours] = (await both('ACL', 'GETUSER', 'a')).map(withoutCommands);
      expect(ours).toBe(redis);
      await compareRights();
    });
    await fc.assert(property, { numRuns: 100, seed });
  });
});

const NAMES = [
  'get',
  'set',
  'GET',
  'del',
  'client',
  'client|id',
  'client|kill',
  'config',
  'select',
];
const ROOT_RULES = fc.oneof(
  fc.constantFrom('allkeys', 'resetkeys', 'allchannels', 'resetchannels', '+@all', '-@all'),
  fc.constantFrom(
    '~own:*',
    '~other:*',
    '%R~own:*',
    '%W~own:*',
    '%RW~own:k[a-f]y',
    '%R~*',
    '~',
    '~*',
  ),
  fc.constantFrom('&own:*', '&other:*', '&own:channel', '&*', 'nocommands', 'allcommands'),
  fc.tuple(fc.constantFrom('+', '-'), fc.constantFrom(...NAMES)).map(([sign, name]) => sign + name),
  fc
    .tuple(
      fc.constantFrom('+@', '-@'),
      fc.constantFrom('read', 'write', 'fast', 'slow', 'admin', 'string', 'dangerous', 'scripting'),
    )
    .map(([sign, name]) => sign + name),
  fc.constantFrom('+get|own:key', '+select|x', '+ping|x', '-select|x'),
);
const RULES = fc.oneof(
  { weight: 6, arbitrary: ROOT_RULES },
  {
    weight: 1,
    arbitrary: fc.array(ROOT_RULES, { maxLength: 4 }).map((rules) => `(${rules.join(' ')})`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'on',
      'off',
      'nopass',
      'resetpass',
      '>x',
      '<x',
      'reset',
      'clearselectors',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('foo', '+foo', '(', 'x)', '%X~y', '#1', '(+foo)', '') },
);

describe('refused requests', () => {
  /** Connects the user `a` to both servers. */
  async function signIn(...rules: readonly string[]): Promise<RawClient[]> {
    await same('ACL', 'SETUSER', 'a', 'on', '>p', ...rules);
    const signedIn = await Promise.all(servers.map(({ port }) => RawClient.connect(port)));
    for (const client of signedIn) await client.request('AUTH', 'a', 'p');
    return signedIn;
  }

  async function sameFor(users: RawClient[], ...argv: readonly string[]): Promise<string> {
    const [redis, ours] = await Promise.all(users.map((user) => user.request(...argv)));
    expect(show(ours!), argv.join(' ')).toBe(show(redis!));
    return show(ours!);
  }

  it('have the same errors, and the same entries in ACL LOG', async () => {
    const users = await signIn('+@all', '-get', '~own:*', '&own:*');
    await sameFor(users, 'GET', 'own:a');
    await sameFor(users, 'SET', 'other:a', '1');
    await sameFor(users, 'PUBLISH', 'other:a', '1');
    await sameFor(users, 'PSUBSCRIBE', 'own:a*');
    await sameFor(users, 'EVAL', "return redis.call('get', 'own:a')", '0');
    await sameFor(users, 'EVAL', "return redis.pcall('set', 'other:a', '1')", '0');
    await sameFor(users, 'EVAL', "return redis.pcall('publish', 'other:a', '1')", '0');
    await sameFor(users, 'EVAL', 'return 1', '1', 'other:a');
    await sameFor(users, 'EVAL', "return redis.acl_check_cmd('get', 'own:a')", '0');
    await sameFor(users, 'EVAL', "return redis.acl_check_cmd('set', 'own:a', '1')", '0');
    await sameFor(users, 'AUTH', 'a', 'wrong');
    await sameFor(users, 'AUTH', 'none', 'wrong');
    await sameFor(users, 'HELLO', '2', 'AUTH', 'a', 'wrong');
    await sameFor(users, 'ACL', 'WHOAMI');
    await sameFor(users, 'MULTI');
    await sameFor(users, 'GET', 'own:a');
    await sameFor(users, 'EXEC');
    await sameFor(users, 'SORT', 'own:list', 'BY', 'x*');
    await sameFor(users, 'SORT', 'own:list', 'GET', '#');
    await sameFor(users, 'SORT', 'own:list', 'BY', 'nosort');
    const logs = (await both('ACL', 'LOG', '100')).map((reply) =>
      (reply as MapReply[]).map(logFacts),
    );
    expect(logs[1]).toEqual(logs[0]);
    expect(logs[0]!.length).toBeGreaterThan(9);
    for (const user of users) user.destroy();
  });

  it('EXEC checks each queued command again', async () => {
    const users = await signIn('+@all', '~*', '&*');
    await sameFor(users, 'MULTI');
    for (const argv of [
      ['SET', 'k', '1'],
      ['GET', 'k'],
      ['PUBLISH', 'c', 'm'],
    ]) {
      await sameFor(users, ...argv);
    }
    await same('ACL', 'SETUSER', 'a', '-get', 'resetkeys', '~k', 'resetchannels');
    expect(await sameFor(users, 'EXEC')).toMatch(/NOPERM ACLs rules changed/);
    await sameFor(users, 'MULTI');
    await sameFor(users, 'SET', 'k', '1');
    await same('ACL', 'SETUSER', 'a', '-exec');
    expect(await sameFor(users, 'EXEC')).toMatch(/EXECABORT/);
    for (const user of users) user.destroy();
  });

  it('a subscriber is closed when it loses its channel, and not before', async () => {
    const users = await signIn('+@all', '~*', '&own:*', '&other:*');
    for (const user of users) {
      user.send([['SUBSCRIBE', 'own:a']]);
      await user.next();
    }
    await same('ACL', 'SETUSER', 'a', 'resetchannels', '&own:*');
    for (const user of users) {
      user.send([['PING', 'x']]);
      expect(await user.next()).toEqual(['pong', 'x']);
    }
    await same('ACL', 'SETUSER', 'a', 'resetchannels', '&other:*');
    for (const user of users) await user.closed();
  });

  it('ACL DELUSER closes the connections of the user', async () => {
    const users = await signIn('+@all');
    await same('ACL', 'DELUSER', 'a', 'none', 'a');
    for (const user of users) await user.closed();
  });

  it('CLIENT KILL USER closes the connections of the user', async () => {
    const users = await signIn('+@all');
    await same('CLIENT', 'KILL', 'USER', 'none');
    await same('CLIENT', 'KILL', 'USER', 'a');
    for (const user of users) await user.closed();
  });
});

/** An entry of ACL LOG without times and without the facts of the client. */
function logFacts(entry: MapReply): string[] {
  return entry.entries
    .filter(([name]) => name !== 'age-seconds')
    .map(([name, value]) =>
      name === 'client-info' ? String(/ user=\S*/.exec(String(value))) : `${name} ${show(value)}`,
    );
}

describe('other subcommands', () => {
  it.each([
    'ACL',
    'ACL WHAT',
    'ACL CAT foo',
    'ACL CAT a b',
    'ACL GENPASS 0',
    'ACL GENPASS 4097',
    'ACL GENPASS x',
    'ACL GENPASS 1 2',
    'ACL DELUSER default',
    'ACL DELUSER none',
    'ACL GETUSER none',
    'ACL GETUSER default',
    'ACL WHOAMI',
    'ACL DRYRUN none get x',
    'ACL DRYRUN default foo',
    'ACL DRYRUN default get',
    'ACL DRYRUN default get x',
    'ACL LOG',
    'ACL LOG x',
    'ACL LOG -1',
    'ACL LOG 1 2',
    'ACL LOG RESET',
    'ACL SAVE',
    'ACL LOAD',
    'ACL USERS x',
    'CONFIG GET acl-pubsub-default',
    'CONFIG GET acllog-max-len',
    'CONFIG GET aclfile',
    'CONFIG SET acl-pubsub-default x',
    'CONFIG SET acllog-max-len -1',
  ])('%s has the same reply', async (line) => {
    await same(...line.split(' '));
  });

  it('ACL CAT has the categories of Redis, then lock', async () => {
    const [redis, ours] = await both('ACL', 'CAT');
    expect(ours).toEqual([...(redis as string[]), 'lock']);
  });

  it('ACL GENPASS has as many digits', async () => {
    for (const bits of ['1', '4', '5', '256', '4096']) {
      const [redis, ours] = await both('ACL', 'GENPASS', bits);
      expect(String(ours)).toMatch(/^[0-9a-f]+$/);
      expect(String(ours).length).toBe(String(redis).length);
    }
  });
});
