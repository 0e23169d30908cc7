// Bugs in the log. The lab does not see the disk: tests on a simulated one catch them.
import { mutant } from './mutant.js';

const LOG = 'src/log/log.ts';
const FILES = 'src/log/log-files.ts';
const RECOVERY = 'src/log/recovery.ts';
const CHANGES = 'src/engine/changes.ts';
const CRASH_TEST = 'test/log-crash.virtual.test.ts';
const REPLAY_TEST = 'test/log-replay.virtual.test.ts';
const LOG_TEST = 'src/log/log.test.ts';
const FAULTS_TEST = 'src/log/log-faults.test.ts';

export const LOG_MUTANTS = [
  mutant(
    'log: the folder is not synced before the manifest is replaced',
    FILES,
    '    await disk.syncNames();\n    disk.rename(TEMPORARY, MANIFEST);',
    '    disk.rename(TEMPORARY, MANIFEST);',
    [CRASH_TEST],
  ),
  mutant(
    'log: the folder is not synced after the manifest is replaced',
    FILES,
    '    this.#manifest = manifest;\n    await disk.syncNames();\n',
    '    this.#manifest = manifest;\n',
    [CRASH_TEST],
  ),
  mutant(
    'log: with always a reply leaves before the sync',
    LOG,
    "return this.mode === 'always' ? this.#synced : this.#written;",
    'return this.#written;',
    [CRASH_TEST],
  ),
  mutant(
    'log: a sync covers frames that were written after it began',
    LOG,
    'this.#synced = Math.max(this.#synced, number);',
    'this.#synced = Math.max(this.#synced, number, this.#written);',
    [CRASH_TEST, FAULTS_TEST],
  ),
  mutant(
    'log: a new base file is used before its increment is synced',
    LOG,
    '      await this.#syncAll();\n',
    '',
    [CRASH_TEST],
  ),
  mutant(
    'log: a start syncs only the last increment',
    LOG,
    'for (const { name } of manifest.increments) {',
    'for (const { name } of manifest.increments.slice(-1)) {',
    [CRASH_TEST, FAULTS_TEST],
  ),
  mutant(
    'log: a torn end is not cut',
    LOG,
    'name === tornAt?.file ? tornAt.offset : disk.size(name)',
    'disk.size(name)',
    [LOG_TEST],
  ),
  mutant(
    'log: a file is closed that has unsynced frames',
    LOG,
    'if (file !== this.#current?.file && !this.#unsynced.has(file)) file.close();',
    'if (file !== this.#current?.file) file.close();',
    [FAULTS_TEST],
  ),
  mutant(
    'log: a failed sync during a rewrite does not start it again',
    LOG,
    'if (this.#isRewriting) this.#mustRestart = true;\n    else this.rewrite();',
    'this.rewrite();',
    [FAULTS_TEST],
  ),
  mutant(
    'log: deadlines are restored by the wall clock',
    RECOVERY,
    '? frame.offsetMs + bootOffsetMs',
    '? engine.wallOffsetMs',
    [LOG_TEST],
  ),
  mutant(
    'log: after a restart of the machine time has passed for leases',
    RECOVERY,
    ': frame.wallMs - nowMs;',
    ': engine.wallOffsetMs;',
    [LOG_TEST],
  ),
  mutant(
    'log: the first change of a list during a rewrite is relative',
    CHANGES,
    "return this.#wholeLists !== undefined && value.type === 'list' && !this.#wholeLists.has(value);",
    'return false;',
    [REPLAY_TEST, CRASH_TEST],
  ),
  mutant(
    'log: a new file does not choose its database',
    CHANGES,
    '  beginFile(): void {\n    this.#database = -1;',
    '  beginFile(): void {',
    [REPLAY_TEST],
  ),
];
