import { ErrorReply, MapReply, type Reply, SetReply, SimpleReply } from '../../resp/index.ts';
import { type Command, type CommandTable, NO_KEYS } from '../command.ts';
import { type Category, categoriesOf } from '../command-categories.ts';
import { type Argument, parseSyntax } from '../command-syntax.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { globFilter } from '../glob.ts';
import { type KeySpec, keyRange } from '../key-spec.ts';
import type { Session } from '../session.ts';
import { lower, MAX_TOKEN_BYTES, upper } from '../text.ts';
import { help } from './help.ts';
import { COMMANDS, everyCommand, findCommand } from './index.ts';
import { helpLines } from './subcommand-help.ts';

const LOOK = ['loading', 'stale'] as const;

const subcommands = {
  COUNT: {
    arity: 2,
    keys: NO_KEYS,
    flags: LOOK,
    run: () => COMMANDS.size,
    syntax: '',
    summary: 'Returns the number of commands',
    since: '2.8.13',
    complexity: 'O(1)',
  },
  LIST: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: list,
    syntax: '[FILTERBY <MODULE module-name|ACLCAT category|PATTERN pattern>]',
    summary: 'Returns the names of all commands, or of those that match the filter',
    since: '7.0.0',
    complexity: 'O(N) for N commands of the server',
    tips: ['nondeterministic_output_order'],
  },
  INFO: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: info,
    syntax: '[command-name [command-name ...]]',
    summary: 'Returns arity, flags, keys and categories of some commands, or of all',
    since: '2.8.13',
    complexity: 'O(N) for N names',
    history: [['7.0.0', 'Without names it describes all commands']],
    tips: ['nondeterministic_output_order'],
  },
  DOCS: {
    arity: -2,
    keys: NO_KEYS,
    flags: LOOK,
    run: docs,
    syntax: '[command-name [command-name ...]]',
    summary: 'Returns the documentation of some commands, or of all',
    since: '7.0.0',
    complexity: 'O(N) for N names',
    tips: ['nondeterministic_output_order'],
  },
  GETKEYS: {
    arity: -4,
    keys: NO_KEYS,
    flags: LOOK,
    run: getKeys,
    syntax: 'command [argument [argument ...]]',
    summary: 'Returns the keys of a command with its arguments',
    since: '2.8.13',
    complexity: 'O(N) for N arguments',
  },
  HELP: help('5.0.0', (): readonly string[] => helpLines('COMMAND', subcommands)),
} as const satisfies CommandTable;

export const command = {
  COMMAND: {
    arity: -1,
    keys: NO_KEYS,
    flags: LOOK,
    run: () => [...COMMANDS.values()].map(factsReply),
    syntax: '',
    summary: 'Returns arity, flags, keys and categories of all commands',
    since: '2.8.13',
    complexity: 'O(N) for N commands of the server',
    tips: ['nondeterministic_output_order'],
    subcommands,
  },
} as const satisfies CommandTable;

function list(_session: Session, argv: readonly string[]): Reply {
  if (argv.length === 2) return everyCommand().map(({ name }) => name);
  if (argv.length !== 5 || upper(argv[2]!) !== 'FILTERBY') throw SYNTAX_ERROR;
  const admits = filter(upper(argv[3]!), lower(argv[4]!));
  return everyCommand()
    .filter(admits)
    .map(({ name }) => name);
}

function filter(kind: string, value: string): (command: Command) => boolean {
  switch (kind) {
    case 'MODULE':
      return () => false;
    case 'ACLCAT':
      return (each) => categoriesOf(each).includes(value as Category);
    case 'PATTERN':
      return byPattern(value);
    default:
      throw SYNTAX_ERROR;
  }
}

function byPattern(pattern: string): (command: Command) => boolean {
  const fits = globFilter(pattern);
  return ({ name }) => fits(name);
}

function info(_session: Session, argv: readonly string[]): Reply {
  if (argv.length === 2) return [...COMMANDS.values()].map(factsReply);
  return argv.slice(2).map((name) => {
    const found = named(name);
    return found ? factsReply(found) : null;
  });
}

function docs(_session: Session, argv: readonly string[]): Reply {
  const asked = argv.slice(2).map(named);
  const commands = argv.length === 2 ? [...COMMANDS.values()] : asked;
  return new MapReply(
    commands.filter((each) => each !== undefined).map((each) => [each.name, docsReply(each)]),
  );
}

/** Finds a command by a name such as `get` or `client|id`. */
function named(text: string): Command | undefined {
  if (text.length > MAX_TOKEN_BYTES) return undefined;
  const [name = '', word, ...more] = lower(text).split('|');
  if (more.length > 0) return undefined;
  const found = COMMANDS.get(name);
  return word === undefined ? found : found?.subcommands?.get(word);
}

function getKeys(_session: Session, argv: readonly string[]): Reply {
  const words = argv.slice(2);
  const found = findCommand(words);
  if (found instanceof ErrorReply) throw new ErrorReply('ERR Invalid command specified');
  if (found.facts.keys.every(isChannel)) {
    throw new ErrorReply('ERR The command has no key arguments');
  }
  if (!found.takes(words.length)) {
    throw new ErrorReply('ERR Invalid number of arguments specified for command');
  }
  const positions = found.keyPositions(words);
  if (positions.length === 0 && found.group !== 'scripting') {
    throw new ErrorReply('ERR Invalid arguments specified for command');
  }
  return positions.map((at) => words[at]!);
}

/** Shard channels have key specifications for cluster clients, but are not keys. */
function isChannel({ use }: KeySpec): boolean {
  return use === 'not_key';
}

/** Builds each reply once, because a request may name one command a million times. */
const memoized = (build: (command: Command) => Reply): ((command: Command) => Reply) => {
  const built = new Map<Command, Reply>();
  return (each) => {
    const known = built.get(each);
    if (known !== undefined) return known;
    const reply = build(each);
    built.set(each, reply);
    return reply;
  };
};

const factsReply = memoized(buildFacts);
const docsReply = memoized(buildDocs);

/** Name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands. */
function buildFacts(command: Command): Reply {
  const { keys, flags, tips = [] } = command.facts;
  // Redis does not return this flag.
  const shown = flags.filter((flag) => flag !== 'may_replicate');
  return [
    command.name,
    command.arity,
    setOf(shown),
    ...keyRange(keys),
    setOf(categoriesOf(command).map((category) => `@${category}`)),
    new SetReply(tips),
    new SetReply(keys.map(keySpecReply)),
    subcommandsReply(command),
  ];
}

/** As in Redis: an array, but an empty set if there are none. */
function subcommandsReply({ subcommands }: Command): Reply {
  return subcommands === undefined ? new SetReply([]) : [...subcommands.values()].map(factsReply);
}

function setOf(words: readonly string[]): SetReply {
  return new SetReply(words.map((word) => new SimpleReply(word)));
}

function keySpecReply({ use, search, notes }: KeySpec): Reply {
  const [beginSearch, findKeys] = searchReplies(search);
  const entries: [string, Reply][] = [
    ['flags', setOf(use.split(' '))],
    ['begin_search', beginSearch],
    ['find_keys', findKeys],
  ];
  return new MapReply(notes === undefined ? entries : [['notes', notes], ...entries]);
}

/** The fields `begin_search` and `find_keys` of a key specification. */
function searchReplies(search: KeySpec['search']): [beginSearch: Reply, findKeys: Reply] {
  switch (search.type) {
    case 'unknown':
      return [typed('unknown', []), typed('unknown', [])];
    case 'counted':
      return [typed('index', [['index', search.countAt]]), COUNTED];
    case 'range': {
      const { first, last, step } = search;
      const range = typed('range', [
        ['lastkey', last],
        ['keystep', step],
        ['limit', 0],
      ]);
      return [typed('index', [['index', first]]), range];
    }
  }
}

function typed(type: string, specified: readonly (readonly [string, number])[]): Reply {
  return new MapReply([
    ['type', type],
    ['spec', new MapReply(specified)],
  ]);
}

/** The number of keys is at the start of the search, and the keys follow it. */
const COUNTED = typed('keynum', [
  ['keynumidx', 0],
  ['firstkey', 1],
  ['keystep', 1],
]);

function buildDocs(command: Command): Reply {
  const { summary, since, complexity, deprecated, history, syntax, keys } = command.facts;
  const entries: [string, Reply][] = [
    ['summary', summary],
    ['since', since],
    ['group', command.group],
  ];
  if (complexity !== '') entries.push(['complexity', complexity]);
  if (deprecated !== undefined) {
    entries.push(['doc_flags', setOf(['deprecated'])]);
    entries.push(['deprecated_since', deprecated.since]);
    entries.push(['replaced_by', deprecated.replacedBy]);
  }
  if (history !== undefined)
    entries.push(['history', new SetReply(history.map(([...change]) => change))]);
  if (command.subcommands !== undefined) {
    const within = [...command.subcommands.values()];
    entries.push(['subcommands', new MapReply(within.map((each) => [each.name, docsReply(each)]))]);
  } else if (syntax !== '') entries.push(['arguments', argumentReplies(parseSyntax(syntax), keys)]);
  return new MapReply(entries);
}

const ARGUMENT_FLAGS = [
  ['optional', 'optional'],
  ['multiple', 'multiple'],
  ['multipleToken', 'multiple_token'],
] as const;

/** Assigns the key specifications to the key arguments in order. An unknown one belongs to no argument. */
function argumentReplies(all: readonly Argument[], keys: readonly KeySpec[]): Reply[] {
  const specIndexes = new Map<Argument, number>();
  for (const argument of withParts(all).filter(({ type }) => type === 'key')) {
    const at = specIndexes.size;
    if (keys[at]!.search.type !== 'unknown') specIndexes.set(argument, at);
  }
  return all.map((each) => argumentReply(each, specIndexes));
}

function withParts(all: readonly Argument[]): Argument[] {
  return all.flatMap((each) => [each, ...withParts(each.arguments ?? [])]);
}

function argumentReply(argument: Argument, specIndexes: ReadonlyMap<Argument, number>): Reply {
  const { name, type, token } = argument;
  const entries: [string, Reply][] = [
    ['name', name],
    ['type', type],
  ];
  const specIndex = specIndexes.get(argument);
  if (specIndex !== undefined) entries.push(['key_spec_index', specIndex]);
  if (token !== undefined) entries.push(['token', token]);
  const flags = ARGUMENT_FLAGS.filter(([field]) => argument[field]).map(([, flag]) => flag);
  if (flags.length > 0) entries.push(['flags', setOf(flags)]);
  if (argument.arguments !== undefined) {
    entries.push(['arguments', argument.arguments.map((each) => argumentReply(each, specIndexes))]);
  }
  return new MapReply(entries);
}
