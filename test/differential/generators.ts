import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { ARGUMENT_VALUES, INVALID_VALUES, keysFor, VALUES_BY_TYPE } from './argument-values.ts';
import type { ArgumentDocs, CommandDocs } from './command-docs.ts';
import { SCRIPTS, scripts } from './scripts.ts';

export type Argv = readonly string[];

/** The command's name in lower case, without a subcommand. */
export function nameOf(argv: Argv): string {
  return argv[0]!.toLowerCase();
}

/** The Lua text that calls the command in ARGV. */
export const CALL_OF_ARGV = '(unpack(ARGV))';

/** The command that a script of `CALL_OF_ARGV` calls, or the command itself. */
export function innerCommand(argv: Argv): Argv {
  return argv[1]?.includes(CALL_OF_ARGV) && argv.length > 3 ? argv.slice(3) : argv;
}

type Arguments = fc.Arbitrary<string[]>;

/** Generates a command with arguments from its COMMAND DOCS. */
export function commandFrom(docs: CommandDocs): fc.Arbitrary<Argv> {
  const name = docs.name.split('|');
  const made = OWN_ARGUMENTS[docs.name] ?? sequence(docs.arguments, docs);
  return made.map((args) => withoutRealTime([...name, ...args]));
}

/** Generates a command with one mistake. */
export function withError(command: fc.Arbitrary<Argv>): fc.Arbitrary<Argv> {
  return fc
    .tuple(command, fc.constantFrom(...MISTAKES), fc.nat(1000), INVALID_VALUES)
    .map(([argv, makeMistake, at, junk]) =>
      withoutRealTime(makeMistake(argv, at % argv.length, junk)),
    );
}

type Mistake = (argv: Argv, at: number, junk: string) => Argv;

const MISTAKES: readonly Mistake[] = [
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
  return fc.tuple(...parts).map((args) => args.flat());
}

/** The number of keys, which is usually right, and the keys. */
function countedKeys(docs: CommandDocs, { flags }: ArgumentDocs): Arguments {
  const keys = fc.array(keysFor(docs.group), {
    minLength: flags.includes('optional') ? 0 : 1,
    maxLength: 3,
  });
  const error = fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -4, max: 2 }) },
  );
  return fc.tuple(keys, error).map(([args, wrong]) => [`${args.length + wrong}`, ...args]);
}

function argument(docs: ArgumentDocs, command: CommandDocs): Arguments {
  const repeatsToken = docs.flags.includes('multiple_token');
  let args = bare(docs, command);
  if (docs.token !== undefined && repeatsToken) args = after(docs.token, args);
  if (docs.flags.includes('multiple')) {
    args = fc.array(args, { minLength: 1, maxLength: 4 }).map((all) => all.flat());
  }
  if (docs.token !== undefined && !repeatsToken) args = after(docs.token, args);
  if (!docs.flags.includes('optional')) return args;
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 2, arbitrary: args },
  );
}

function after(token: string, args: Arguments): Arguments {
  return args.map((all) => [token, ...all]);
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
        ARGUMENT_VALUES[`${command.name}:${docs.name}`] ??
          ARGUMENT_VALUES[docs.name] ??
          VALUES_BY_TYPE[docs.type]!,
      );
  }
}

function one(word: fc.Arbitrary<string>): Arguments {
  return word.map((text) => [text]);
}

const someKey = keysFor('any');
/** A few scripts, so that EVALSHA often names one that was loaded. */
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
    INVALID_VALUES,
    INVALID_VALUES,
  )
  .map((args) => [...args]);
const evaluated = fc.tuple(one(scripts), scriptInput).map((args) => args.flat());
const evaluatedBySha = fc.tuple(shas, scriptInput).map((args) => args.flat());

/** Parameters of CONFIG that both servers have and that do not affect the test itself. */
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

/** Arguments that cannot be generated from COMMAND DOCS. */
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
  // Filters that match no client: a killed session could not be compared any more.
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
 * Replaces arguments whose effect would depend on real time or take too long: times that are neither far away nor past,
 * and large counts of random members.
 */
function withoutRealTime(argv: Argv): Argv {
  const name = nameOf(argv);
  if (name === 'client') return argv.map((word) => (/^\d{1,6}$/.test(word) ? UNKNOWN_ID : word));
  if (SORTS.has(name)) return withoutTies(argv);
  if (TIMED.has(name)) return argv.map((word, at) => (at > 1 ? farTime(argv, word, at) : word));
  if (name.startsWith('b')) return argv.with(timeoutAt(argv), farTimeout(argv[timeoutAt(argv)]!));
  if (SAMPLERS.has(name)) return argv.map((word) => (/^-\d{3,}$/.test(word) ? '-12' : word));
  return argv;
}

/** An id that no client has. */
const UNKNOWN_ID = '987654321';
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
 * In Redis the order of elements with equal BY texts is undefined, and so is that of sets with BY without a star, for
 * which GET would then read keys in another order.
 */
function withoutTies(argv: Argv): Argv {
  const by = argv.findLastIndex((word) => /^by$/i.test(word));
  if (by < 0) return argv;
  const dropped = argv[by + 1]?.includes('*') ? /^alpha$/i : /^(alpha|get)$/i;
  return argv.filter((word) => !dropped.test(word));
}

/** SET accepts a time in the past, and Redis then expires the key at an unknown time. */
function farTime(argv: Argv, word: string, at: number): string {
  const option = nameOf(argv) === 'set' ? argv[at - 1]!.toLowerCase() : 'ex';
  if (!/^[1-9]\d{0,11}$/.test(word)) return word;
  if (option === 'exat' || option === 'pxat') return `${Number(word) + 5e12}`;
  return option === 'ex' || option === 'px' ? `${Number(word) + 100_000}` : word;
}
