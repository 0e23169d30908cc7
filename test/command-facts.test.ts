import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyCommand } from '../src/engine/commands/index.ts';
import { plain } from './differential/command-docs.ts';
import { ONLY_HERE } from './differential/exemptions.ts';
import { RawClient } from './differential/raw-client.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

/**
 * COMMAND and COMMAND DOCS of both servers, field by field. Facts must be equal. Sentences are our own:
 * they must be present where Redis has one. docs/differences.md lists what may differ.
 */
const DIFFERENCES = {
  /** Notations that our complexity has beyond those of Redis, because our structures differ. */
  complexity: {
    set: ['O(log(N))'],
    setex: ['O(log(N))'],
    psetex: ['O(log(N))'],
    getex: ['O(log(N))'],
    expire: ['O(log(N))'],
    pexpire: ['O(log(N))'],
    expireat: ['O(log(N))'],
    pexpireat: ['O(log(N))'],
    persist: ['O(log(N))'],
    append: ['O(N)'],
    setrange: ['O(N)'],
  },
} as const satisfies { complexity: Record<string, readonly string[]> };

/** Every command that both servers have. */
const SHARED = everyCommand()
  .map(({ name }) => name)
  .filter((name) => !ONLY_HERE.has(name));

interface Docs {
  readonly summary: string;
  readonly since: string;
  readonly group: string;
  readonly complexity?: string;
  readonly doc_flags?: readonly string[];
  readonly deprecated_since?: string;
  readonly replaced_by?: string;
  readonly history?: readonly (readonly [version: string, change: string])[];
  readonly arguments?: readonly unknown[];
  readonly subcommands?: Readonly<Record<string, Docs>>;
}

interface KeySpecification {
  readonly notes?: string;
}

type Info = readonly [
  name: string,
  arity: number,
  flags: readonly string[],
  first: number,
  last: number,
  step: number,
  categories: readonly string[],
  tips: readonly string[],
  keys: readonly KeySpecification[],
  subcommands: readonly Info[],
];

interface Facts {
  readonly client: RawClient;
  readonly docs: ReadonlyMap<string, Docs>;
  readonly info: ReadonlyMap<string, Info>;
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
  await client.ask('HELLO', '3');
  const docs = plain(await client.ask('COMMAND', 'DOCS')) as Record<string, Docs>;
  const info = plain(await client.ask('COMMAND')) as Info[];
  return {
    client,
    docs: new Map(flatDocs(docs)),
    info: new Map(flatInfo(info).map((each) => [each[0], each])),
  };
}

function flatDocs(docs: Readonly<Record<string, Docs>>): [string, Docs][] {
  return Object.entries(docs).flatMap(([name, each]) => [
    [name, each] as [string, Docs],
    ...flatDocs(each.subcommands ?? {}),
  ]);
}

function flatInfo(info: readonly Info[]): Info[] {
  return info.flatMap((each) => [each, ...flatInfo(each[9])]);
}

/** The facts of a command, without its sentences and its subcommands. */
function docsFacts({ docs }: Facts, name: string) {
  const found = docs.get(name)!;
  return {
    fields: Object.keys(found),
    since: found.since,
    group: found.group,
    docFlags: found.doc_flags,
    deprecatedSince: found.deprecated_since,
    replacedBy: found.replaced_by?.match(/^`(\w+)`/)?.[1],
    versions: found.history?.map(([version]) => version),
  };
}

function infoFacts({ info }: Facts, name: string) {
  const [, arity, flags, first, last, step, categories, tips, keys] = info.get(name)!;
  return { arity, flags, first, last, step, categories, tips, keys: keys.map(withoutNotes) };
}

/** A note is a sentence: only its presence counts. */
function withoutNotes(key: KeySpecification): object {
  return 'notes' in key ? { ...key, notes: key.notes !== '' } : key;
}

/** Each `O(…)`, once, without the signs that Redis sets in some commands and leaves out in others. */
function notations(complexity = ''): Set<string> {
  const found = complexity.match(/O\((?:[^()]|\([^()]*\))*\)/g) ?? [];
  return new Set(found.map((each) => each.replace(/[ *]/g, '').replace('logN', 'log(N)')));
}

describe('COMMAND DOCS beside redis-server', () => {
  it.each(SHARED)('%s has the same facts', (name) => {
    expect(docsFacts(ours, name)).toEqual(docsFacts(redis, name));
  });

  it.each(SHARED)('%s has the same complexity', (name) => {
    const more = (DIFFERENCES.complexity as Record<string, readonly string[]>)[name] ?? [];
    const expected = new Set([...notations(redis.docs.get(name)!.complexity), ...more]);
    expect(notations(ours.docs.get(name)!.complexity)).toEqual(expected);
  });

  it.each(SHARED)('%s has sentences of our own', (name) => {
    const sentences = (facts: Facts) => {
      const {
        summary,
        complexity = '',
        replaced_by: replacedBy = '',
        history = [],
      } = facts.docs.get(name)!;
      return [summary, complexity, replacedBy, ...history.map(([, change]) => change)];
    };
    const texts = sentences(ours);
    expect(texts.map((text) => text !== '')).toEqual(sentences(redis).map((text) => text !== ''));
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
});

describe('COMMAND INFO beside redis-server', () => {
  it.each(SHARED)('%s has the same facts', (name) => {
    expect(infoFacts(ours, name)).toEqual(infoFacts(redis, name));
  });
});
