import { replay, type Setting, type WorldOptions } from '../../lab/index.ts';
import type { Language } from '../../lab/report/index.ts';
import { HELP, type OptionTable, type OptionValues, readOptions } from '../options.ts';
import { type Environment, UsageError } from '../verb.ts';

const LOOK_OPTIONS = {
  lang: { placeholder: 'en|zh', help: 'language of the output; by LANG if not given' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

const JSON_OPTION = { json: { help: 'prints the result as JSON' } } as const;

const WORLD_OPTIONS = {
  variant: { placeholder: 'name', help: 'variant of the recipe; the first if not given' },
  clients: { placeholder: 'number', help: 'number of clients, up to 8' },
  rounds: { placeholder: 'number', help: 'how often each client acquires the lock' },
  ticks: { placeholder: 'number', help: 'ticks of the clock that may pass' },
  'tick-ms': { placeholder: 'number', help: 'the length of a tick: 1000, or less' },
  'step-ticks': { placeholder: 'number', help: 'ticks from a command to its reply' },
  crashes: { placeholder: 'number', help: 'clients that may stop for good' },
  pauses: { placeholder: 'number', help: 'number of pauses of clients while time passes' },
  'lost-replies': { placeholder: 'number', help: 'replies that may be lost' },
  skews: { placeholder: 'number', help: 'clients whose clock may be 3 s ahead or behind' },
} as const satisfies OptionTable;

const ONLY_OPTION = {
  only: { placeholder: 'names', help: 'only these recipes, with commas between them' },
} as const;

export const SEARCH_ALL_OPTIONS = {
  ...ONLY_OPTION,
  ...JSON_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

export const LIST_OPTIONS = {
  ...JSON_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

export const RUN_OPTIONS = {
  ...WORLD_OPTIONS,
  check: { placeholder: 'names', help: 'only these checks, with commas between them' },
  'most-states': { placeholder: 'number', help: 'maximum number of states; 1500000 if not given' },
  ...JSON_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

export const REPLAY_OPTIONS = {
  ...WORLD_OPTIONS,
  ...JSON_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

export const REPORT_OPTIONS = {
  out: { placeholder: 'folder', help: 'where index.html is written' },
  ...ONLY_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

export const SERVE_OPTIONS = {
  port: { placeholder: 'number', help: 'port on 127.0.0.1; a free one if not given' },
  help: HELP,
} as const satisfies OptionTable;

export const STAMPEDE_OPTIONS = {
  clients: {
    placeholder: 'number',
    help: 'number of clients that request the entry at once; 200 if not given',
  },
  'database-slots': {
    placeholder: 'number',
    help: 'loads that the database runs at a time; 10 if not given',
  },
  ...JSON_OPTION,
  ...LOOK_OPTIONS,
} as const satisfies OptionTable;

/** Reads options and words in any order, one word for each name. Throws UsageError. */
export function readWords<Table extends OptionTable & { readonly help: typeof HELP }>(
  table: Table,
  names: readonly string[],
  args: readonly string[],
): { readonly values: OptionValues<Table>; readonly words: readonly string[] } {
  let values = {} as OptionValues<Table>;
  const words: string[] = [];
  for (let rest = joinNumbers(args); rest.length > 0; ) {
    // A schedule may begin with -a, a client whose clock is behind, which is no option.
    const isSchedule = names[words.length] === 'schedule' && /^-[a-g]|^-h./.test(rest[0]!);
    const parsed = readOptions(table, isSchedule ? ['--', ...rest] : rest, {});
    values = { ...values, ...parsed.flags };
    words.push(...parsed.rest.slice(0, 1));
    rest = parsed.rest.slice(1);
  }
  if (values.help || words.length === names.length) return { values, words };
  if (words.length > names.length) {
    throw new UsageError(`'${words[names.length]}' is one word too many.`);
  }
  throw new UsageError(`The ${names[words.length]} is missing.`);
}

/** `--crashes -1` is a number out of range, which the lab reports, and not an option -1. */
function joinNumbers(args: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1);
    if (/^-\d/.test(arg) && last && /^--[a-z-]+$/.test(last)) joined.push(`${joined.pop()}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

type WorldValues = OptionValues<typeof WORLD_OPTIONS>;

/** The options of the world. The lab reports numbers that are out of range. */
export function worldOptions(
  values: WorldValues,
): Partial<WorldOptions> & { readonly variant?: string } {
  const { variant } = values;
  const options = WORLD_NUMBERS.flatMap(([option, name]) => {
    const text = values[option];
    return text === undefined ? [] : [[name, numberOf(option, text)] as const];
  });
  return { ...Object.fromEntries(options), ...(variant === undefined ? {} : { variant }) };
}

const WORLD_NUMBERS = [
  ['clients', 'clients'],
  ['rounds', 'rounds'],
  ['ticks', 'ticks'],
  ['tick-ms', 'tickMs'],
  ['step-ticks', 'stepTicks'],
  ['crashes', 'crashes'],
  ['pauses', 'pauses'],
  ['lost-replies', 'lostReplies'],
  ['skews', 'skews'],
] as const satisfies readonly (readonly [keyof WorldValues, keyof WorldOptions])[];

/** The command that replays a run. It has options where the world differs from that of the variant. */
export function replayCommand({ recipe, variant, world }: Setting, schedule: string): string {
  const usual = replay(recipe, '', { variant: variant.name }).world;
  const isFirst = (recipe.variants?.[0] ?? variant) === variant;
  const flags = WORLD_NUMBERS.filter(([, name]) => world[name] !== usual[name]).map(
    ([option, name]) => ` --${option} ${world[name]}`,
  );
  const which = isFirst ? '' : ` --variant ${variant.name}`;
  return `holdfast lab replay ${shellWord(recipe.name)} ${schedule || "''"}${which}${flags.join('')}`;
}

/** Quotes a word for a shell: the path of a recipe file may contain any character. */
function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The search accepts any number. */
export function mostStatesOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`--most-states takes a whole number from 1 on, not '${text}'.`);
}

function numberOf(option: string, text: string): number {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`--${option} takes a whole number, not '${text}'.`);
}

/** The lab reports unknown names. */
export function namesIn(list: string): readonly string[] {
  return [...new Set(list.split(',').map((name) => name.trim()))];
}

/** The language of the flag, else of the locale. */
export function languageOf(lang: string | undefined, environment: Environment): Language {
  if (lang === 'en' || lang === 'zh') return lang;
  if (lang !== undefined) throw new UsageError(`--lang is en or zh, not '${lang}'.`);
  const { LC_ALL, LC_MESSAGES, LANG } = environment;
  return /^zh/i.test(LC_ALL || LC_MESSAGES || LANG || '') ? 'zh' : 'en';
}
