// Bugs in the quorum store.
import { mutant } from './mutant.js';

const SCRIPT = 'src/stores/quorum/node-script.ts';
const ROUND = 'src/stores/quorum/vote-round.ts';
const VOTING = 'src/stores/quorum/voting.ts';
const ADMISSION = 'src/stores/quorum/node-admission.ts';
const LOCKS = 'src/stores/quorum/quorum-locks.ts';
const SCRIPT_TEST = 'src/stores/quorum/node-script.test.ts';
const LOCKS_TEST = 'src/stores/quorum/quorum-locks.test.ts';
const SEARCH_TEST = 'src/lab/quorum/quorum-search.test.ts';

export const QUORUM_MUTANTS = [
  mutant(
    'quorum: a node confirms a fence without checking the owner',
    SCRIPT,
    'if owner ~= token or fence > tonumber(number) then',
    'if fence > tonumber(number) then',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a node confirms a smaller fence than its own',
    SCRIPT,
    'if owner ~= token or fence > tonumber(number) then',
    'if owner ~= token then',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: the rule confirms a smaller fence',
    VOTING,
    'if (lock.owner !== owner || lock.fence > fence) return false;\n    lock.fence = fence;',
    'if (lock.owner !== owner) return false;\n    lock.fence = Math.max(lock.fence, fence);',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: the lock is won before the nodes confirm the fence',
    VOTING,
    'votes.filter((vote) => vote === fence)',
    'votes.filter((vote) => vote > 0)',
    [SEARCH_TEST],
  ),
  mutant(
    'quorum: the majority is half of the nodes',
    VOTING,
    'Math.floor(nodeCount / 2) + 1',
    'Math.floor(nodeCount / 2)',
    [SEARCH_TEST],
  ),
  mutant(
    'quorum: extend creates a vote',
    SCRIPT,
    "function operations.extend()\n  if owner ~= token then return { 0, '0' } end\n",
    "function operations.extend()\n  if owner and owner ~= token then return { 0, '0' } end\n  call('SET', OWNER, token)\n",
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: adopt takes a free lock',
    SCRIPT,
    'return vote(owner == other)',
    'return vote(not owner or owner == other)',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a release does not raise the fence',
    SCRIPT,
    'if held > fence then setFence(held) end\n',
    '',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: the floor does not rise',
    SCRIPT,
    '  floor = math.max(floor, max)\n  call(',
    '  call(',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: the floor does not rise when the clock was set back',
    SCRIPT,
    ' and turn <= now + ${FLOOR_PERIOD_S}',
    '',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a server that restarted votes at once',
    SCRIPT,
    'local isVoting = field[1] == run',
    'local isVoting = true',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a server that restarted does not wait',
    ADMISSION,
    'isNew ? Math.max(0, waitMs - state.uptimeMs) : waitMs',
    'isNew ? Math.max(0, waitMs - state.uptimeMs) : 0',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: new servers do not wait',
    ADMISSION,
    'isNew ? Math.max(0, waitMs - state.uptimeMs) : waitMs',
    'isNew ? 0 : waitMs',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: the longest lease of other clients is ignored',
    ADMISSION,
    'Math.max(this.#maxLeaseMs, ...leases)',
    'Math.max(this.#maxLeaseMs, 0 * leases.length)',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a server is admitted without the fences of the others',
    ADMISSION,
    "node.admission('admit', runId, floor, latest.length, index + 1)",
    "node.admission('admit', runId, 0 * floor, latest.length, index + 1)",
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a server is admitted while fewer than a majority vote',
    ADMISSION,
    'return votingStates(members).length >= majorityOf(members.length);',
    'return votingStates(members).length > 0;',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: the fences are those from before the end of the wait',
    ADMISSION,
    'const latest = await this.#read();',
    'const latest = members;',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a late request for an earlier run of a server admits it',
    SCRIPT,
    "if ARGV[2] ~= run then verb = 'state' end",
    '',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a late drop ends the vote of a later round',
    SCRIPT,
    'if owner ~= token or round > given then',
    'if owner ~= token then',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: a late vote makes a later round old',
    SCRIPT,
    'round = math.max(round, given)',
    'round = given',
    [SCRIPT_TEST],
  ),
  mutant(
    'quorum: the same server counts twice',
    ADMISSION,
    'if (state !== undefined && same < index) {',
    'if (state !== undefined && same < index - members.length) {',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a lock is busy before a majority has replied',
    ROUND,
    'if (this.#voters >= this.#majority) {',
    'if (this.#failures.length <= length - this.#majority) {',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: votes that came back count as those of the earlier grant',
    ROUND,
    'code === CODES.kept && number <= this.#request.heldFence',
    'code === CODES.kept',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a lease may be longer than maxLease',
    LOCKS,
    'if (leaseMs <= this.#maxLeaseMs) return;',
    'if (leaseMs > 0) return;',
    [LOCKS_TEST],
  ),
  mutant(
    'quorum: a client that was refused keeps its votes',
    LOCKS,
    'if (voting !== undefined) this.#abandon(request, entry);',
    '',
    [LOCKS_TEST],
  ),
];
