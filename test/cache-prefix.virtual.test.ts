import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { heldLoad, openProgram, type Program, type ProgramOptions, turn } from './cache-scene.ts';

const KEPT = { fresh: '10m', tags: ['red'] } as const;

let clock: VirtualClock;
let engine: Engine;
let count: number;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  count = 0;
});

function open(prefix: string, options: ProgramOptions = {}): Program {
  const program = openProgram(engine, clock, ++count, { ...options, prefix });
  onTestFinished(() => program.locks.close());
  return program;
}

const notLoaded = (): never => {
  throw new Error('the value was loaded');
};

describe('caches with different prefixes on one Redis', () => {
  it('do not share values, failed loads or loads under way', async () => {
    const [shop, blog, other] = [open('shop:'), open('blog:'), open('shop:')];
    const { load, loads } = heldLoad<string>();
    const calls = [shop, blog, other].map(({ cache }) => cache.get('a', KEPT, load));
    await turn();
    expect(loads).toHaveLength(2);
    loads[0]!.resolve('of the shop');
    loads[1]!.resolve('of the blog');
    expect(await Promise.all(calls)).toEqual(['of the shop', 'of the blog', 'of the shop']);
    expect(await other.cache.get('a', KEPT, notLoaded)).toBe('of the shop');
    expect(await blog.cache.get('a', KEPT, notLoaded)).toBe('of the blog');
  });

  it('do not share deletions and invalidations of tags', async () => {
    const [shop, blog] = [open('shop:'), open('blog:')];
    await shop.cache.set('a', 'of the shop', KEPT);
    await blog.cache.set('a', 'of the blog', KEPT);
    expect(await blog.cache.delete('a')).toBe(1);
    await blog.cache.invalidate(['red']);
    expect(await shop.cache.get('a', KEPT, notLoaded)).toBe('of the shop');
    expect(await blog.cache.has('a', KEPT)).toBe(false);
  });

  it('do not receive the changes of the other in their memory tiers', async () => {
    const [shop, blog, other] = [open('shop:', { memory: true }), open('blog:'), open('shop:')];
    await shop.cache.set('a', 'old', KEPT);
    for (let times = 0; times < 3; times++) {
      expect(await shop.cache.get('a', KEPT, notLoaded)).toBe('old');
      await turn();
    }
    const before = shop.network.calls;
    await blog.cache.set('a', 'of the blog', KEPT);
    await turn();
    expect(await shop.cache.get('a', KEPT, notLoaded)).toBe('old');
    expect(shop.network.calls).toBe(before);
    await other.cache.set('a', 'new', KEPT);
    await turn();
    expect(await shop.cache.get('a', KEPT, notLoaded)).toBe('new');
  });

  it('have keys that all begin with the prefix', async () => {
    const { cache } = open('shop:');
    await cache.get('a', KEPT, () => 'value');
    await turn();
    const keys = execute(engine.session(), ['KEYS', '*']) as string[];
    expect(keys.length).toBeGreaterThan(2);
    expect(keys.filter((key) => !key.startsWith('shop:'))).toEqual([]);
  });
});
