import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';

const NO_COMMAND = (name: string): string =>
  `-NOPERM this user has no permissions to run the '${name}' command`;
const NO_KEY = '-NOPERM this user has no permissions to access one of the keys used as arguments';
const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.';

let wire: WireEngine;
let admin: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  admin = wire.connect();
});

function setUser(...rules: readonly string[]): void {
  expect(admin.send(['ACL', 'SETUSER', 'app', ...rules])).toBe('+OK');
}

/** A connection of the user `app`, whose rules it adds. */
function signIn(...rules: readonly string[]): WireClient {
  setUser('on', '>pw', ...rules);
  const client = wire.connect();
  expect(client.send('AUTH app pw')).toBe('+OK');
  return client;
}

/** The reasons, contexts and objects in ACL LOG. */
function logged(): string[] {
  return wire.engine.acl.log.entries.map(
    ({ count, reason, context, object, user }) => `${count} ${reason} ${context} ${object} ${user}`,
  );
}

describe('sign-in', () => {
  it('accepts each password of a user, and no other', () => {
    setUser('on', '>one', '>two');
    const client = wire.connect();
    expect(client.send('AUTH app one')).toBe('+OK');
    expect(client.send('AUTH app two')).toBe('+OK');
    expect(client.send('AUTH app three')).toBe(WRONG);
    setUser('<one');
    expect(client.send('AUTH app one')).toBe(WRONG);
  });

  it('accepts every password of a user with nopass', () => {
    setUser('on', 'nopass');
    expect(wire.connect().send('AUTH app anything')).toBe('+OK');
  });

  it.each([
    ['a disabled user', ['off', '>pw']],
    ['a disabled user with nopass', ['off', 'nopass']],
    ['a user without passwords', ['on']],
  ])('is refused for %s', (_, rules) => {
    setUser(...rules);
    expect(wire.connect().send('AUTH app pw')).toBe(WRONG);
  });

  it('is refused for an unknown user, and delayed after five failures', () => {
    setUser('on', '>pw');
    const client = wire.connect();
    for (let count = 0; count < 5; count++) expect(client.send('AUTH none pw')).toBe(WRONG);
    expect(client.send('AUTH app pw')).toBe('');
    wire.clock.advance(10);
    expect(client.received()).toBe('+OK');
  });

  it('keeps the user that the connection had when it fails', () => {
    const client = signIn('+@all');
    expect(client.send('AUTH default wrong extra')).toBe('-ERR syntax error');
    expect(client.send('AUTH none x')).toBe(WRONG);
    expect(client.send('ACL WHOAMI')).toBe('$3 app');
  });

  it('by HELLO sets the user', () => {
    setUser('on', '>pw', '+acl|whoami');
    const client = wire.connect();
    client.send('HELLO 2 AUTH app pw');
    expect(client.send('ACL WHOAMI')).toBe('$3 app');
  });

  it('is undone by RESET', () => {
    const client = signIn('+@all');
    expect(client.send('RESET')).toBe('+RESET');
    expect(client.send('ACL WHOAMI')).toBe('$7 default');
  });

  it('as another user ends subscriptions that this one may not have', () => {
    setUser('on', '>pw', '+@all', '&mine');
    const client = wire.connect();
    client.send('HELLO 3');
    client.send('SUBSCRIBE other');
    expect(client.send('AUTH app pw')).toBe('+OK');
    expect(client.session.closing).toBe(true);
  });

  it('shows the user in CLIENT LIST, and CLIENT KILL USER finds it', () => {
    const client = signIn('+@all');
    expect(admin.send('CLIENT LIST')).toMatch(/id=2 .* user=app /);
    expect(admin.send('CLIENT KILL USER app')).toBe(':1');
    expect(client.isClosed).toBe(true);
    expect(admin.isClosed).toBe(false);
  });
});

describe('the user default', () => {
  it('has the password of requirepass', () => {
    expect(admin.send('CONFIG SET requirepass secret')).toBe('+OK');
    expect(admin.send('ACL LIST')).toMatch(
      /^\*1 \$\d+ user default on #[0-9a-f]{64} ~\* &\* \+@all$/,
    );
    expect(wire.connect().send('PING')).toBe('-NOAUTH Authentication required.');
    expect(wire.connect().send('AUTH secret')).toBe('+OK');
    expect(admin.send(['CONFIG', 'SET', 'requirepass', ''])).toBe('+OK');
    expect(admin.send('ACL LIST')).toBe('*1 $34 user default on nopass ~* &* +@all');
    expect(wire.connect().send('PING')).toBe('+PONG');
  });

  it('when disabled, makes every new connection sign in', () => {
    setUser('on', '>pw', '+ping');
    expect(admin.send('ACL SETUSER default off')).toBe('+OK');
    const client = wire.connect();
    expect(client.send('PING')).toBe('-NOAUTH Authentication required.');
    expect(client.send('AUTH default x')).toBe(WRONG);
    expect(client.send('AUTH app pw')).toBe('+OK');
    expect(client.send('PING')).toBe('+PONG');
    expect(client.send('RESET')).toBe('+RESET');
    expect(client.send('PING')).toBe('-NOAUTH Authentication required.');
  });

  it('can be restricted', () => {
    const other = wire.connect();
    expect(admin.send('ACL SETUSER default -get')).toBe('+OK');
    expect(other.send('GET x')).toBe(NO_COMMAND('get'));
    expect(other.send('SET x 1')).toBe('+OK');
  });
});

describe('a transaction', () => {
  it('is broken by a command that is refused when it is queued', () => {
    const client = signIn('+@all', '-get', '~*');
    client.send('MULTI');
    expect(client.send('GET x')).toBe(NO_COMMAND('get'));
    expect(client.send('EXEC')).toMatch(/^-EXECABORT/);
    expect(logged()).toEqual(['1 command multi get app']);
  });

  it('runs only the commands that are allowed when EXEC runs them', () => {
    const client = signIn('+@all', '~*');
    client.send('MULTI');
    client.send('SET mine 1');
    client.send('SET other 1');
    setUser('resetkeys', '~mine');
    expect(client.send('EXEC')).toMatch(
      /^\*2 \+OK -NOPERM ACLs rules changed .* no permission to touch the specified keys$/,
    );
    expect(admin.send('EXISTS mine other')).toBe(':1');
  });

  it('checks commands after AUTH with the rights of the new user', () => {
    setUser('on', '>pw', '+@all', '~mine');
    const client = wire.connect();
    client.send('MULTI');
    client.send('AUTH app pw');
    client.send('SET other 1');
    expect(client.send('EXEC')).toMatch(/^\*2 \+OK -NOPERM/);
    expect(admin.send('EXISTS other')).toBe(':0');
  });
});

describe('a script', () => {
  it('may call only what its user may call', () => {
    const client = signIn('+@all', '-get', '~mine', '&mine');
    const pcall = (...words: string[]): string =>
      client.send(['EVAL', 'return redis.pcall(unpack(ARGV))', '0', ...words]);
    expect(pcall('set', 'mine', '1')).toBe('+OK');
    expect(pcall('get', 'mine')).toMatch(/^-ERR The user .* can't run this command or subcommand$/);
    expect(pcall('set', 'other', '1')).toMatch(
      /^-ERR The user .* can't access at least one of the/,
    );
    expect(pcall('publish', 'other', '1')).toMatch(
      /^-ERR The user .* can't publish to the channel/,
    );
    expect(admin.send('EXISTS other')).toBe(':0');
    expect(logged()).toEqual([
      '1 channel lua other app',
      '1 key lua other app',
      '1 command lua get app',
    ]);
  });

  it('of another user runs with the rights of that user', () => {
    const client = signIn('+@all', '~mine');
    const script = "return redis.pcall('set', 'other', '1')";
    expect(client.send(['EVAL', script, '0'])).toMatch(/^-ERR The user/);
    expect(admin.send(['EVAL', script, '0'])).toBe('+OK');
    expect(client.send(['EVAL', script, '0'])).toMatch(/^-ERR The user/);
  });

  it('learns its rights by redis.acl_check_cmd', () => {
    const client = signIn('+@all', '~mine');
    const check = (key: string): string =>
      client.send(['EVAL', "return redis.acl_check_cmd('set', ARGV[1], '1')", '0', key]);
    expect(check('mine')).toBe(':1');
    expect(check('other')).toBe('$-1');
  });
});

describe('selectors', () => {
  it('allow a request that one of them allows whole', () => {
    const client = signIn('+get', '~read:*', '(+set ~write:*)');
    expect(client.send('GET read:a')).toBe('$-1');
    expect(client.send('SET write:a 1')).toBe('+OK');
    expect(client.send('GET write:a')).toBe(NO_KEY);
    expect(client.send('SET read:a 1')).toBe(NO_KEY);
    expect(client.send('DEL read:a')).toBe(NO_COMMAND('del'));
  });

  it('are removed by clearselectors', () => {
    const client = signIn('+get', '~*', '(+set ~*)');
    setUser('clearselectors');
    expect(client.send('SET a 1')).toBe(NO_COMMAND('set'));
  });
});

describe('a change of rights', () => {
  it.each([
    ['SUBSCRIBE', 'mine'],
    ['SSUBSCRIBE', 'mine'],
    ['PSUBSCRIBE', 'mine'],
  ])('closes a connection with %s to a channel that is no longer allowed', (word, channel) => {
    const client = signIn('+@all', '&mine', '&other');
    const neighbour = wire.connect();
    neighbour.send([word, channel]);
    client.send([word, channel]);
    setUser('resetchannels', '&mine');
    expect(client.isClosed).toBe(false);
    setUser('resetchannels', '&other');
    expect(client.isClosed).toBe(true);
    expect(neighbour.isClosed).toBe(false);
    expect(admin.send(['PUBSUB', 'NUMSUB', channel])).toBe(
      `*2 $4 mine :${word === 'SUBSCRIBE' ? 1 : 0}`,
    );
  });

  it('fails a blocked command that is no longer allowed, and no value is taken', () => {
    const client = signIn('+@all', '~*');
    expect(client.send('BLPOP list 0')).toBe('');
    setUser('resetkeys', '~other');
    expect(client.received()).toBe(NO_KEY);
    admin.send('RPUSH list a');
    expect(admin.send('LLEN list')).toBe(':1');
  });

  it('leaves a blocked command that is still allowed', () => {
    const client = signIn('+@all', '~*');
    expect(client.send('BLPOP list 0')).toBe('');
    setUser('resetkeys', '~list', '-get');
    admin.send('RPUSH list a');
    expect(client.received()).toBe('*2 $4 list $1 a');
  });

  it('refuses a command that CLIENT PAUSE has delayed', () => {
    const client = signIn('+@all', '~*');
    admin.send('CLIENT PAUSE 100 WRITE');
    expect(client.send('SET a 1')).toBe('');
    setUser('-set');
    wire.clock.advance(100);
    expect(client.received()).toBe(NO_COMMAND('set'));
    expect(admin.send('EXISTS a')).toBe(':0');
  });

  it('closes a connection with MONITOR that is no longer allowed', () => {
    const client = signIn('+@all', '~*');
    client.send('MONITOR');
    setUser('-monitor');
    expect(client.isClosed).toBe(true);
  });

  it('by the user itself takes effect after its reply', () => {
    const client = signIn('+@all', '~*', '&mine');
    client.send('HELLO 3');
    client.send('SUBSCRIBE mine');
    expect(client.send('ACL SETUSER app resetchannels')).toBe('+OK');
    expect(client.session.closing).toBe(true);
  });
});

describe('ACL DELUSER', () => {
  it('closes the connections of the user, also one that runs it', () => {
    const clients = [signIn('+@all'), signIn()];
    expect(clients[0]!.send('ACL DELUSER app')).toBe(':1');
    expect(clients[0]!.session.closing).toBe(true);
    expect(clients[1]!.isClosed).toBe(true);
    expect(clients[0]!.send('PING')).toBe(NO_COMMAND('ping'));
    expect(wire.connect().send('AUTH app pw')).toBe(WRONG);
  });

  it('deletes none if default is among the names', () => {
    setUser('on');
    expect(admin.send('ACL DELUSER app default')).toBe("-ERR The 'default' user cannot be removed");
    expect(admin.send('ACL USERS')).toBe('*2 $3 app $7 default');
  });
});

describe('exit commands', () => {
  function openSession(client: WireClient): void {
    expect(client.send('HOLDFAST.SESSION s')).toBe('+OK');
  }

  /** Ends the session, and runs its exit commands. */
  function end(client: WireClient): void {
    client.session.close();
    wire.clock.advance(1);
  }

  it('are refused when they are added, if the user may not run them', () => {
    const client = signIn('+@all', '~mine');
    openSession(client);
    expect(client.send('HOLDFAST.WILL SET s w SET other 1')).toBe(NO_KEY);
    expect(client.send('HOLDFAST.WILL SET s w SET mine 1')).toBe('+OK');
    end(client);
    expect(admin.send('GET mine')).toBe('$1 1');
  });

  it('with EVALSHA need the right to EVAL, by which they run', () => {
    const sha = admin.send(['SCRIPT', 'LOAD', "return redis.call('set', 'x', 1)"]).slice(-40);
    const client = signIn('+@all', '-eval', '~*');
    openSession(client);
    expect(client.send(`HOLDFAST.WILL SET s w EVALSHA ${sha} 0`)).toBe(NO_COMMAND('eval'));
    setUser('+eval');
    expect(client.send(`HOLDFAST.WILL SET s w EVALSHA ${sha} 0`)).toBe('+OK');
    end(client);
    expect(admin.send('GET x')).toBe('$1 1');
  });

  it('run with the rights that their user has then', () => {
    const client = signIn('+@all', '~*');
    openSession(client);
    client.send('HOLDFAST.WILL SET s w SET other 1');
    setUser('resetkeys', '~mine');
    end(client);
    expect(admin.send('EXISTS other')).toBe(':0');
  });

  it('run with the rights of the user that added them, not of the last user of the connection', () => {
    const client = signIn('+@all', '~*');
    openSession(client);
    client.send('HOLDFAST.WILL SET s w SET other 1');
    client.send('AUTH default x');
    setUser('resetkeys', '~mine');
    end(client);
    expect(admin.send('EXISTS other')).toBe(':0');
  });

  it('do not run after their user was deleted', () => {
    const client = signIn('+@all', '~*');
    openSession(client);
    client.send('HOLDFAST.WILL SET s w SET other 1');
    admin.send('ACL DELUSER app');
    wire.clock.advance(1);
    expect(admin.send('EXISTS other')).toBe(':0');
  });
});

describe('ACL LOG', () => {
  it('counts equal refusals within a minute in one entry', () => {
    const client = signIn('+@all', '-get', '~*');
    client.send('GET a');
    client.send('GET b');
    wire.clock.advance(61_000);
    client.send('GET a');
    expect(logged()).toEqual(['1 command toplevel get app', '2 command toplevel get app']);
    expect(admin.send('ACL LOG RESET')).toBe('+OK');
    expect(admin.send('ACL LOG')).toBe('*0');
  });

  it('keeps the newest acllog-max-len entries, and limits their size', () => {
    const client = signIn('+@all', '~mine');
    admin.send('CONFIG SET acllog-max-len 2');
    for (const key of ['a', 'b', 'c'.repeat(100_000)]) client.send(['GET', key]);
    expect(wire.engine.acl.log.entries.map(({ object }) => object.length)).toEqual([150, 1]);
    admin.send('CONFIG SET acllog-max-len 0');
    expect(logged()).toEqual([]);
  });

  it('has no password of a failed sign-in', () => {
    setUser('on', '>pw');
    wire.connect().send('AUTH app hunter2');
    wire.connect().send('HELLO 3 AUTH app hunter2');
    expect(logged()).toEqual(['1 auth toplevel HELLO app', '1 auth toplevel AUTH app']);
    expect(admin.send('ACL LOG')).not.toContain('hunter2');
  });
});

it('SLOWLOG does not show the rules of ACL SETUSER', () => {
  admin.send('CONFIG SET slowlog-log-slower-than 0');
  setUser('on', '>hunter2');
  const shown = admin.send('SLOWLOG GET');
  expect(shown).toContain('SETUSER');
  expect(shown).not.toContain('hunter2');
});

describe('ACL LOAD and ACL SAVE', () => {
  let text: string;

  beforeEach(() => {
    wire.engine.settings.put('aclfile', 'users.acl');
    wire.engine.acl.file = {
      load: () => text,
      save: (saved) => {
        text = saved;
      },
    };
  });

  it('a file without a line for default signs new connections in again', () => {
    text = 'user default off';
    expect(admin.send('ACL LOAD')).toBe('+OK');
    const before = wire.connect();
    expect(before.send('PING')).toMatch(/^-NOAUTH/);
    text = 'user app on nopass ~* +@all';
    wire.engine.acl.load();
    expect(wire.connect().send('PING')).toBe('+PONG');
  });

  it('a file without a line for default signs no connection in if there is a password', () => {
    admin.send('CONFIG SET requirepass secret');
    const waiting = wire.connect();
    text = 'user app on';
    expect(admin.send('ACL LOAD')).toBe('+OK');
    expect(waiting.send('PING')).toMatch(/^-NOAUTH/);
  });

  it('restore every user', () => {
    setUser(
      'on',
      '>pw',
      '~a*',
      '%R~b*',
      '&c',
      '+@all',
      '-@admin',
      '+config|get',
      '(+get ~x)',
      '()',
    );
    admin.send('ACL SETUSER other nopass skip-sanitize-payload +@lock +select|0');
    const before = admin.send('ACL LIST');
    expect(admin.send('ACL SAVE')).toBe('+OK');
    admin.send('ACL DELUSER app other');
    expect(admin.send('ACL LOAD')).toBe('+OK');
    expect(admin.send('ACL LIST')).toBe(before);
  });

  it('change the rights of open connections, and close those of users that are gone', () => {
    const client = signIn('+@all', '~*');
    admin.send('ACL SETUSER gone on nopass');
    const gone = wire.connect();
    gone.send('AUTH gone x');
    text = 'user app on nopass ~* +get\n';
    expect(admin.send('ACL LOAD')).toBe('+OK');
    expect(client.send('SET a 1')).toBe(NO_COMMAND('set'));
    expect(client.send('GET a')).toBe('$-1');
    expect(gone.isClosed).toBe(true);
    expect(client.isClosed).toBe(false);
  });

  it('without a line for default keep the password of requirepass', () => {
    admin.send('CONFIG SET requirepass secret');
    admin.send('ACL SETUSER default -get');
    text = 'user app on\n';
    expect(admin.send('ACL LOAD')).toBe('+OK');
    expect(admin.send('ACL LIST')).toMatch(/user default on #[0-9a-f]{64} ~\* &\* \+@all$/);
  });

  it.each([
    [
      'user a +foo',
      "users.acl:2: Error in applying operation '+foo': Unknown command or category name in ACL. ",
    ],
    ['user a foo bar', 'users.acl:2: Syntax error. '],
    [
      'user a >secret #short',
      'users.acl:2: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters. ',
    ],
    ['# comment', 'users.acl:2 should start with user keyword followed by the username. '],
    ['user', 'users.acl:2 should start with user keyword followed by the username. '],
    ['user app on', "WARNING: Duplicate user 'app' found on line 2. "],
    ['user a (+get', 'users.acl:2: Unmatched parenthesis in selector definition.'],
    ['user a\tb on', "'users.acl:2: username 'a\tb' contains invalid characters. "],
  ])('change nothing for the line %j', (line, error) => {
    setUser('on', '+get');
    const before = admin.send('ACL LIST');
    text = `user app off\n${line}\nuser new on\n`;
    expect(admin.send('ACL LOAD')).toBe(
      `-ERR ${error}WARNING: ACL errors detected, no change to the previously active ACL rules was performed`,
    );
    expect(admin.send('ACL LIST')).toBe(before);
  });

  it('report a file that cannot be read or written', () => {
    wire.engine.acl.file = {
      load: () => {
        throw new Error('no such file');
      },
      save: () => {
        throw new Error('disk full');
      },
    };
    const lines: string[] = [];
    wire.engine.log = (_level, line) => lines.push(line);
    expect(admin.send('ACL LOAD')).toBe(
      "-ERR Error loading ACLs, opening file 'users.acl': no such file",
    );
    expect(admin.send('ACL SAVE')).toMatch(/^-ERR There was an error trying to save the ACLs\./);
    expect(lines).toEqual(['cannot write the ACL file: disk full']);
  });
});

it('acl-pubsub-default gives new users all channels', () => {
  admin.send('CONFIG SET acl-pubsub-default allchannels');
  setUser('on', '>pw', '+@all');
  expect(admin.send('ACL LIST')).toContain(' &* +@all');
  setUser('reset');
  expect(admin.send('ACL LIST')).toContain(' &* -@all');
});

it('SORT reads the keys of patterns only for a user that may read all keys', () => {
  const client = signIn('+@all', '~list');
  admin.send('RPUSH list a');
  admin.send('SET secret_a value');
  const refused = (option: string): string =>
    `-ERR ${option} option of SORT denied due to insufficient ACL permissions.`;
  expect(client.send('SORT list ALPHA GET secret_*')).toBe(refused('GET'));
  expect(client.send('SORT_RO list ALPHA BY secret_*')).toBe(refused('BY'));
  setUser('%R~*');
  expect(client.send('SORT list ALPHA GET secret_*')).toBe('*1 $5 value');
});

it('SORT stores only in a key of the user, also if a key has the name of an option', () => {
  const words = ['GET', 'BY', 'LIMIT', 'STORE', 'ALPHA', '0', 'victim'];
  const own = ['list', ...words.slice(0, -1)].map((word) => `~${word}`);
  const client = signIn('+sort', ...own);
  admin.send('RPUSH list a');
  const property = fc.property(fc.array(fc.constantFrom(...words), { maxLength: 6 }), (options) => {
    client.send(['SORT', 'list', 'ALPHA', ...options]);
    expect(admin.send('EXISTS victim')).toBe(':0');
  });
  fc.assert(property, {
    numRuns: 2000,
    examples: [[['STORE', 'GET', 'STORE', 'victim']], [['STORE', 'LIMIT', 'STORE', 'victim']]],
  });
});
