import { describe, expect, it } from 'vitest';
import { newSeed } from '../../test/new-seed.ts';
import { virtualClock } from '../clock/index.ts';
import { replayFound, soak } from './index.ts';

/** A clock that advances by a second with each read. */
function ticking() {
  const clock = virtualClock();
  const monotonicMs = (): number => {
    clock.advance(1000);
    return clock.monotonicMs();
  };
  return { ...clock, monotonicMs };
}

describe('soak', () => {
  it('prints its seed first, runs for the given minutes, and finds no failure', async () => {
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    const seed = Number(newSeed());
    const clock = ticking();
    expect(await soak({ minutes: 0.2, seed, say, clock }), lines.join('\n')).toBe(true);
    expect(lines[0]).toBe(`seed ${seed}`);
    expect(lines.at(-1)).toMatch(/^12 s: \d{4} runs, \d+\.\d virtual hours, nothing found$/);
  });

  it('refuses invalid minutes and an invalid seed', async () => {
    const say = (): void => {};
    await expect(soak({ minutes: Number.NaN, seed: 1, say })).rejects.toThrow(
      'minutes must be more than 0, not NaN',
    );
    await expect(soak({ minutes: 1, seed: Number.NaN, say })).rejects.toThrow(
      'seed must be a whole number, not NaN',
    );
  });

  it('replays a failure of the library and of a recipe', async () => {
    const played = async (name: string, schedule: string, world = {}) => {
      const lines: string[] = [];
      const isSound = await replayFound(name, schedule, world, (line) => lines.push(line));
      return { isSound, lines };
    };
    const library = await played('mutex', '2xa');
    expect(library.isSound).toBe(true);
    expect(library.lines[2]).toBe('* xa  0.000 s  A, it crashes');
    const recipe = await played('holdfast-mutex', 'a.za.b', { clients: 2 });
    expect(recipe.isSound).toBe(false);
    expect(recipe.lines.at(-1)).toBe('two-inside: Step 5: A and B are inside at once.');
  });
});
