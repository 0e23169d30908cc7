import { describe, expect, it } from 'vitest';
import {
  CHECKS,
  type CheckName,
  type Exploration,
  explore,
  exploreAtRandom,
  RECIPES,
} from '../index.ts';

const isWholeSearch = process.env['HOLDFAST_LAB'] === 'whole';

type Steps = Partial<Record<CheckName, number>>;

/** The failures of a plain DEL when its client is slower than its lease. */
const PLAIN_DEL: Steps = {
  'two-inside': 5,
  'foreign-release': 8,
  'silent-loss': 8,
  'two-live-leases': 9,
  'two-awake-inside': 9,
  'late-write': 9,
};

const GETSET_PAUSED: Steps = {
  'two-inside': 11,
  'two-awake-inside': 12,
  'foreign-release': 14,
  'silent-loss': 14,
  'late-write': 15,
  'two-live-leases': 16,
  'prolonged-by-loser': 16,
  'held-by-none': 14,
};

/** The checks that fail with the number of steps of a shortest failure, and the schedule to show. */
const VERDICTS: Readonly<Record<string, readonly [Steps, schedule?: string]>> = {
  'setnx-only crash': [{ 'held-for-ever': 2, 'waiter-not-served': 2 }, 'axa'],
  'setnx-only lost-reply': [{ 'held-for-ever': 1, 'waiter-not-served': 1 }, 'la'],
  'setnx-only no-crash': [{}],
  'setnx-then-expire crash': [{ 'held-for-ever': 2, 'waiter-not-served': 2 }, 'axa'],
  'setnx-then-expire pause': [
    {
      'two-inside': 7,
      'foreign-release': 10,
      'silent-loss': 10,
      'late-write': 11,
      'two-live-leases': 12,
      'two-awake-inside': 12,
    },
    'aa.aza.bbwaa',
  ],
  'setnx-then-expire no-fault': [{}],
  'setnx-repaired-expire crash': [{}],
  'setnx-repaired-expire pause': [
    {
      'two-inside': 7,
      'prolonged-by-loser': 8,
      'foreign-release': 10,
      'silent-loss': 10,
      'late-write': 11,
      'two-live-leases': 11,
      'two-awake-inside': 11,
    },
    'aa.aza.bbwaa',
  ],
  'multi-setnx-expire crash': [
    { 'waiter-not-served': 2, 'prolonged-by-loser': 3 },
    'axabc.bc.bc.bc.',
  ],
  'multi-setnx-expire no-fault': [{ 'prolonged-by-loser': 3 }, 'a.b'],
  'lua-setnx-expire pause': [PLAIN_DEL, 'a.aza.bwaa'],
  'lua-setnx-expire keys-only': [PLAIN_DEL, 'a.aza.bwaa'],
  'lua-setnx-expire no-pause': [{}],
  'set-nx-ex-del pause': [PLAIN_DEL, 'a.aza.bwaa'],
  'set-nx-ex-del no-pause': [{}],
  'set-nx-px-get-del pause': [
    {
      'two-inside': 5,
      'foreign-release': 9,
      'late-write': 9,
      'two-live-leases': 10,
      'two-awake-inside': 10,
    },
    'a.aaza.bwaa',
  ],
  'set-nx-px-get-del unchecked': [
    {
      'two-live-leases': 2,
      'two-awake-inside': 2,
      'two-inside': 2,
      'late-write': 5,
      'foreign-release': 6,
      'silent-loss': 6,
    },
    'ab',
  ],
  'set-nx-px-lua-del pause': [{ 'two-inside': 5, 'late-write': 9 }, 'a.za.b.bwaa'],
  'set-nx-px-lua-del no-pause': [{}],
  'set-nx-px-lua-del lost-reply': [{}],
  'set-nx-px-lua-del skewed-clocks': [{}],
  'timestamp-del-setnx crash': [
    {
      'foreign-release': 17,
      'two-live-leases': 18,
      'two-awake-inside': 18,
      'two-inside': 18,
      'late-write': 21,
      'silent-loss': 21,
    },
    'aaxa...bbbbcccbbccc',
  ],
  'timestamp-getset take-over': [{}],
  'timestamp-getset loser-prolongs': [GETSET_PAUSED, 'aaxa...bbbzbccccc.wbbb'],
  'timestamp-getset left-by-loser': [
    {
      'two-inside': 11,
      'two-awake-inside': 12,
      'foreign-release': 14,
      'silent-loss': 14,
      'held-by-none': 14,
      'late-write': 15,
    },
    'aabbbzb.aa..wbbb',
  ],
  'timestamp-getset still-expired': [GETSET_PAUSED, 'aabbbzb.aa.cc.wbbb'],
  'timestamp-getset at-or-before': [{}],
  'timestamp-getset without-plus-one': [
    {
      'two-awake-inside': 9,
      'two-inside': 9,
      'foreign-release': 11,
      'held-by-none': 11,
      'silent-loss': 11,
      'two-live-leases': 13,
      'late-write': 17,
    },
    'aa.bbbb.aa.bb.ccccc',
  ],
  'timestamp-getset unchecked-del': [GETSET_PAUSED, 'aa.aza..bbbbbwaa'],
  'timestamp-getset skewed-clocks': [
    {
      'two-live-leases': 8,
      'two-awake-inside': 8,
      'two-inside': 8,
      'foreign-release': 11,
      'late-write': 11,
      'silent-loss': 11,
      'held-by-none': 11,
      'prolonged-by-loser': 13,
    },
    '+abbaaaaa',
  ],
  'timestamp-getset-checked window': [
    {
      'two-inside': 11,
      'two-awake-inside': 12,
      'foreign-release': 15,
      'late-write': 15,
      'two-live-leases': 17,
      'prolonged-by-loser': 17,
      'held-by-none': 15,
      'silent-loss': 21,
    },
    'aa.aaza..bbbbbwaa',
  ],
  'timestamp-getset-checked elapsed': [
    {
      'two-inside': 11,
      'two-awake-inside': 12,
      'foreign-release': 16,
      'silent-loss': 16,
      'held-by-none': 16,
      'late-write': 17,
      'two-live-leases': 18,
      'prolonged-by-loser': 19,
    },
    'aaza..waa.bbbbbaaa',
  ],
  'timestamp-getset-checked no-pause': [{}],
  'timestamp-getset-slow late-losers': [{ 'prolonged-by-loser': 19 }, 'aaxa...bb.bcc.cbb.cc'],
  'memcached-add delete': [PLAIN_DEL, 'a.aza.bwaa'],
  'memcached-add cas': [{ 'two-inside': 5, 'late-write': 9 }, 'a.za.b.bwaa'],
  'memcached-add whole-seconds': [
    {
      'two-awake-inside': 4,
      'two-inside': 4,
      'foreign-release': 6,
      'silent-loss': 6,
      'two-live-leases': 7,
      'late-write': 11,
    },
    'b.a.bb.a.c',
  ],
  'memcached-touch touch': [
    { 'two-inside': 5, 'two-live-leases': 7, 'prolonged-by-loser': 8, 'late-write': 12 },
    'a.za.b.waa',
  ],
  'memcached-touch cas': [{ 'two-inside': 5, 'late-write': 15 }, 'a.za.b'],
  'memcached-eviction full': [
    {
      'foreign-release': 3,
      'two-live-leases': 4,
      'two-awake-inside': 4,
      'two-inside': 4,
      'late-write': 7,
    },
    'aabb',
  ],
  'memcached-eviction own-memory': [{}],
  'watchdog pause': [{ 'two-inside': 5, 'late-write': 20 }, 'a.za.b'],
  'watchdog no-pause': [{}],
  'watchdog no-renewal': [{ 'two-awake-inside': 4, 'two-inside': 4 }, 'a..b'],
  'fenced pause': [{ 'two-inside': 5 }, 'a.za.b'],
  'fenced no-pause': [{}],
  'holdfast-mutex pause': [{ 'two-inside': 5 }, 'a.za.b'],
  'holdfast-mutex no-pause': [{}],
  'holdfast-mutex lost-reply': [{}],
  'holdfast-mutex unfenced': [{ 'two-inside': 5, 'late-write': 12 }, 'a.aza..b.bbwaa'],
  'holdfast-read-write pause': [{ 'two-inside': 5 }, 'a.za.b'],
  'holdfast-read-write two-writers': [{ 'two-inside': 5 }, 'a.za.b'],
  'holdfast-read-write lost-reply': [{}],
  'holdfast-semaphore pause': [{ 'two-inside': 5, 'late-write': 12 }, 'a.za.b'],
  'holdfast-semaphore no-pause': [{}],
  'holdfast-semaphore lost-reply': [{}],
};

const variants = RECIPES.flatMap((recipe) =>
  recipe.variants.map((variant) => [`${recipe.name} ${variant.name}`, recipe, variant] as const),
);

/**
 * The largest worlds with fewer ticks than they have: enough for the same verdicts. `npm run search:lab` searches the
 * whole worlds.
 */
const FEWER_TICKS: Readonly<Record<string, number>> = {
  'holdfast-mutex pause': 3,
  'holdfast-read-write pause': 2,
  'holdfast-read-write two-writers': 3,
  'holdfast-read-write lost-reply': 3,
};

const explored = new Map<string, Exploration>();

/** Explores each variant once for all tests. */
function exploration(title: string): Exploration {
  const [recipe, variant] = title.split(' ');
  const ticks = isWholeSearch ? undefined : FEWER_TICKS[title];
  const found =
    explored.get(title) ??
    explore(recipe!, { variant: variant!, ...(ticks !== undefined && { ticks }) });
  explored.set(title, found);
  return found;
}

/** Several hundred thousand states take half a minute on a busy machine. */
const LONG_SEARCH_MS = 180_000;

describe('the recipes of the seeds', () => {
  it.each(variants)('%s', { timeout: LONG_SEARCH_MS }, (title, _, variant) => {
    const found = exploration(title);
    const failures = found.verdicts.flatMap(({ failure }) => failure ?? []);
    const steps = Object.fromEntries(failures.map((failure) => [failure.check, failure.steps]));
    const [expected, schedule] = VERDICTS[title]!;
    expect(steps).toEqual(expected);
    expect(found.failure?.schedule).toBe(schedule);
    expect(found.failure?.check).toBe(variant.shows);
    expect([found.isComplete, found.isExpected]).toEqual([true, true]);
  });

  it('each have a row in the table of verdicts', () => {
    expect(variants.map(([title]) => title)).toEqual(Object.keys(VERDICTS));
  });

  it('have texts in both languages', () => {
    const texts = [
      ...RECIPES.map(({ about }) => about),
      ...variants.map(([, , variant]) => variant.about),
      ...CHECKS.map(({ about }) => about),
    ];
    for (const { en, zh } of texts) {
      expect(en).toMatch(/^[A-Z].*\.$/);
      expect(zh).toMatch(/\p{Script=Han}.*。$/u);
    }
  });
});

/** The checks that must hold for a mutex even if any client is paused. */
const ASKED_OF_A_LEASE: readonly CheckName[] = CHECKS.map(({ name }) => name).filter(
  (name) => name !== 'two-inside' && name !== 'late-write',
);

describe('the recipes that are right', () => {
  /**
   * A lease does not stop a paused holder from resuming: then two clients are inside, and without a fence the
   * resource accepts a late write. A semaphore has no fence to check, since its holders have no order.
   */
  const RIGHT = {
    'set-nx-px-lua-del pause': ['two-inside', 'late-write'],
    'memcached-add cas': ['two-inside', 'late-write'],
    'memcached-touch cas': ['two-inside', 'late-write'],
    'watchdog pause': ['two-inside', 'late-write'],
    'fenced pause': ['two-inside'],
    'holdfast-mutex pause': ['two-inside'],
    'holdfast-read-write pause': ['two-inside'],
    'holdfast-semaphore pause': ['two-inside', 'late-write'],
  } as const satisfies Readonly<Record<string, readonly CheckName[]>>;

  it.each(Object.entries(RIGHT))(
    '%s: three clients, a crash and a pause break nothing that is promised',
    (title, unpromised) => {
      const found = exploration(title);
      expect(found.world).toMatchObject({ clients: 3, crashes: 1, pauses: 1 });
      const failed = found.verdicts.filter(({ holds }) => !holds).map(({ check }) => check);
      expect(failed).toEqual(unpromised);
      expect(found.variant.unpromised).toEqual(unpromised);
      expect([found.isComplete, found.isExpected, found.keepsPromises]).toEqual([true, true, true]);
      const kept = found.verdicts.filter(({ isPromised }) => isPromised).map(({ check }) => check);
      expect(kept).toEqual(expect.arrayContaining([...ASKED_OF_A_LEASE]));
    },
  );

  it.each(Object.keys(RIGHT))('%s: nothing fails with two crashes, but no pause', (title) => {
    const [recipe, variant] = title.split(' ');
    const found = explore(recipe!, { variant: variant!, crashes: 2, pauses: 0 });
    expect(found.failure).toBeUndefined();
    expect(found.isComplete).toBe(true);
  });

  it('are the only ones with unpromised checks, and only in worlds with a pause', () => {
    for (const [title, , { unpromised, fails, world }] of variants) {
      if (unpromised === undefined) continue;
      expect(unpromised, title).toEqual(fails);
      expect(world.pauses, title).not.toBe(0);
      expect(Object.keys(RIGHT).map((each) => each.split(' ')[0])).toContain(title.split(' ')[0]);
    }
  });
});

describe('the script of this library', () => {
  const names = variants.map(([title]) => title).filter((title) => title.startsWith('holdfast-'));

  it.each(names)('%s: fails no promised check in random runs', (title) => {
    const [recipe, variant] = title.split(' ');
    const found = exploreAtRandom(recipe!, { variant: variant!, seed: 1, runs: 5 });
    expect(found.failure).toBeUndefined();
  });
});
