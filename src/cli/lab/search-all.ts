import type { Exploration, Text } from '../../lab/index.ts';
import { countText } from '../../lab/report/index.ts';
import { type Io, print, printError } from '../verb.ts';
import { explorationData } from './as-json.ts';
import { Findings } from './findings.ts';
import { readWords, SEARCH_ALL_OPTIONS } from './lab-options.ts';
import { ProgressLine } from './progress-line.ts';
import { conclude, EXIT_CODES, lookFor, searchGallery } from './session.ts';

/** `holdfast lab`: searches every recipe in every variant, which takes a minute or more. */
export async function searchAll(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(SEARCH_ALL_OPTIONS, [], args);
  if (values.help) return print(io, help);
  const look = lookFor(values, io);
  // On a terminal and off it: the first result may take seconds, all of them minutes.
  if (values.only === undefined) printError(io, START[look.language]);
  const progress = new ProgressLine(io, look.language);
  const findings = new Findings(look);
  const all: Exploration[] = [];
  for (const { recipe, found } of searchGallery(values.only, progress)) {
    const isNext = all.at(-1)?.recipe !== recipe;
    all.push(found);
    if (values.json) continue;
    if (isNext) print(io, `${all.length > 1 ? '\n' : ''}${findings.recipe(recipe)}`);
    print(io, findings.variantLines(found));
  }
  const conclusion = conclude(all);
  if (values.json)
    print(
      io,
      JSON.stringify(
        all.map((found) => explorationData(found)),
        null,
        2,
      ),
    );
  else {
    const end = `${findings.say(totals(all))}\n${findings.conclusion(conclusion)}`;
    print(io, `\n${findings.legend(all)}${end}`);
  }
  return EXIT_CODES[conclusion];
}

const START = {
  en: 'searching all recipes, which takes a minute or more; holdfast lab list prints them at once.',
  zh: '正在搜索全部配方，需要一分钟以上；holdfast lab list 立即列出它们。',
} as const;

function totals(all: readonly Exploration[]): Text {
  const states = countText(all.reduce((sum, found) => sum + found.states, 0));
  const runs = countText(all.reduce((sum, found) => sum + found.interleavings, 0n));
  return {
    en: `${all.length} searches: ${runs} interleavings in ${states} states.`,
    zh: `${all.length} 次搜索：${runs} 种交错，${states} 个状态。`,
  };
}
