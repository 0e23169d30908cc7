import fc from 'fast-check';
import { everyCommand } from '../../src/engine/commands/index.ts';
import type { CommandDocs } from './command-docs.ts';
import { EXEMPT } from './exemptions.ts';
import {
  type Argv,
  CALL_OF_ARGV,
  commandFrom,
  innerCommand,
  nameOf,
  withError,
} from './generators.ts';
import { BLOCKING_COMMANDS, INITIAL_DATA, SERVING_COMMANDS } from './initial-data.ts';

/** The commands that one session sends together. A blocking or subscribing command is alone. */
export interface Step {
  readonly session: number;
  readonly commands: readonly Argv[];
}

export const SESSION_COUNT = 3;

export const BLOCKING: ReadonlySet<string> = new Set([
  ...['blpop', 'brpop', 'blmpop', 'blmove', 'brpoplpush', 'bzpopmin', 'bzpopmax', 'bzmpop', 'wait'],
]);

export const SUBSCRIBING: ReadonlySet<string> = new Set([
  ...['subscribe', 'psubscribe', 'ssubscribe', 'unsubscribe', 'punsubscribe', 'sunsubscribe'],
]);

/** Generates steps from the COMMAND DOCS of all commands. */
export function stepsFrom(docs: ReadonlyMap<string, CommandDocs>): fc.Arbitrary<Step[]> {
  const made = new Map(generatedNames(docs).map((name) => [name, commandFrom(docs.get(name)!)]));
  const named = (admits: (name: string) => boolean) =>
    fc.oneof(
      ...[...made]
        .filter(([name]) => admits(name))
        .map(([name, arbitrary]) => ({ weight: weightOf(docs.get(name)!), arbitrary })),
    );
  const plain = named((name) => !(BLOCKING.has(name) || SUBSCRIBING.has(name) || name === 'spop'));
  const any = fc.oneof(
    { weight: 10, arbitrary: plain },
    { weight: 2, arbitrary: withError(plain) },
    { weight: 1, arbitrary: inScript(plain) },
  );
  const several = fc.array(any.map(prepared), { maxLength: 12, size: 'max' });
  const turn: fc.Arbitrary<Step> = fc.record({
    session: fc.nat(SESSION_COUNT - 1),
    commands: fc.oneof(
      { weight: 10, arbitrary: several.map((commands) => commands.flat()) },
      { weight: 2, arbitrary: transaction(any.map(prepared)) },
      { weight: 2, arbitrary: named((name) => TRANSACTIONAL.has(name)).map(alone) },
      { weight: 3, arbitrary: sometimesSpoiled(named((name) => BLOCKING.has(name))).map(alone) },
      { weight: 3, arbitrary: sometimesSpoiled(named((name) => SUBSCRIBING.has(name))).map(alone) },
      { weight: 1, arbitrary: named((name) => name === 'spop').map(popped) },
      { weight: 1, arbitrary: filled },
      { weight: 2, arbitrary: restoredData },
    ),
  });
  const steps = fc.oneof(
    { weight: 12, arbitrary: turn.map((step) => [step]) },
    { weight: 1, arbitrary: servedBlocks },
    { weight: 1, arbitrary: race(plain.map(prepared)) },
  );
  return fc.array(steps, { maxLength: 60, size: 'max' }).map((all) => all.flat());
}

/** Commands on keys are more frequent than those on servers and connections. */
function weightOf({ group, name }: CommandDocs): number {
  return group === 'server' || group === 'connection' || name === 'swapdb' ? 1 : 5;
}

/** The commands and subcommands that are generated. */
export function generatedNames(docs: ReadonlyMap<string, CommandDocs>): string[] {
  return everyCommand()
    .filter(({ name, subcommands }) => docs.has(name) && !(subcommands && !docs.has(name)))
    .map(({ name }) => name)
    .filter((name) => !(name in EXEMPT));
}

const TRANSACTIONAL = new Set(['multi', 'exec', 'discard', 'watch', 'unwatch']);

function alone(argv: Argv): Argv[] {
  return [argv];
}

function sometimesSpoiled(command: fc.Arbitrary<Argv>): fc.Arbitrary<Argv> {
  return fc.oneof({ weight: 6, arbitrary: command }, { weight: 1, arbitrary: withError(command) });
}

function transaction(command: fc.Arbitrary<Argv[]>): fc.Arbitrary<Argv[]> {
  return fc
    .tuple(fc.array(command, { maxLength: 6 }), fc.constantFrom('EXEC', 'EXEC', 'EXEC', 'DISCARD'))
    .map(([commands, end]) => [['MULTI'], ...commands.flat(), [end]]);
}

/** A range by member is only specified if all scores are equal, so that they are set to 0 first. */
function prepared(argv: Argv): Argv[] {
  const command = innerCommand(argv);
  if (!command.some((word) => /bylex$|^zlexcount$/i.test(word))) return [argv];
  const key = command[nameOf(command) === 'zrangestore' ? 2 : 1] ?? '';
  return [['ZUNIONSTORE', key, '1', key, 'WEIGHTS', '0'], argv];
}

/** The same command, called by a script. */
function inScript(command: fc.Arbitrary<Argv>): fc.Arbitrary<Argv> {
  const call = fc.constantFrom('call', 'pcall');
  return fc
    .tuple(command, call)
    .filter(([argv]) => argv.length < 200)
    .map(([argv, name]) => ['EVAL', `return redis.${name}${CALL_OF_ARGV}`, '0', ...argv]);
}

/** SPOP removes random members, so that the rest of the set is deleted after it. */
function popped(argv: Argv): Argv[] {
  const key = argv[1] ?? 't1';
  return [argv, ['SCARD', key], ['DEL', key]];
}

/** Creates the initial keys again. */
const restoredData: fc.Arbitrary<Argv[]> = fc
  .subarray([...INITIAL_DATA])
  .map((commands) =>
    commands.flatMap((argv) => (isTimed(argv) ? [argv] : [['DEL', argv[1]!], argv])),
  );

function isTimed(argv: Argv): boolean {
  return argv[0]!.includes('EXPIRE');
}

/** Two sessions block on the same keys, and a third creates them, with or without a transaction. */
const servedBlocks: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
    fc.array(fc.constantFrom(...BLOCKING_COMMANDS), { minLength: 1, maxLength: 2 }),
    fc.array(fc.constantFrom(...SERVING_COMMANDS), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([sessions, waits, servingCommands, together]) => [
    {
      session: sessions[2]!,
      commands: [
        ['DEL', 'l1', 'l2', 'z1', 'z2'],
        ['SADD', 't1', '1', '2'],
      ],
    },
    ...waits.map((argv, at) => ({ session: sessions[at]!, commands: [argv] })),
    {
      session: sessions[2]!,
      commands: together ? [['MULTI'], ...servingCommands, ['EXEC']] : servingCommands,
    },
  ]);

/** One session watches a key, another runs commands, and EXEC shows whether the key was changed. */
function race(command: fc.Arbitrary<Argv[]>): fc.Arbitrary<Step[]> {
  return fc
    .tuple(
      fc.shuffledSubarray([0, 1, 2], { minLength: 2 }),
      fc.constantFrom('s1', 'h1', 'l1', 't1', 'z1'),
      fc.array(command, { minLength: 1, maxLength: 6, size: 'max' }),
    )
    .map(([sessions, key, commands]) => [
      { session: sessions[0]!, commands: [['WATCH', key]] },
      { session: sessions[1]!, commands: commands.flat() },
      { session: sessions[0]!, commands: [['MULTI'], ['EXISTS', key], ['EXEC']] },
    ]);
}

/** Collections that are large enough for Redis to change their encoding. */
export const filled: fc.Arbitrary<Argv[]> = fc
  .tuple(
    fc.constantFrom<(count: number) => Argv>(
      (count) => ['SADD', 't1', ...upTo(count)],
      (count) => ['SADD', 't2', ...upTo(count).map((member) => `m${member}`)],
      (count) => ['HSET', 'h1', ...upTo(count).flatMap((field) => [field, 'v'])],
      (count) => ['ZADD', 'z1', ...upTo(count).flatMap((member) => [member, `m${member}`])],
      (count) => ['RPUSH', 'l1', ...upTo(count).map((element) => element.padStart(40, '0'))],
    ),
    fc.constantFrom(127, 128, 129, 511, 512, 513, 200, 600),
  )
  .map(([command, count]) => [command(count)]);

function upTo(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${at}`);
}
