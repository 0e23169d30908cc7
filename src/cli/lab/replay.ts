import { isExpected, type Replay, replay } from '../../lab/index.ts';
import { safeJson } from '../printable.ts';
import { type Io, print } from '../verb.ts';
import { replayData } from './as-json.ts';
import { diagramLines, drawDiagram, type Look } from './diagram.ts';
import { Findings } from './findings.ts';
import { REPLAY_OPTIONS, readWords, worldOptions } from './lab-options.ts';
import { printableTrace } from './printable-trace.ts';
import { recipeNamed } from './recipe-file.ts';
import { EXIT_CODES, lookFor } from './session.ts';
import { Stepper } from './stepper.ts';

/** `holdfast lab replay`: one run of a recipe, step by step on a terminal, else all at once. */
export async function replayRecipe(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values, words } = readWords(REPLAY_OPTIONS, ['recipe', 'schedule'], args);
  if (values.help) return print(io, help);
  const look = lookFor(values, io);
  const run = replay(recipeNamed(words[0]!), words[1]!, worldOptions(values));
  const shown = { ...run, trace: printableTrace(run.trace) };
  const hasSurprise = run.violations.some(({ check }) => !isExpected(run, check, false));
  const conclusion = hasSurprise ? 'unexpected' : 'expected';
  if (values.json) print(io, safeJson(replayData(run, !hasSurprise), 2));
  else if (io.input.isTTY && io.output.isTTY) await new Stepper(shown, io, look).run();
  else print(io, `${draw(shown, look)}\n${new Findings(look).replayEnd(run, conclusion)}`);
  return EXIT_CODES[conclusion];
}

function draw({ trace, violations }: Replay, look: Look): string {
  return [...diagramLines(drawDiagram(trace, violations, look)), ''].join('\n');
}
