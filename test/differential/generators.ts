import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { ArgumentDocs, CommandDocs } from './command-docs.ts';
import { SCRIPTS, scripts } from './scripts.ts';
import { JUNK, keysFor, WORDS, WORDS_BY_TYPE } from './words.ts';

export type Argv = readonly string[];

/** The command's name as Redis writes it, without that of a subcommand. */
export function nameOf(argv: Argv): string {
  return argv[0]!.toLowerCase();
}

/** How a script says the command that it was given. */
export const SAID_BY_SCRIPT = '(unpack(ARGV))';

/** The command itself, or the one that a script says in its place. */
export function said(argv: Argv): Argv {
  return argv[1]?.includes(SAID_BY_SCRIPT) && argv.length > 3 ? argv.slice(3) : argv;
}

type Arguments = fc.Arbitrary<string[]>;

/** A whole command: its name in some case, and arguments made from what Redis says of them. */
export function commandFrom(docs: CommandDocs): fc.Arbitrary<Argv> {
  const name = docs.name.split('|');
  const made = OWN_ARGUMENTS[docs.name] ?? sequence(docs.arguments, docs);
  return made.map((words) => tame([...name, ...words]));
}

/** A command with one thing wrong. */
export function spoiled(command: fc.Arbitrary<Argv>): fc.Arbitrary<Argv> {
  return fc
    .tuple(command, fc.constantFrom(...SPOILERS), fc.nat(1000), JUNK)
    .map(([argv, spoil, at, junk]) => tame(spoil(argv, at % argv.length, junk)));
}

type Spoiler = (argv: Argv, at: number, junk: string) => Argv;

const SPOILERS: readonly Spoiler[] = [
  (argv, at) => argv.toSpliced(Math.max(at, 1), 1),
  (argv, at) => argv.toSpliced(at, 0, argv[at]!),
  (argv, at, junk) => (at === 0 ? argv : argv.with(at, junk)),
  (argv, _at, junk) => [...argv, junk],
  (argv, at) => argv.with(at, upperOrLower(argv[at]!, at)),
  (argv) => argv.slice(0, 1),
];

function upperOrLower(word: string, at: number): string {
  return word.replace(/[a-z]/gi, (letter, index) =>
    (index + at) % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function sequence(all: readonly ArgumentDocs[], docs: CommandDocs): Arguments {
  const parts: Arguments[] = [];
  for (let at = 0; at < all.length; at++) {
    if (all[at]!.name === 'numkeys') parts.push(countedKeys(docs, all[++at]!));
    else parts.push(argument(all[at]!, docs));
  }
  return fc.tuple(...parts).map((words) => words.flat());
}

/** How many keys follow, which is most often true. */
function countedKeys(docs: CommandDocs, { flags }: ArgumentDocs): Arguments {
  const keys = fc.array(keysFor(docs.group), {
    minLength: flags.includes('optional') ? 0 : 1,
    maxLength: 3,
  });
  const error = fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -4, max: 2 }) },
  );
  return fc.tuple(keys, error).map(([words, wrong]) => [`${words.length + wrong}`, ...words]);
}

function argument(docs: ArgumentDocs, command: CommandDocs): Arguments {
  const repeatsToken = docs.flags.includes('multiple_token');
  let words = bare(docs, command);
  if (docs.token !== undefined && repeatsToken) words = after(docs.token, words);
  if (docs.flags.includes('multiple')) {
    words = fc.array(words, { minLength: 1, maxLength: 4 }).map((all) => all.flat());
  }
  if (docs.token !== undefined && !repeatsToken) words = after(docs.token, words);
  if (!docs.flags.includes('optional')) return words;
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 2, arbitrary: words },
  );
}

function after(token: string, words: Arguments): Arguments {
  return words.map((all) => [token, ...all]);
}

function bare(docs: ArgumentDocs, command: CommandDocs): Arguments {
  switch (docs.type) {
    case 'pure-token':
      return fc.constant([]);
    case 'oneof':
      return fc.oneof(...docs.arguments.map((each) => argument(each, command)));
    case 'block':
      return sequence(docs.arguments, command);
    case 'key':
      return one(keysFor(command.group));
    default:
      return one(
        WORDS[`${command.name}:${docs.name}`] ?? WORDS[docs.name] ?? WORDS_BY_TYPE[docs.type]!,
      );
  }
}

function one(word: fc.Arbitrary<string>): Arguments {
  return word.map((text) => [text]);
}

const someKey = keysFor('any');
/** Few enough to be loaded and then called. */
const popular = fc.constantFrom(...SCRIPTS.slice(0, 5));
const shas = fc
  .oneof(
    popular.map((script) => createHash('sha1').update(script).digest('hex')),
    fc.constantFrom('abc', 'f'.repeat(40)),
  )
  .map((sha) => [sha]);
const scriptInput = fc
  .tuple(
    fc.constantFrom('2', '2', '2', '1', '0', '3', '9', '-1', 'abc'),
    someKey,
    someKey,
    JUNK,
    JUNK,
  )
  .map((words) => [...words]);
const evaluated = fc.tuple(one(scripts), scriptInput).map((words) => words.flat());
const evaluatedBySha = fc.tuple(shas, scriptInput).map((words) => words.flat());

/** CONFIG's parameters that both servers have and that change nothing for the tests themselves. */
const PARAMETERS = fc.constantFrom(
  ...(
    [
      ['slowlog-max-len', '64'],
      ['slowlog-max-len', '-1'],
      ['slowlog-max-len', 'abc'],
      ['appendfsync', 'always'],
      ['appendfsync', 'never'],
      ['databases', '3'],
      ['nothing', '1'],
      ['tcp-keepalive', '100'],
      ['tcp-keepalive', '-1'],
      ['Tcp-KeepAlive', '300'],
    ] as const
  ).map((pair) => [...pair]),
);

/** Where the docs say less than a person knows. */
const OWN_ARGUMENTS: Readonly<Record<string, Arguments>> = {
  eval: evaluated,
  eval_ro: evaluated,
  evalsha: evaluatedBySha,
  evalsha_ro: evaluatedBySha,
  'script|load': one(fc.oneof(popular, popular, scripts)),
  'script|exists': fc.array(shas, { minLength: 1, maxLength: 3 }).map((all) => all.flat()),
  'config|set': fc.array(PARAMETERS, { minLength: 1, maxLength: 2 }).map((all) => all.flat()),
  'config|get': fc.array(
    fc.constantFrom('maxmemory-policy', 'slowlog-max-len', 'set-max-*', 'nothing', 'DATABASES'),
    { minLength: 1, maxLength: 3 },
  ),
  // Filters that fit nobody: who was ended could not go on comparing.
  'client|kill': fc.constantFrom(
    ...[
      ['1.2.3.4:5'],
      ['abc'],
      ['ID', '987654321'],
      ['ID', 'abc'],
      ['ID', '0'],
      ['TYPE', 'pubsubs'],
    ],
    ...[['ADDR', '1.2.3.4:5'], ['LADDR', '1.2.3.4:5', 'SKIPME', 'no'], ['SKIPME', 'maybe'], ['ID']],
    ...[
      ['USER', 'nobody'],
      ['TYPE', 'master'],
      ['id', '987654321', 'type', 'normal', 'skipme', 'no'],
    ],
  ),
  'command|getkeys': fc.constantFrom(
    ...[['get', 'a'], ['mset', 'a', '1', 'b', '2'], ['eval', 'x', '2', 'a', 'b', 'c'], ['ping']],
    ...[
      ['zunionstore', 'a', '2', 'b', 'c'],
      ['nothing', 'a'],
      ['get'],
      ['set', 'a', 'b', 'ex', '1'],
    ],
    ...[
      ['sort', 'a', 'store', 'b'],
      ['lmpop', '1', 'a', 'left'],
      ['rename', 'a', 'b'],
      ['del', 'a', 'b'],
    ],
  ),
};

/**
 * Keeps commands from what would take for ever or end while the test runs: times that are neither far
 * nor past, and random members by the million.
 */
function tame(argv: Argv): Argv {
  const name = nameOf(argv);
  if (name === 'client') return argv.map((word) => (/^\d{1,6}$/.test(word) ? NOBODY : word));
  if (SORTS.has(name)) return withoutTies(argv);
  if (TIMED.has(name)) return argv.map((word, at) => (at > 1 ? farTime(argv, word, at) : word));
  if (name.startsWith('b')) return argv.with(timeoutAt(argv), farTimeout(argv[timeoutAt(argv)]!));
  if (SAMPLERS.has(name)) return argv.map((word) => (/^-\d{3,}$/.test(word) ? '-12' : word));
  return argv;
}

/** The number of no client, whereas small ones may be somebody's. */
const NOBODY = '987654321';
const SORTS = new Set(['sort', 'sort_ro']);
const TIMED = new Set(['set', 'setex', 'psetex', 'getex', 'expire', 'pexpire']);
const SAMPLERS = new Set(['srandmember', 'hrandfield', 'zrandmember']);

/** BLMPOP and BZMPOP have the timeout in front, the others at the end. */
function timeoutAt(argv: Argv): number {
  return nameOf(argv).endsWith('mpop') && argv.length > 1 ? 1 : argv.length - 1;
}

function farTimeout(word: string): string {
  const seconds = Number(word);
  return seconds > 0 && seconds < 100 ? `${seconds + 1000}` : word;
}

/**
 * Redis leaves to chance the order of elements when the texts that BY leads to are the same, and that
 * of sets that are not sorted (BY without a star), whose members GET would then look up.
 */
function withoutTies(argv: Argv): Argv {
  const by = argv.findLastIndex((word) => /^by$/i.test(word));
  if (by < 0) return argv;
  const dropped = argv[by + 1]?.includes('*') ? /^alpha$/i : /^(alpha|get)$/i;
  return argv.filter((word) => !dropped.test(word));
}

/** SET takes a point in time that has passed, and the key then ends when Redis comes by. */
function farTime(argv: Argv, word: string, at: number): string {
  const option = nameOf(argv) === 'set' ? argv[at - 1]!.toLowerCase() : 'ex';
  if (!/^[1-9]\d{0,11}$/.test(word)) return word;
  if (option === 'exat' || option === 'pxat') return `${Number(word) + 5e12}`;
  return option === 'ex' || option === 'px' ? `${Number(word) + 100_000}` : word;
}
