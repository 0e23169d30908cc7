import { type Clock, systemClock } from '../clock/index.ts';
import { exploreAtRandom } from './explore-at-random.ts';
import { LabError } from './lab-error.ts';
import { exploreLibraryAtRandom, replayLibrary } from './library/explore-library.ts';
import { SCENARIOS } from './library/scenario.ts';
import type { WorldOptions } from './options.ts';
import type { Variant } from './recipe.ts';
import { RECIPES } from './recipes/index.ts';
import { replay } from './replay.ts';

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly say: (line: string) => void;
  readonly clock?: Clock;
}

/** Number of runs of one scenario or recipe before the next one. */
const RUNS_A_TURN = { library: 100, recipe: 5 } as const;
const REPORT_EVERY_MS = 30_000;

/** The result of one turn. */
interface Turn {
  readonly runs: number;
  readonly virtualHours: number;
  readonly failure?: { readonly text: string; readonly replay: string };
}

/**
 * Explores the library at random for a number of minutes: in turn each scenario of the real library code, and
 * each recipe that runs the library's script. Returns false if a check failed; then it prints the command
 * that replays the failure.
 */
export async function soak(options: SoakOptions): Promise<boolean> {
  const { minutes, seed, say, clock = systemClock } = options;
  if (!(minutes > 0)) throw new LabError(`minutes must be more than 0, not ${minutes}`);
  if (!Number.isSafeInteger(seed)) throw new LabError(`seed must be a whole number, not ${seed}`);
  say(`seed ${seed}`);
  const beganMs = clock.monotonicMs();
  let [runs, virtualHours, saidMs] = [0, 0, beganMs];
  for (let at = 0; ; at++) {
    const turn = await TURNS[at % TURNS.length]!(seed + at);
    runs += turn.runs;
    virtualHours += turn.virtualHours;
    if (turn.failure !== undefined) {
      say(turn.failure.text);
      say(`Replay it: ${turn.failure.replay}`);
      return false;
    }
    const nowMs = clock.monotonicMs();
    const isOver = nowMs - beganMs >= minutes * 60_000;
    if (isOver || nowMs - saidMs >= REPORT_EVERY_MS) {
      saidMs = nowMs;
      const seconds = Math.round((nowMs - beganMs) / 1000);
      say(`${seconds} s: ${runs} runs, ${virtualHours.toFixed(1)} virtual hours, nothing found`);
    }
    if (isOver) return true;
  }
}

const TURNS: readonly ((seed: number) => Turn | Promise<Turn>)[] = [
  ...SCENARIOS.map(({ name }) => libraryTurn(name)),
  ...RECIPES.filter(({ name }) => name.startsWith('holdfast-')).flatMap(({ name, variants }) =>
    variants.map((variant) => recipeTurn(name, variant)),
  ),
];

function libraryTurn(name: string) {
  return async (seed: number): Promise<Turn> => {
    const runs = RUNS_A_TURN.library;
    // Run n of a turn has the seed of the turn plus n. Seeds far apart keep two turns from making the same run.
    const found = await exploreLibraryAtRandom(name, { seed: Math.imul(seed, 0x9e3779b1), runs });
    const turn = { runs: found.schedules, virtualHours: found.virtualHours };
    if (found.failure === undefined) return turn;
    const { check, sentence, schedule } = found.failure;
    const text = `${name}, ${check}: ${sentence}`;
    return { ...turn, failure: { text, replay: replayCommand(name, schedule) } };
  };
}

function recipeTurn(name: string, { name: variant }: Variant) {
  return (seed: number): Turn => {
    const runs = RUNS_A_TURN.recipe;
    const found = exploreAtRandom(name, { variant, seed: Math.imul(seed, 0x9e3779b1), runs });
    const turn = { runs: found.runs, virtualHours: found.virtualHours };
    if (found.failure === undefined) return turn;
    const { check, sentence, schedule } = found.failure;
    const text = `${name}, ${check}: ${sentence.en}`;
    const command = replayCommand(name, schedule, { variant, ...found.world });
    return { ...turn, failure: { text, replay: command } };
  };
}

function replayCommand(name: string, schedule: string, world?: object): string {
  const options = world === undefined ? '' : ` --world '${JSON.stringify(world)}'`;
  return `npm run soak:lab -- --replay ${name} '${schedule}'${options}`;
}

/** Replays a failure that `soak` found, and prints every step. Returns false if a check fails. */
export async function replayFound(
  name: string,
  schedule: string,
  world: Partial<WorldOptions>,
  say: (line: string) => void,
): Promise<boolean> {
  if (RECIPES.some((recipe) => recipe.name === name)) {
    const { trace, violations } = replay(name, schedule, world);
    for (const { label, seconds, client, action, reply } of trace) {
      say(`${label.padEnd(4)}${seconds.toFixed(3)} s  ${client ?? ''} ${action}  ${reply ?? ''}`);
    }
    for (const { check, sentence } of violations) say(`${check}: ${sentence.en}`);
    return violations.length === 0;
  }
  const { trace, check, sentence } = await replayLibrary(name, schedule);
  for (const { label, isUsual, seconds, text } of trace) {
    say(`${isUsual ? ' ' : '*'} ${label.padEnd(4)}${seconds.toFixed(3)} s  ${text}`);
  }
  if (check !== undefined) say(`${check}: ${sentence}`);
  return check === undefined;
}
