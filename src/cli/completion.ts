import { existsSync, readFileSync } from 'node:fs';
import { bashCompletion } from './completion-bash.ts';
import { zshCompletion } from './completion-zsh.ts';
import { VERBS } from './dispatch.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { print, UsageError, type Verb } from './verb.ts';

/** One verb, as completion knows it. */
export interface CompletedVerb {
  readonly word: string;
  readonly summary: string;
  readonly options: OptionTable;
  readonly words: 'locks' | readonly string[];
}

const SHELLS: ReadonlyMap<string, (verbs: readonly CompletedVerb[]) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
]);

const COMPLETION_OPTIONS = { help: HELP } as const satisfies OptionTable;

/** `holdfast completion`: for the shell to read. */
export const completion: Verb = {
  options: COMPLETION_OPTIONS,
  words: [...SHELLS.keys()],

  help: `holdfast completion: prints what makes a shell complete verbs, options and the names of locks

Usage: holdfast completion bash|zsh

${describeOptions(COMPLETION_OPTIONS)}

Names of locks are asked for with holdfast ls, where HOLDFAST_STORE or the --store on the line says.

Examples:
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh > "\${fpath[1]}/_holdfast"     then start a new zsh
  source <(holdfast completion bash)                    in this bash only`,

  async run(args, io) {
    const { values, words } = readMixed(COMPLETION_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const write = SHELLS.get(words[0] ?? '');
    if (write === undefined) throw new UsageError('Say for which shell: bash or zsh.');
    io.output.write(builtScript(words[0]!) ?? write(await completedVerbs()));
    return 0;
  },
};

/** The script that the build has written beside the bundle, so that not every verb has to be loaded. */
function builtScript(shell: string): string | undefined {
  const file = new URL(`./completion/${shell}`, import.meta.url);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

async function completedVerbs(): Promise<CompletedVerb[]> {
  const entries = [...VERBS].map(async ([word, { summary, load }]) => {
    const { options = {}, words = [] } = await load();
    return { word, summary, options, words };
  });
  return [...(await Promise.all(entries)), HELP_VERB];
}

const HELP_VERB: CompletedVerb = {
  word: 'help',
  summary: 'tells more about a verb',
  options: {},
  words: [...VERBS.keys()],
};
