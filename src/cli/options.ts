import { type ParseArgsConfig, parseArgs } from 'node:util';
import { nearest } from './nearest.ts';
import { type Environment, UsageError } from './verb.ts';

/** One option of a verb: parsing, the environment and `--help` use these facts. */
export interface Option {
  readonly short?: string;
  /** Reads the environment when the flag is not given: HOLDFAST_MAXCLIENTS for `--maxclients`. */
  readonly environment?: true;
  /** The name of the value in the help. Undefined: a switch, which takes no value. */
  readonly placeholder?: string;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, Option>>;

/** Every verb has it. */
export const HELP = { short: 'h', help: 'prints this help' } as const;

/** The given values: text, or true and false for switches. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]?: Table[Name] extends { readonly placeholder: string }
    ? string
    : boolean;
};

interface ParsedOptions<Table extends OptionTable> {
  readonly flags: OptionValues<Table>;
  readonly environment: OptionValues<Table>;
  /** Both; a flag overrides the environment. */
  readonly values: OptionValues<Table>;
  /** The arguments from the first one that is no option. */
  readonly rest: readonly string[];
}

/** Reads the options at the start of `args`. Throws UsageError. */
export function readOptions<Table extends OptionTable>(
  table: Table,
  args: readonly string[],
  environment: Environment,
): ParsedOptions<Table> {
  const end = firstWord(table, args);
  const flags = readFlags(table, args.slice(0, end)) as OptionValues<Table>;
  const fromEnvironment = readEnvironment(table, environment) as OptionValues<Table>;
  return {
    flags,
    environment: fromEnvironment,
    values: { ...fromEnvironment, ...flags },
    rest: args.slice(args[end] === '--' ? end + 1 : end),
  };
}

/** The options as lines of help. */
export function describeOptions(table: OptionTable): string {
  const flags = Object.entries(table).map(([name, { short, placeholder }]) => {
    return `  ${short ? `-${short}, ` : ''}--${name}${placeholder ? ` <${placeholder}>` : ''}`;
  });
  const width = Math.max(...flags.map((flag) => flag.length));
  const texts = Object.values(table).map(({ help }) => help);
  return flags.map((flag, index) => `${flag.padEnd(width)}  ${texts[index]}`).join('\n');
}

type Values = Record<string, string | boolean>;

function parseConfig(table: OptionTable): NonNullable<ParseArgsConfig['options']> {
  const entries = Object.entries(table).map(([name, { short, placeholder }]) => {
    const type = placeholder === undefined ? ('boolean' as const) : ('string' as const);
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  return Object.fromEntries(entries);
}

function firstWord(table: OptionTable, args: readonly string[]): number {
  const { tokens } = parseArgs({
    args: [...args],
    options: parseConfig(table),
    strict: false,
    tokens: true,
  });
  return tokens.find(({ kind }) => kind !== 'option')?.index ?? args.length;
}

function readFlags(table: OptionTable, args: string[]): Values {
  try {
    return { ...parseArgs({ args, options: parseConfig(table) }).values } as Values;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new UsageError(`${error.message.split(/\.\s/)[0]}${hint(table, error.message)}.`);
  }
}

/** The most similar option. */
function hint(table: OptionTable, message: string): string {
  const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1];
  const meant = unknown && nearest(unknown, Object.keys(table));
  return meant ? `; did you mean --${meant}` : '';
}

function readEnvironment(table: OptionTable, environment: Environment): Values {
  const values: Values = {};
  for (const [name, option] of Object.entries(table)) {
    const variable = variableOf(name);
    const text = option.environment ? environment[variable] : undefined;
    if (text === undefined || text === '') continue;
    values[name] = option.placeholder === undefined ? readSwitch(variable, text) : text;
  }
  return values;
}

function variableOf(name: string): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll('-', '_')}`;
}

const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['yes', true],
  ['0', false],
  ['false', false],
  ['no', false],
]);

function readSwitch(variable: string, text: string): boolean {
  const value = SWITCHES.get(text.toLowerCase());
  if (value === undefined) throw new UsageError(`${variable} is '${text}'; write 1 or 0.`);
  return value;
}
