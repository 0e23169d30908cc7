import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient } from '../../../test/wire-client.ts';
import { COMMANDS, everyCommand } from './index.ts';

let client: WireClient;

beforeEach(() => {
  client = startWireEngine().connect();
});

const GET_FACTS =
  '*10 $3 get :2 *2 +readonly +fast :1 :1 :1 *3 +@read +@string +@fast *0 *1 *6 $5 flags *2 +RO +access $12 begin_search *4 $4 type $5 index $4 spec *2 $5 index :1 $9 find_keys *4 $4 type $5 range $4 spec *6 $7 lastkey :0 $7 keystep :1 $5 limit :0 *0';

describe('COMMAND INFO', () => {
  it('returns arity, flags and keys in the form of Redis', () => {
    expect(client.send('COMMAND INFO get nonsense GET')).toBe(`*3 ${GET_FACTS} $-1 ${GET_FACTS}`);
  });

  it('finds a subcommand by client|id', () => {
    expect(client.send('COMMAND INFO client|id client|nonsense')).toBe(
      '*2 *10 $9 client|id :2 *3 +noscript +loading +stale :0 :0 :0 *2 +@slow +@connection *0 *0 *0 $-1',
    );
    expect(client.send('COMMAND INFO config')).toMatch(
      /^\*1 \*10 \$6 config :-2 \*0 .* \*10 \$10 config\|set /,
    );
  });

  it('returns sets and maps in RESP3', () => {
    client.send('HELLO 3');
    expect(client.send('COMMAND INFO ssubscribe')).toBe(
      '*1 *10 $10 ssubscribe :-2 ~4 +pubsub +noscript +loading +stale :1 :-1 :1 ~2 +@pubsub +@slow ~0 ~1 %3 $5 flags ~1 +not_key $12 begin_search %2 $4 type $5 index $4 spec %1 $5 index :1 $9 find_keys %2 $4 type $5 range $4 spec %3 $7 lastkey :-1 $7 keystep :1 $5 limit :0 ~0',
    );
  });

  it('returns key specifications', () => {
    expect(client.send('COMMAND INFO eval')).toMatch(
      / :0 :0 :0 .* \+RW \+access \+update .* \$5 index :2 .* \$6 keynum .* \$9 keynumidx :0 \$8 firstkey :1 /,
    );
    expect(client.send('COMMAND INFO zunionstore')).toMatch(
      / :1 :1 :1 .* \+OW \+update .* \$5 range .* \+RO \+access .* \$6 keynum /,
    );
    expect(client.send('COMMAND INFO sort')).toMatch(/ :1 :1 :1 .* \$5 notes .* \$7 unknown /);
    expect(client.send('COMMAND INFO setnx')).toContain(' *2 +OW +insert ');
    expect(client.send('COMMAND INFO publish')).not.toContain('may_replicate');
  });

  it('returns all commands without arguments, like COMMAND', () => {
    expect(client.send('COMMAND INFO')).toBe(client.send('COMMAND'));
    expect(client.send('COMMAND')).toMatch(new RegExp(`^\\*${COMMANDS.size} `));
  });
});

describe('COMMAND DOCS', () => {
  it('returns summary, version, group, complexity and arguments', () => {
    expect(client.send('COMMAND DOCS setnx nonsense')).toBe(
      '*2 $5 setnx *10 $7 summary $54 Sets the value of a key only if the key does not exist $5 since $5 1.0.0 $5 group $6 string $10 complexity $4 O(1) $9 arguments *2 *6 $4 name $3 key $4 type $3 key $14 key_spec_index :0 *4 $4 name $5 value $4 type $6 string',
    );
  });

  it('returns the command that replaces a deprecated one', () => {
    expect(client.send('COMMAND DOCS GETSET')).toContain(
      ' $9 doc_flags *1 +deprecated $16 deprecated_since $5 6.2.0 $11 replaced_by $16 `SET` with `GET` ',
    );
  });

  it('returns the history of SET', () => {
    expect(client.send('COMMAND DOCS set')).toContain(
      ' $7 history *4 *2 $6 2.6.12 $25 Options NX, XX, EX and PX *2 $5 6.0.0 ',
    );
  });

  it('does not find a name with two bars', () => {
    expect(client.send('COMMAND DOCS client|id|x')).toBe('*0');
  });

  it('returns subcommands, flags and alternatives', () => {
    const docs = client.send('COMMAND DOCS client');
    expect(docs).toContain(' $11 subcommands *');
    expect(docs).toContain(
      '$12 client|pause *12 $7 summary $45 Delays the commands of all clients for a time $5 since $6 2.9.50 $5 group $10 connection $10 complexity $4 O(1) $7 history *1 *2 $5 6.2.0 $19 Modes WRITE and ALL $9 arguments *2 *4 $4 name $7 timeout $4 type $7 integer *8 $4 name $9 write_all $4 type $5 oneof $5 flags *1 +optional $9 arguments *2',
    );
  });

  it('returns all commands without arguments', () => {
    expect(client.send('COMMAND DOCS')).toMatch(new RegExp(`^\\*${COMMANDS.size * 2} `));
  });
});

describe('COMMAND LIST', () => {
  it('returns all names, with those of subcommands', () => {
    expect(client.send('COMMAND LIST')).toMatch(new RegExp(`^\\*${everyCommand().length} `));
  });

  it.each([
    ['FILTERBY PATTERN ech*', '*1 $4 echo'],
    ['filterby pattern CLIENT|G*', '*2 $14 client|getname $15 client|getredir'],
    ['FILTERBY ACLCAT Transaction', '*5 $5 multi $4 exec $7 discard $5 watch $7 unwatch'],
    ['FILTERBY ACLCAT nonsense', '*0'],
    ['FILTERBY MODULE x', '*0'],
    ['FILTERBY', '-ERR syntax error'],
    ['FILTERBY foo x', '-ERR syntax error'],
    ['foo', '-ERR syntax error'],
  ])('%s', (filter, reply) => {
    expect(client.send(`COMMAND LIST ${filter}`)).toBe(reply);
  });
});

it.each([
  ['GETKEYS get x', '*1 $1 x'],
  ['GETKEYS mset a 1 b 2', '*2 $1 a $1 b'],
  ['GETKEYS memory usage k', '*1 $1 k'],
  ['GETKEYS zunionstore a 2 b c', '*3 $1 a $1 b $1 c'],
  ['GETKEYS eval x 2 a b c', '*2 $1 a $1 b'],
  ['GETKEYS eval x 0', '*0'],
  ['GETKEYS get x y', '-ERR Invalid number of arguments specified for command'],
  ['GETKEYS nonsense x', '-ERR Invalid command specified'],
  ['GETKEYS object nonsense x', '-ERR Invalid command specified'],
  ['GETKEYS client id', '-ERR The command has no key arguments'],
  ['GETKEYS ssubscribe a', '-ERR The command has no key arguments'],
  ['GETKEYS zunion a b', '-ERR Invalid arguments specified for command'],
  ['GETKEYS ping', "-ERR wrong number of arguments for 'command|getkeys' command"],
  ['COUNT x', "-ERR wrong number of arguments for 'command|count' command"],
  ['COUNT', `:${COMMANDS.size}`],
  ['foo', "-ERR unknown subcommand 'foo'. Try COMMAND HELP."],
])('COMMAND %s', (words, reply) => {
  expect(client.send(`COMMAND ${words}`)).toBe(reply);
});

it('COMMAND HELP returns the subcommands', () => {
  expect(client.send('COMMAND HELP')).toContain('+DOCS [command-name [command-name ...]]');
});
