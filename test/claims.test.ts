import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../src/cli/console/client.ts';
import { formatReply } from '../src/cli/console/format-reply.ts';
import { parseStoreAddress } from '../src/cli/store-address.ts';
import { createEngine, execute } from '../src/engine/index.ts';
import { CHECKS, explore, RECIPES, replay, type Text } from '../src/lab/index.ts';
import { CLAIM_REFERENCE, CLAIMS, type Evidence, QUESTIONS } from '../src/lab/report/index.ts';
import { type Reply, splitInlineArguments } from '../src/resp/index.ts';
import { ROOT } from './cli-process.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

/** The evidence of one kind, each with the number of its claim. */
function evidenceOf<Kind extends Evidence['kind']>(kind: Kind) {
  type OfKind = Extract<Evidence, { kind: Kind }>;
  return CLAIMS.flatMap(({ number, evidence }) =>
    evidence
      .filter((each): each is OfKind => each.kind === kind)
      .map((each) => [number, each] as const),
  );
}

function argvOf(command: string): string[] {
  const line = Buffer.from(command);
  return splitInlineArguments(line, 0, line.length)!;
}

describe('the claims', () => {
  it('are numbered from 1 to 107', () => {
    const numbers = CLAIMS.map(({ number }) => number);
    expect(numbers).toEqual(Array.from({ length: 107 }, (_, index) => index + 1));
  });

  it('are complete, in both languages', () => {
    for (const { number, place, claim, reason, rightForm, verdict, evidence } of CLAIMS) {
      const title = `claim ${number}`;
      for (const { en, zh } of [place, claim, reason, ...(rightForm === null ? [] : [rightForm])]) {
        expect(en, title).toMatch(/^[^\p{Script=Han}]+$/u);
        expect(zh, title).toMatch(/\S/);
      }
      for (const { en, zh } of [claim, reason]) {
        expect(en, title).toMatch(/[.?]$/);
        expect(zh, title).toMatch(/[。？]$/);
      }
      expect(evidence.length, title).toBeGreaterThan(0);
      if (verdict === 'wrong') expect(rightForm, title).not.toBeNull();
    }
  });

  it('refer to claims that exist, and the same ones in both languages', () => {
    const texts = CLAIMS.flatMap(({ reason, rightForm }) => [reason, rightForm ?? reason]);
    for (const each of texts) expect(referencesIn(each, 'zh')).toEqual(referencesIn(each, 'en'));
    const numbers = [
      ...texts.flatMap((each) => referencesIn(each, 'en')),
      ...QUESTIONS.flatMap(({ claims }) => claims),
    ];
    for (const number of numbers) expect(CLAIMS[number - 1]?.number).toBe(number);
  });

  it('support the numbers in the answers to the questions', () => {
    for (const language of ['en', 'zh'] as const) {
      for (const { answer, claims } of QUESTIONS) {
        const said = JSON.stringify(claims.map((number) => CLAIMS[number - 1]));
        for (const number of answer[language].match(/\d+(\.\d+)*/g) ?? []) {
          expect(said, answer[language]).toMatch(new RegExp(`(?<!\\d)${number}(?!\\d)`));
        }
      }
    }
  });

  function referencesIn(each: Text, language: keyof Text): number[] {
    const references = each[language].match(CLAIM_REFERENCE) ?? [];
    return references.flatMap((reference) => reference.match(/\d+/g)!.map(Number));
  }
});

describe('the dialogues', () => {
  let redis: RunningServer;
  let client: Client;
  const dialogues = evidenceOf('dialogue');

  beforeAll(async () => {
    redis = await startRealRedis();
    const store = parseStoreAddress(`redis://127.0.0.1:${redis.port}`);
    client = new Client({ store, onPush() {}, onClose() {} });
    await client.connect();
  });
  afterAll(async () => {
    client.close();
    await redis.stop();
  });

  it.each(dialogues)(
    'claim %d, dialogue %#: redis-server replies as printed',
    async (_, { lines }) => {
      await client.request(['FLUSHALL']);
      await client.request(['SCRIPT', 'FLUSH']);
      for (const [command, reply] of lines) {
        expect(formatReply(await client.request(argvOf(command))), command).toBe(reply);
      }
    },
  );

  it.each(dialogues)('claim %d, dialogue %#: the engine replies as printed', (_, { lines }) => {
    const engine = createEngine();
    const session = engine.session();
    for (const [command, reply] of lines) {
      expect(formatReply(execute(session, argvOf(command)) as Reply), command).toBe(reply);
    }
    engine.close();
  });
});

describe('the replays', () => {
  it.each(evidenceOf('replay'))('claim %d, replay %#', (_, evidence) => {
    const { recipe, variant, schedule, fails, world } = evidence;
    const { violations, trace, variant: found } = replay(recipe, schedule, { variant, ...world });
    if (fails === null) return expect(violations).toEqual([]);
    const step = violations.find(({ check }) => check === fails)?.step;
    // A scene may go on after the failure, to show what comes of it.
    if (schedule === found.scene) expect(step).toBeLessThanOrEqual(trace.length);
    else expect(step).toBe(trace.length);
  });
});

describe('the searches', () => {
  const searches = evidenceOf('search');

  it.each(searches)('claim %d, search %#', (_, { recipe, variant, fails, world }) => {
    if (Object.keys(world).length === 0) {
      // A search of the gallery: recipes.test.ts runs it and compares it with what the variant says.
      const found = RECIPES.find(({ name }) => name === recipe)?.variants.find(
        ({ name }) => name === variant,
      );
      expect(found?.fails.toSorted()).toEqual(fails.toSorted());
    } else {
      const { verdicts, isComplete } = explore(recipe, { variant, ...world });
      expect(isComplete).toBe(true);
      const failing = verdicts.filter(({ holds }) => !holds).map(({ check }) => check);
      expect(failing).toEqual(fails);
    }
  });

  it('name checks that exist', () => {
    const names = CHECKS.map(({ name }) => name);
    for (const [, { fails }] of searches) expect(names).toEqual(expect.arrayContaining([...fails]));
  });
});

describe('the named tests', () => {
  it.each(evidenceOf('test'))('claim %d, test %#', (_, { file, title }) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`('${title}', `);
  });
});

describe('the figures', () => {
  it.each(evidenceOf('figure'))('claim %d, figure %#', (number, { from, text }) => {
    expect(existsSync(join(ROOT, from))).toBe(true);
    if (from.startsWith('bench/')) {
      const pages = readFileSync(join(ROOT, 'docs', 'benchmarks.md'), 'utf8').replaceAll('\n', ' ');
      for (const figure of text.en.match(/\d[\d,.]*\d/g) ?? []) expect(pages).toContain(figure);
    } else expect(readFileSync(join(ROOT, from), 'utf8')).toContain(`'claim ${number}: `);
    expect(text.en).toMatch(/\d/);
    expect(text.zh).toMatch(/\d/);
  });
});

describe('the page on the documents', () => {
  it('is what the table as built gives, in both languages', () => {
    execFileSync(process.execPath, [join(ROOT, 'scripts', 'seeds-page.js'), '--check'], {
      stdio: 'pipe',
    });
  });
});
