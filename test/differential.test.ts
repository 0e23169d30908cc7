import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everyCommand } from '../src/engine/commands/index.ts';
import { type CommandDocs, readCommandDocs } from './differential/command-docs.ts';
import { ComparedServers, type Sequence, showSequence } from './differential/compared-servers.ts';
import { EXEMPT } from './differential/exemptions.ts';
import { INITIAL_DATA } from './differential/initial-data.ts';
import { RawClient } from './differential/raw-client.ts';
import { generatedNames, stepsFrom } from './differential/steps.ts';
import { newSeed } from './new-seed.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

/**
 * Runs random sequences of commands in three sessions on Redis 7.0 and on our server. Every reply, message and event
 * must be equal, and the stored data at the end. test/differential/rules.ts and docs/differences.md list the allowed
 * differences.
 *
 * HOLDFAST_COMMANDS sets the number of commands, HOLDFAST_SEED repeats a run.
 */
const { HOLDFAST_COMMANDS = '20000', HOLDFAST_SEED = newSeed() } = process.env;
const COMMANDS = Number(HOLDFAST_COMMANDS);
const RUNS_AT_ONCE = 20;

let redis: RunningServer;
let holdfast: RunningServer;
let docs: Map<string, CommandDocs>;

beforeAll(async () => {
  redis = await startRealRedis();
  holdfast = await startHoldfast();
  const client = await RawClient.connect(redis.port);
  docs = await readCommandDocs(client);
  client.destroy();
});

afterAll(async () => {
  await holdfast.stop();
  await redis.stop();
});

it('generates every command, or has a reason not to', () => {
  const generated = new Set(generatedNames(docs));
  const missing = everyCommand()
    .filter(({ name, subcommands }) => !subcommands || docs.has(name))
    .filter(({ name }) => !generated.has(name) && !(name in EXEMPT));
  expect(missing.map(({ name }) => name)).toEqual([]);
  const offered = new Set(everyCommand().map(({ name }) => name));
  expect(Object.keys(EXEMPT).filter((name) => !offered.has(name))).toEqual([]);
});

it(`replies to ${COMMANDS} random commands as Redis does`, {
  timeout: withinMs(60_000 + COMMANDS * 2),
}, async () => {
  const servers = new ComparedServers({ redis: redis.port, ours: holdfast.port });
  const sequences: fc.Arbitrary<Sequence> = fc.record({
    protocol: fc.constantFrom(2, 3),
    initialData: fc.subarray([...INITIAL_DATA]),
    steps: stepsFrom(docs),
  });
  const property = fc.asyncProperty(sequences, (sequence) => servers.run(sequence));
  for (let seed = Number(HOLDFAST_SEED); servers.commandCount < COMMANDS; seed++) {
    await fc.assert(property, { numRuns: RUNS_AT_ONCE, seed, reporter: report });
  }
  servers.close();
  console.info(`${servers.commandCount} commands compared, first seed ${HOLDFAST_SEED}`);
});

function report(details: fc.RunDetails<[Sequence]>): void {
  if (!details.failed) return;
  const [sequence] = details.counterexample!;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : 'unknown';
  throw new Error(
    `the servers differ (HOLDFAST_SEED=${details.seed}), shrunk ${details.numShrinks} times to\n` +
      `${showSequence(sequence)}\n${reason}`,
  );
}
