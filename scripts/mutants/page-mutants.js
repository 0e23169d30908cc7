// Bugs in the server side of the page. The lab has no HTTP: tests with requests catch them.
import { mutant } from './mutant.js';

const GUARD = 'src/page/page-guard.ts';
const HANDLER = 'src/page/page-handler.ts';
const HUB = 'src/page/page-hub.ts';
const GUARD_TESTS = ['src/page/page-guard.test.ts'];
const HANDLER_TESTS = ['src/page/page-handler.test.ts'];

export const PAGE_MUTANTS = [
  mutant(
    'page: the Host is not checked',
    GUARD,
    "if (!isKnownHost(request.header('host'))) return WRONG_HOST;",
    '',
    GUARD_TESTS,
  ),
  mutant(
    'page: the Origin is not compared with the Host',
    GUARD,
    '  if (origin === undefined) return undefined;',
    "  if (origin !== 'null') return undefined;",
    GUARD_TESTS,
  ),
  mutant(
    'page: a request of another port of this host is accepted',
    GUARD,
    "return site === 'same-origin' ? undefined : FOREIGN;",
    "return site.startsWith('same-') ? undefined : FOREIGN;",
    GUARD_TESTS,
  ),
  mutant(
    'page: secrets are compared by prefix',
    GUARD,
    'return given !== undefined && timingSafeEqual(hashOf(given), hashOf(expected));',
    "return given !== undefined && given !== '' && expected.startsWith(given);",
    GUARD_TESTS,
  ),
  mutant(
    'page: the token is also the value of the cookie',
    GUARD,
    'value: secret(random) };',
    'value: token };',
    GUARD_TESTS,
  ),
  mutant(
    'page: a page that may only read releases locks',
    HANDLER,
    'if (!hub.facts.canRelease) {',
    'if (hub.isFull) {',
    HANDLER_TESTS,
  ),
  mutant(
    'page: a forced release accepts any Content-Type',
    HANDLER,
    "if (!/^application\\/json\\s*(?:;|$)/i.test(request.header('content-type') ?? '')) {",
    'if (hub.isFull) {',
    HANDLER_TESTS,
  ),
  mutant(
    'page: a forced release ends leases of holders that the user has not seen',
    HUB,
    'found.lock, note, owners && seen)',
    'found.lock, note)',
    HANDLER_TESTS,
  ),
  mutant(
    'page: the Last-Event-ID is ignored',
    HUB,
    'this.#history.after(lastEventId)',
    'this.#history.after(undefined)',
    HANDLER_TESTS,
  ),
  mutant(
    'page: the number of streams is not limited',
    HUB,
    'return this.#streams.size >= MAX_STREAMS;',
    'return this.#streams.size > 2 * MAX_STREAMS;',
    HANDLER_TESTS,
  ),
  mutant(
    'page: a stream that is not read is not closed',
    'src/page/page-hub.ts',
    'largest.destroy();',
    '',
    ['src/page/page-handler.test.ts'],
  ),
  mutant(
    'page: the number of groups is not limited',
    'src/page/lock-group.ts',
    'this.#groups.has(group) || this.#groups.size < MAX_GROUPS',
    'this.#groups.has(group) || MAX_GROUPS > 0',
    ['src/page/lock-group.test.ts'],
  ),
  mutant(
    'page: quotes in a label of a metric are not escaped',
    'src/page/exposition.ts',
    `escapeHelp(text).replaceAll('"', '\\\\"')`,
    'escapeHelp(text)',
    ['src/page/exposition.test.ts'],
  ),
  mutant(
    'page: a new epoch of the history is not reported',
    'src/page/history-feed.ts',
    '    this.#resets++;\n',
    '',
    ['src/page/history-feed.test.ts'],
  ),
];
