import { existsSync, readFileSync } from 'node:fs';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';
import { VERBS } from './dispatch.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { print, UsageError, type Verb } from './verb.ts';

/** One verb, for completion. */
export interface CompletedVerb {
  readonly word: string;
  readonly summary: string;
  readonly options: OptionTable;
  readonly words: 'locks' | readonly string[];
}

const SHELLS: ReadonlyMap<string, (verbs: readonly CompletedVerb[]) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
]);

const COMPLETION_OPTIONS = { help: HELP } as const satisfies OptionTable;

/** `holdfast completion`: prints a script for a shell. */
export const completion: Verb = {
  options: COMPLETION_OPTIONS,
  words: [...SHELLS.keys()],

  help: `holdfast completion: prints a completion script for bash, zsh or fish

Usage: holdfast completion bash|zsh|fish

${describeOptions(COMPLETION_OPTIONS)}

The script completes verbs, options, their values, and names of locks. It reads the names with holdfast ls
from the store of --store on the line, else of HOLDFAST_STORE.

Examples:
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh > "\${fpath[1]}/_holdfast"     then start a new zsh
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
  source <(holdfast completion bash)                    in this bash only`,

  async run(args, io) {
    const { values, words } = readMixed(COMPLETION_OPTIONS, args, io.environment);
    if (values.help) return print(io, this.help);
    const write = SHELLS.get(words[0] ?? '');
    if (write === undefined) throw new UsageError('Name the shell: bash, zsh or fish.');
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
  return [...(await Promise.all(entries)), ...BUILT_IN];
}

/** Handled by the dispatcher itself. */
const BUILT_IN: readonly CompletedVerb[] = [
  { word: 'help', summary: 'describes a verb', options: {}, words: [...VERBS.keys()] },
  { word: 'version', summary: 'prints the version', options: {}, words: [] },
];
