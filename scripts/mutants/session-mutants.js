// Bugs in sessions: in the client, and in the exit commands of the engine.
import { mutant } from './mutant.js';

const STORE = 'src/stores/redis/redis-store.ts';
const SESSION = 'src/stores/sessions/lock-session.ts';
const CORE = 'src/lock/core.ts';
const LEASE = 'src/lock/store-lease.ts';
const SESSION_TEST = 'src/stores/sessions/lock-session.test.ts';
const REDIS_STORE_TEST = 'src/stores/redis/redis-store.test.ts';

export const SESSION_MUTANTS = [
  mutant(
    'session: NOSESSION is ignored',
    STORE,
    "if (reply === 'NOSESSION') {",
    "if (reply === '') {",
    [SESSION_TEST],
  ),
  mutant(
    'session: its end overtakes a grant of the same bytes',
    STORE,
    'this.#clock.defer(() => this.session?.lost(batch.sessionId));',
    'this.session?.lost(batch.sessionId);',
    [SESSION_TEST],
  ),
  mutant(
    'session: a hand-over in a reply after its end counts',
    STORE,
    'if (batch.lossCount === this.#lossCount) this.#waiters.served',
    'this.#waiters.served',
    [SESSION_TEST],
  ),
  mutant(
    'session: a grant in a reply after its end counts',
    STORE,
    'const isLost = batch.lossCount !== this.#lossCount;',
    'const isLost = false;',
    [SESSION_TEST],
  ),
  mutant(
    'session: waiters do not ask again after its end',
    STORE,
    '      this.#waiters.retryAll();\n',
    '',
    [SESSION_TEST],
  ),
  mutant(
    'session: the next is used before the exit of the last has run',
    SESSION,
    '      await Promise.all([...this.#toExit].map((id) => this.#exit(id)));\n',
    '',
    [SESSION_TEST],
  ),
  mutant(
    'session: used without an exit command',
    SESSION,
    "      await this.#setExit(live.id, 'locks', SCRIPT, [], [live.id, 'exit']);\n",
    '',
    [SESSION_TEST],
  ),
  mutant(
    'session: AGAIN is ignored by the client',
    SESSION,
    "while (String(await run()) === 'AGAIN');",
    'await run();',
    [SESSION_TEST],
  ),
  mutant(
    'session: AGAIN is ignored by the engine',
    'src/engine/exit-commands.ts',
    "return isAgain(outcome) ? 'again' : 'done';",
    "return 'done';",
    ['src/engine/exit-commands.test.ts'],
  ),
  mutant(
    'session: AGAIN is obeyed by the engine without end',
    'src/engine/exit-commands.ts',
    "if (outcome === 'again' && ++this.#repeats < MAX_REPEATS) {",
    "if (outcome === 'again') {",
    ['src/engine/exit-commands.test.ts'],
  ),
  mutant(
    'session: its end is not reported to holders',
    CORE,
    'if (owner === undefined) lease.sessionEnded(reason);',
    'if (owner === undefined) continue;',
    [SESSION_TEST],
  ),
  mutant(
    'detach: not sent for a lease that was given away',
    LEASE,
    '    this.#core.detach(this.request);\n    this.#finish(new NotHeldError',
    '    this.#finish(new NotHeldError',
    [SESSION_TEST],
  ),
  mutant(
    'release: not sent for a lease that was stolen',
    LEASE,
    'else if (!isReleased) this.#core.releaseUnused(this.#granted);',
    '',
    [SESSION_TEST, REDIS_STORE_TEST],
  ),
  mutant(
    'detach: not sent again after it failed',
    CORE,
    'retry(this, request.leaseMs, () => store.detach!(request))',
    'store.detach(request)',
    [SESSION_TEST],
  ),
  mutant('ready: does not open the session', CORE, '    await this.store.openSession?.();\n', '', [
    SESSION_TEST,
  ]),
];
