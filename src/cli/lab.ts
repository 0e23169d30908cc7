import { LabError, RECIPES } from '../lab/index.ts';
import {
  LIST_OPTIONS,
  REPORT_OPTIONS,
  RUN_OPTIONS,
  SERVE_OPTIONS,
  STAMPEDE_OPTIONS,
} from './lab/lab-options.ts';
import { listRecipes } from './lab/list.ts';
import { showQuorum } from './lab/quorum.ts';
import { isFile } from './lab/recipe-file.ts';
import { replayRecipe } from './lab/replay.ts';
import { writeReport } from './lab/report.ts';
import { runRecipe } from './lab/run.ts';
import { searchAll } from './lab/search-all.ts';
import { serveLab } from './lab/serve.ts';
import { showStampede } from './lab/stampede.ts';
import { describeOptions, type OptionTable } from './options.ts';
import { type Io, UsageError, type Verb } from './verb.ts';

type Part = (args: readonly string[], io: Io, help: string) => Promise<number>;

const PARTS: ReadonlyMap<string, Part> = new Map([
  ['list', listRecipes],
  ['run', runRecipe],
  ['replay', replayRecipe],
  ['report', writeReport],
  ['serve', serveLab],
  ['stampede', showStampede],
  ['quorum', showQuorum],
]);

/** `holdfast lab`: searches lock recipes in every interleaving, and shows schedules that fail. */
export const lab: Verb = {
  options: { ...STAMPEDE_OPTIONS, ...RUN_OPTIONS, ...REPORT_OPTIONS, ...SERVE_OPTIONS },
  words: [...PARTS.keys()],

  help: `holdfast lab: runs lock recipes through every interleaving, and shows how they go wrong

Usage: holdfast lab list [options]                   prints the recipes, at once
       holdfast lab [options]                        searches all of them: a minute or more
       holdfast lab run <recipe> [options]           searches one, and draws a failure: a shortest one,
                                                     or the scene that explains it
       holdfast lab replay <recipe> <schedule> …     steps through one run of it
       holdfast lab report --out <folder>            writes the whole gallery as one web page
       holdfast lab serve [--port <number>]          the lab and the tutorial as a web page, on this machine
       holdfast lab stampede [options]               an expired cache entry that many clients request
       holdfast lab quorum [options]                 the votes of quorumStore, and what breaks them

Options of run and replay (replay knows neither --check nor --most-states):
${describeOptions(without(RUN_OPTIONS, LIST_OPTIONS))}

Options of the search of all, and of report (--out is for report):
${describeOptions(without(REPORT_OPTIONS, RUN_OPTIONS))}

Options of serve:
${describeOptions(without(SERVE_OPTIONS, LIST_OPTIONS))}

Options of stampede:
${describeOptions(without(STAMPEDE_OPTIONS, LIST_OPTIONS))}

Options of all (report knows no --json):
${describeOptions(LIST_OPTIONS)}

A recipe is one of the list, or the path of a file with your own as plain text, such as ./my-recipe.txt;
"A recipe as plain text" in docs/lab.md has the language. Nothing may fail in a recipe of your own.

What is not given is as the variant says. A schedule is one sign a step: a is a step of client A, . is a
tick of the clock (1 s unless --tick-ms says otherwise), xa the crash of A, za its pause, wa the end of the
pause, la a lost reply, +a and -a a clock that is ahead or behind.

Exit codes:
  0  every verdict is the expected one
  1  an error outside of the search, such as a folder that cannot be written to
  2  the command line is wrong
  3  a verdict is not the expected one
  4  the search was stopped at --most-states; what it saw until then is as expected

Examples:
  holdfast lab list
  holdfast lab run set-nx-ex-del
  holdfast lab run set-nx-px-lua-del --clients 4 --crashes 2 --pauses 0
  holdfast lab run ./my-recipe.txt --pauses 0
  holdfast lab replay set-nx-ex-del a.aza.bwaa --lang zh
  holdfast lab report --out gallery
  holdfast lab serve
  holdfast lab stampede --clients 50`,

  async run(args, io) {
    const [word = '', ...rest] = args;
    const part = PARTS.get(word);
    if (part === undefined && word !== '' && !word.startsWith('-')) throw unknown(word);
    try {
      return await (part === undefined
        ? searchAll(args, io, this.help)
        : part(rest, io, this.help));
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      // The option of lostReplies is --lost-replies.
      throw new UsageError(sentence(error.message.replace('lostReplies', 'lost-replies')));
    }
  },
};

/** With a capital letter, except for a path, and a full stop, unless it ends with a question mark. */
function sentence(text: string): string {
  const isPath = isFile(text.split(' ', 1)[0]!);
  const start = isPath ? text.charAt(0) : text.charAt(0).toUpperCase();
  return `${start}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

function unknown(word: string): UsageError {
  if (RECIPES.some(({ name }) => name === word)) {
    return new UsageError(`'${word}' is a recipe: did you mean holdfast lab run ${word}?`);
  }
  if (isFile(word)) return new UsageError(`Did you mean holdfast lab run ${word}?`);
  const known = [...PARTS.keys()].join(', ');
  return new UsageError(
    `There is no part '${word}' of the lab. Known parts: ${known}; without one it searches all recipes.`,
  );
}

function without(options: OptionTable, others: OptionTable): OptionTable {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !(name in others)));
}
