import { isExpected, type Replay, replay } from '../../lab/index.ts';
import { type Io, print } from '../verb.ts';
import { replayData } from './as-json.ts';
import { drawDiagram, type Look } from './diagram.ts';
import { Findings } from './findings.ts';
import { REPLAY_OPTIONS, readWords, worldWishes } from './lab-options.ts';
import { recipeNamed } from './recipe-file.ts';
import { EXIT_CODES, lookFor } from './session.ts';
import { Stepper } from './stepper.ts';

/** `holdfast lab replay`: one run of a recipe, step by step on a terminal, else all at once. */
export async function replayRecipe(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values, words } = readWords(REPLAY_OPTIONS, ['recipe', 'schedule'], args);
  if (values.help) return print(io, help);
  const look = lookFor(values, io);
  const run = replay(recipeNamed(words[0]!), words[1]!, worldWishes(values));
  const hasSurprise = run.violations.some(({ check }) => !isExpected(run, check, false));
  const conclusion = hasSurprise ? 'unexpected' : 'expected';
  if (values.json) print(io, JSON.stringify(replayData(run, !hasSurprise), null, 2));
  else if (io.input.isTTY && io.output.isTTY) await new Stepper(run, io, look).run();
  else print(io, `${draw(run, look)}\n${new Findings(look).replayEnd(run, conclusion)}`);
  return EXIT_CODES[conclusion];
}

function draw({ trace, violations }: Replay, look: Look): string {
  const { head, steps, legend } = drawDiagram(trace, violations, look);
  return [head, ...steps.flat(), legend, ''].join('\n');
}
