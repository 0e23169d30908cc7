// Bugs in leader election and in the spans of a hold.
import { mutant } from './mutant.js';

const ELECTION = 'src/lock/election.ts';
const ELECTION_TEST = 'src/lock/election.test.ts';

export const ELECTION_MUTANTS = [
  mutant(
    'election: the signal of the leader does not abort on a loss',
    ELECTION,
    "    lease.signal.addEventListener('abort', onLoss, once);\n",
    '',
    [ELECTION_TEST],
  ),
  mutant(
    'election: the callback starts after stop()',
    ELECTION,
    '    if (stopping.aborted) onStop();\n',
    '',
    [ELECTION_TEST],
  ),
  mutant(
    'election: an error of the callback is dropped',
    ELECTION,
    'term.failure = { error };',
    'void error;',
    [ELECTION_TEST],
  ),
  mutant('election: the pause does not grow', ELECTION, ' * 2 ** shortTerms', '', [ELECTION_TEST]),
  mutant(
    'election: stop() does not wait for the release of a request under way',
    ELECTION,
    'if (this.#core.closed === undefined) await this.#core.finishWork(this.name);',
    '',
    [ELECTION_TEST],
  ),
  mutant(
    'telemetry: spans of a callback are not under the hold span',
    'src/lock/run-context.ts',
    'current.run(this, runInHoldSpan, this.request, callback)',
    'current.run(this, callback)',
    ['src/lock/telemetry.test.ts'],
  ),
];
