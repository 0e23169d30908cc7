import fc from 'fast-check';
import { everyCommand } from '../../src/engine/commands/index.ts';
import type { CommandDocs } from './command-docs.ts';
import { EXEMPT } from './exemptions.ts';
import { FURNITURE, GIFTS, WAITS } from './furniture.ts';
import { type Argv, commandFrom, nameOf, SAID_BY_SCRIPT, said, spoiled } from './generators.ts';

/** What one session does before another has its turn. Commands that wait or subscribe come alone. */
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

/** All that can happen in one turn of a session, made from what Redis says of each command. */
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
    { weight: 2, arbitrary: spoiled(plain) },
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
      { weight: 2, arbitrary: refurnished },
    ),
  });
  const steps = fc.oneof(
    { weight: 12, arbitrary: turn.map((step) => [step]) },
    { weight: 1, arbitrary: meeting },
    { weight: 1, arbitrary: race(plain) },
  );
  return fc.array(steps, { maxLength: 60, size: 'max' }).map((all) => all.flat());
}

/** Commands about keys more often than those about servers and connections. */
function weightOf({ group, name }: CommandDocs): number {
  return group === 'server' || group === 'connection' || name === 'swapdb' ? 1 : 5;
}

/** The commands and subcommands that are compared at random. */
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
  return fc.oneof({ weight: 6, arbitrary: command }, { weight: 1, arbitrary: spoiled(command) });
}

function transaction(command: fc.Arbitrary<Argv[]>): fc.Arbitrary<Argv[]> {
  return fc
    .tuple(fc.array(command, { maxLength: 6 }), fc.constantFrom('EXEC', 'EXEC', 'EXEC', 'DISCARD'))
    .map(([commands, end]) => [['MULTI'], ...commands.flat(), [end]]);
}

/** What lies between two members is only defined where all scores are the same: they become so first. */
function prepared(argv: Argv): Argv[] {
  const command = said(argv);
  if (!command.some((word) => /bylex$|^zlexcount$/i.test(word))) return [argv];
  const key = command[nameOf(command) === 'zrangestore' ? 2 : 1] ?? '';
  return [['ZUNIONSTORE', key, '1', key, 'WEIGHTS', '0'], argv];
}

/** The same command, said by a script. */
function inScript(command: fc.Arbitrary<Argv>): fc.Arbitrary<Argv> {
  const call = fc.constantFrom('call', 'pcall');
  return fc
    .tuple(command, call)
    .filter(([argv]) => argv.length < 200)
    .map(([argv, name]) => ['EVAL', `return redis.${name}${SAID_BY_SCRIPT}`, '0', ...argv]);
}

/** Which members go is left to chance, so that afterwards the rest must go as well. */
function popped(argv: Argv): Argv[] {
  const key = argv[1] ?? 't1';
  return [argv, ['SCARD', key], ['DEL', key]];
}

/** Makes keys anew that others have emptied or overwritten. */
const refurnished: fc.Arbitrary<Argv[]> = fc
  .subarray([...FURNITURE])
  .map((commands) =>
    commands.flatMap((argv) => (isTimed(argv) ? [argv] : [['DEL', argv[1]!], argv])),
  );

function isTimed(argv: Argv): boolean {
  return argv[0]!.includes('EXPIRE');
}

/** Two sessions wait for the same keys, and a third brings something, at once or in a transaction. */
const meeting: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
    fc.array(fc.constantFrom(...WAITS), { minLength: 1, maxLength: 2 }),
    fc.array(fc.constantFrom(...GIFTS), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([sessions, waits, gifts, together]) => [
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
      commands: together ? [['MULTI'], ...gifts, ['EXEC']] : gifts,
    },
  ]);

/** One session watches a key, another does something, and the first finds out whether it was changed. */
function race(command: fc.Arbitrary<Argv>): fc.Arbitrary<Step[]> {
  return fc
    .tuple(
      fc.shuffledSubarray([0, 1, 2], { minLength: 2 }),
      fc.constantFrom('s1', 'h1', 'l1', 't1', 'z1'),
      fc.array(command, { minLength: 1, maxLength: 6, size: 'max' }),
    )
    .map(([sessions, key, commands]) => [
      { session: sessions[0]!, commands: [['WATCH', key]] },
      { session: sessions[1]!, commands },
      { session: sessions[0]!, commands: [['MULTI'], ['EXISTS', key], ['EXEC']] },
    ]);
}

/** Enough of something to make Redis change the form in which it keeps it. */
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
