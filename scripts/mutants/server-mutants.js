// Bugs in how the server decodes requests ahead. The lab has no sockets: tests on real ones catch them.
import { mutant } from './mutant.js';

const QUEUE = 'src/server/request-queue.ts';
const TESTS = ['test/pipelines.test.ts'];

export const SERVER_MUTANTS = [
  mutant(
    'server: a key gets the hash of another key that was decoded ahead',
    'src/engine/key-index.ts',
    'key === this.#nextKeys[this.#nextAt]',
    'this.#nextKeys[this.#nextAt] !== undefined',
    TESTS,
  ),
  mutant(
    'server: databases share the hashes of the keys that were decoded ahead',
    'src/engine/key-index.ts',
    '  readonly #nextHashes = new Int32Array(MAX_PREFETCHED);',
    '  static readonly #all = new Int32Array(64);\n  readonly #nextHashes = KeyIndex.#all;',
    ['src/engine/key-index.test.ts'],
  ),
  mutant(
    'server: the last of the requests that were decoded together is dropped',
    QUEUE,
    '    if (requests.length > 1) database.prefetch(requests);',
    '    if (requests.length > 1) database.prefetch(requests.splice(-1));',
    TESTS,
  ),
  mutant(
    'server: a request that was decoded ahead runs twice',
    QUEUE,
    '        if (last === null) break;\n',
    '        if (last === null) break;\n        if (requests.length === 2) requests.push(last);\n',
    TESTS,
  ),
  mutant(
    'server: an invalid frame is reported before the requests ahead of it have run',
    QUEUE,
    '    } catch {\n',
    '    } catch {\n      this.#requests = NO_REQUESTS;\n',
    TESTS,
  ),
  mutant(
    'server: requests behind AUTH are decoded with the limits of a client that has not signed in',
    QUEUE,
    '    if (!authenticated) return;\n',
    '',
    TESTS,
  ),
  mutant(
    'server: requests behind RESET are decoded with the limits of a client that has signed in',
    QUEUE,
    'while (last.length > 1 && ',
    'while (',
    TESTS,
  ),
  mutant(
    'server: a large chunk that waits is overwritten by the next read',
    'src/server/shared-input.ts',
    'Buffer.from(input.subarray(0, count))',
    'count > 4096 ? input.subarray(0, count) : Buffer.from(input.subarray(0, count))',
    ['src/server/shared-input.real.test.ts'],
  ),
];
