import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyCommand } from '../src/engine/commands/index.ts';
import type { Reply } from '../src/resp/index.ts';
import { plain } from './differential/command-docs.ts';
import { ONLY_HERE } from './differential/exemptions.ts';
import { RawClient } from './differential/raw-client.ts';
import { show } from './differential/rules.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

/**
 * The allowed differences from COMMAND and COMMAND DOCS of redis-server, by command. docs/differences.md has the same
 * list. Sentences are our own: only their presence is compared.
 */
const DIFFERENCES = {
  /** Notations that our complexity has beyond those of Redis, because our data structures differ. */
  complexity: {
    set: 'O(log(N))',
    setex: 'O(log(N))',
    psetex: 'O(log(N))',
    getex: 'O(log(N))',
    expire: 'O(log(N))',
    pexpire: 'O(log(N))',
    expireat: 'O(log(N))',
    pexpireat: 'O(log(N))',
    persist: 'O(log(N))',
    append: 'O(N)',
    setrange: 'O(N)',
  },
  /** Why the arguments are described differently. */
  arguments: {
    set: 'IFEQ and IFNE are not in Redis 7.0',
    'command|getkeys': 'Redis 7.0 does not describe them',
    sort: 'BY, GET and STORE have no key_spec_index',
    sort_ro: 'BY and GET have no key_spec_index',
    'client|kill': 'the filters are a block, not a choice that repeats',
    'client|list': 'ID is no block with one part',
    psubscribe: 'the pattern is no block with one part',
    'config|get': 'the pattern is no block with one part',
  },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

/** Every command that both servers have. */
const SHARED = everyCommand()
  .map(({ name }) => name)
  .filter((name) => !ONLY_HERE.has(name));

interface ArgumentDocs {
  readonly name: string;
  readonly type: string;
  readonly key_spec_index?: number;
  readonly token?: string;
  readonly flags?: readonly string[];
  readonly arguments?: readonly ArgumentDocs[];
}

interface Docs {
  readonly summary: string;
  readonly since: string;
  readonly group: string;
  readonly complexity?: string;
  readonly doc_flags?: readonly string[];
  readonly deprecated_since?: string;
  readonly replaced_by?: string;
  readonly history?: readonly (readonly [version: string, change: string])[];
  readonly arguments?: readonly ArgumentDocs[];
  readonly subcommands?: Readonly<Record<string, Docs>>;
}

interface Facts {
  readonly client: RawClient;
  readonly docs: ReadonlyMap<string, Docs>;
  /** The fields of COMMAND INFO, each with its RESP3 types. */
  readonly info: ReadonlyMap<string, readonly string[]>;
}

const servers: RunningServer[] = [];
let redis: Facts;
let ours: Facts;

beforeAll(async () => {
  servers.push(await startRealRedis(), await startHoldfast());
  redis = await readFacts(servers[0]!.port);
  ours = await readFacts(servers[1]!.port);
});

afterAll(async () => {
  for (const facts of [redis, ours]) facts?.client.destroy();
  for (const server of servers) await server.stop();
});

async function readFacts(port: number): Promise<Facts> {
  const client = await RawClient.connect(port);
  await client.request('HELLO', '3');
  const docs = plain(await client.request('COMMAND', 'DOCS')) as Record<string, Docs>;
  const info = flatInfo(await client.request('COMMAND'));
  return { client, docs: new Map(flatDocs(docs)), info: new Map(info) };
}

function flatDocs(docs: Readonly<Record<string, Docs>>): (readonly [string, Docs])[] {
  return Object.entries(docs).flatMap(([name, each]) => [
    [name, each] as const,
    ...flatDocs(each.subcommands ?? {}),
  ]);
}

/** Subcommands are compared one by one, because Redis has more of them: here only the type of their list. */
function flatInfo(info: Reply): [name: string, fields: string[]][] {
  return (info as Reply[][]).flatMap((command) => {
    const [subcommands, ...fields] = command.toReversed();
    const hasSome = Array.isArray(subcommands);
    const shown = [...fields.reverse().map(withoutText), hasSome ? 'array' : show(subcommands!)];
    return [[String(command[0]), shown], ...(hasSome ? flatInfo(subcommands) : [])];
  });
}

/** COMMAND DOCS with `true` in place of sentences. */
function docsFacts({ docs }: Facts, name: string) {
  const found = docs.get(name)!;
  return {
    fields: Object.keys(found).filter((field) => field !== 'arguments'),
    hasSummary: found.summary !== '',
    since: found.since,
    group: found.group,
    docFlags: found.doc_flags,
    deprecatedSince: found.deprecated_since,
    replacedBy: found.replaced_by?.match(/^`(\w+)`/)?.[1],
    history: found.history?.map(([version, change]) => [version, change !== '']),
  };
}

/** The distinct `O(…)` notations, without punctuation, in which Redis is not consistent. */
function notations(complexity = ''): Set<string> {
  const found = complexity.match(/O\((?:[^()]|\([^()]*\))*\)/g) ?? [];
  return new Set(found.map((each) => each.replace(/[ *]/g, '').replace('logN', 'log(N)')));
}

/** Tokens, structure and keys. Names of blocks, types of values and versions may differ. */
function argumentFacts(argument: ArgumentDocs): object {
  const { name, type, token, flags, arguments: parts, key_spec_index: keySpecIndex } = argument;
  const isValue = !['oneof', 'block', 'pure-token'].includes(type);
  return {
    token,
    flags,
    keySpecIndex,
    ...(isValue ? { name, isKey: type === 'key' } : { type }),
    parts: parts?.map(argumentFacts),
  };
}

function lookUp(table: Readonly<Record<string, string>>, name: string): string[] {
  return Object.hasOwn(table, name) ? [table[name]!] : [];
}

describe('compared with redis-server', () => {
  it.each(SHARED)('COMMAND INFO %s is equal, with its RESP3 types', (name) => {
    expect(ours.info.get(name)).toEqual(redis.info.get(name));
  });

  it.each(SHARED)('COMMAND DOCS %s has the same facts', (name) => {
    expect(docsFacts(ours, name)).toEqual(docsFacts(redis, name));
  });

  it.each(SHARED)('COMMAND DOCS %s has the same complexity', (name) => {
    const expected = notations(redis.docs.get(name)!.complexity);
    for (const more of lookUp(DIFFERENCES.complexity, name)) expected.add(more);
    expect(notations(ours.docs.get(name)!.complexity)).toEqual(expected);
  });

  it.each(SHARED)('COMMAND DOCS %s has the same arguments', (name) => {
    const [found, expected] = [ours, redis].map(({ docs }) =>
      docs.get(name)!.arguments?.map(argumentFacts),
    );
    const isEqual = lookUp(DIFFERENCES.arguments, name).length === 0;
    if (isEqual) expect(found).toEqual(expected);
    else expect(found).not.toEqual(expected);
  });

  it('describes the commands that Redis 7.0 does not have', () => {
    for (const name of ONLY_HERE) {
      expect(redis.docs.has(name), name).toBe(false);
      expect(ours.docs.get(name), name).toMatchObject({
        summary: expect.stringMatching(/./),
        since: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        complexity: expect.stringMatching(/./),
      });
    }
  });

  it.each([
    ['DOCS', 'nonsense'],
    ['DOCS', ''],
    ['DOCS', 'get|x'],
    ['DOCS', 'get|'],
    ['DOCS', 'config|nonsense'],
    ['DOCS', 'config|get|x'],
    ['DOCS', '|'],
    ['INFO', 'nonsense', 'get|x', 'config|get|x', ''],
    ['INFO', 'SETNX', 'Config|Get', 'mget', 'sinterstore', 'bzmpop', 'publish', 'setnx'],
  ])('COMMAND %s %s … has the same reply in RESP2 and RESP3', async (...words) => {
    for (const protocol of ['2', '3']) {
      const replies = [];
      for (const { client } of [redis, ours]) {
        await client.request('HELLO', protocol);
        replies.push(show(await client.request('COMMAND', ...words)));
      }
      expect(replies[1]).toBe(replies[0]);
    }
  });

  it.each(['2', '3'])('COMMAND DOCS has the same kinds of replies in RESP%s', async (protocol) => {
    const names = ['GETSET', 'exists', 'Config|ResetStat', 'nonsense', 'exists', 'sort_ro|x'];
    const replies = [];
    for (const { client } of [redis, ours]) {
      await client.request('HELLO', protocol);
      replies.push(withoutText(await client.request('COMMAND', 'DOCS', ...names)));
    }
    expect(replies[1]).toBe(replies[0]);
  });
});

it('docs/differences.md names every command whose facts differ', () => {
  const page = readFileSync(new URL('../docs/differences.md', import.meta.url), 'utf8');
  const section = page.match(/^## Facts of commands$.*?(?=^## )/ms)![0];
  const names = Object.values(DIFFERENCES).flatMap((table) => Object.keys(table));
  const titles = names.map((name) => `\`${name.replace('|', ' ').toUpperCase()}\``);
  expect(titles.filter((title) => !section.includes(title))).toEqual([]);
});

/** The reply without sentences: texts with a space. */
function withoutText(reply: Reply): string {
  return show(reply).replace(/"[^"]*"/g, (word) => (word.includes(' ') ? '(text)' : word));
}
