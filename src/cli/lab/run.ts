import {
  CHECKS,
  type CheckName,
  type Exploration,
  explore,
  type Failure,
} from '../../lab/index.ts';
import { safeJson } from '../printable.ts';
import { type Io, print } from '../verb.ts';
import { explorationData } from './as-json.ts';
import { diagramLines, drawDiagram, type Look } from './diagram.ts';
import { Findings } from './findings.ts';
import {
  mostStatesOf,
  namesIn,
  RUN_OPTIONS,
  readWords,
  replayCommand,
  worldOptions,
} from './lab-options.ts';
import { printableTrace } from './printable-trace.ts';
import { ProgressLine } from './progress-line.ts';
import { recipeNamed } from './recipe-file.ts';
import { conclude, EXIT_CODES, lookFor } from './session.ts';
import { wrap } from './text-width.ts';

/** `holdfast lab run`: one recipe in one world, and its failure as a diagram. */
export async function runRecipe(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values, words } = readWords(RUN_OPTIONS, ['recipe'], args);
  if (values.help) return print(io, help);
  const look = lookFor(values, io);
  const progress = new ProgressLine(io, look.language);
  const { check, 'most-states': mostStates } = values;
  const found = explore(recipeNamed(words[0]!), {
    ...worldOptions(values),
    ...(check !== undefined && { checks: namesIn(check) as CheckName[] }),
    ...(mostStates !== undefined && { mostStates: mostStatesOf(mostStates) }),
    onProgress: progress.follow(words[0]!),
  });
  progress.clear();
  if (values.json) print(io, safeJson(explorationData(found, found.failure), 2));
  else tell(found, io, look);
  return EXIT_CODES[conclude([found])];
}

function tell(found: Exploration, io: Io, look: Look): void {
  const findings = new Findings(look);
  print(io, findings.recipe(found.recipe));
  print(io, `${findings.search(found)}\n\n${findings.verdicts(found)}\n`);
  if (findings.legend([found]) !== '') print(io, findings.legend([found]));
  if (found.failure !== undefined) print(io, draw(found, found.failure, look));
  print(io, findings.conclusion(conclude([found])));
}

function draw(found: Exploration, failure: Failure, look: Look): string {
  const { check, steps, trace, sentence } = failure;
  const about = CHECKS.find(({ name }) => name === check)?.about[look.language] ?? '';
  const { isPromised } = found.verdicts.find((verdict) => verdict.check === check)!;
  const diagram = drawDiagram(printableTrace(trace), [{ step: steps, sentence, isPromised }], look);
  return [
    ...wrap(`${check}: ${about}`, look.width),
    '',
    ...diagramLines(diagram),
    '',
    replayCommand(found, failure.schedule),
  ].join('\n');
}
