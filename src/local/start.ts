import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getSystemErrorName } from 'node:util';
import { systemClock } from '../clock/index.ts';
import { LocalError } from './errors.ts';
import { cannotUse, type LocalEnvironment } from './folder.ts';
import { REPORT_DESCRIPTOR, startOrphan } from './orphan.ts';

/** Maximum time to wait for another client that is starting the server. */
const MAX_TURN_MS = 10_000;
/** Maximum number of servers that end while they start. When memory is short, the kernel may kill one at random. */
const MAX_DEATHS = 3;

/**
 * Starts the server of a folder. `start` may be called repeatedly: it does nothing while a server is starting. Of many
 * clients, the one that creates the link `starting-<number>` in the folder, the note, starts the server. This only
 * saves work: if several servers start, they decide which of them serves (see place.ts).
 */
export class Starter {
  readonly #folder: string;
  readonly #environment: LocalEnvironment;
  readonly #beganMs = systemClock.monotonicMs();
  #isStarting = false;
  #deaths = 0;
  #failure: LocalError | undefined;
  #note: string | undefined;

  constructor(folder: string, environment: LocalEnvironment) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** `number` is the lowest that no server has taken: see place.ts. Throws LocalError if no server could start. */
  start(number: number): void {
    if (this.#failure) throw this.#failure;
    if (!this.#isStarting && this.#isOurTurn(number)) void this.#startServer();
  }

  /** Removes the note. Called when the server serves, or when the client has given up. */
  [Symbol.dispose](): void {
    if (this.#note !== undefined) remove(this.#note);
    this.#note = undefined;
  }

  #isOurTurn(number: number): boolean {
    const note = join(this.#folder, `starting-${number}`);
    if (note === this.#note || this.#writeNote(note)) return true;
    if (isAlive(pidIn(note)) && systemClock.monotonicMs() - this.#beganMs < MAX_TURN_MS)
      return false;
    // The process that wrote the note is gone, or hangs.
    remove(note);
    return this.#writeNote(note);
  }

  /** A dangling symbolic link: created atomically with its content, and possible on a full disk. */
  #writeNote(note: string): boolean {
    try {
      symlinkSync(String(process.pid), note);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw cannotUse(this.#folder, error);
    }
    this[Symbol.dispose]();
    this.#note = note;
    return true;
  }

  async #startServer(): Promise<void> {
    this.#isStarting = true;
    const args = [...FLAGS, PROGRAM, String(REPORT_DESCRIPTOR), this.#folder];
    try {
      const report = await startOrphan([process.execPath, ...args], variables(this.#environment));
      this.#failure = this.#failureBy(report);
    } catch (error) {
      this.#failure = this.#died((error as Error).message);
    }
    this.#isStarting = false;
  }

  /** The report is the errno of a system error, 0 for success, 1 for another error, or empty. */
  #failureBy(report: string): LocalError | undefined {
    if (report === '0') return undefined;
    const errno = Number(report);
    if (errno > 1) return cannotUse(this.#folder, { code: getSystemErrorName(-errno) });
    return this.#died(`it ended ${MAX_DEATHS} times`);
  }

  #died(reason: string): LocalError | undefined {
    this.#deaths++;
    return this.#deaths < MAX_DEATHS ? undefined : cannotStart(reason);
  }
}

const FLAGS = ['--disallow-code-generation-from-strings', '--disable-proto=delete'] as const;
const PROGRAM = fileURLToPath(new URL('./server-process.js', import.meta.url));

/** No other variables: the server outlives the program, whose variables may hold secrets. */
function variables({
  HOLDFAST_LOCAL_IDLE_MS,
  LD_LIBRARY_PATH,
}: LocalEnvironment): NodeJS.ProcessEnv {
  return { HOLDFAST_LOCAL_IDLE_MS, LD_LIBRARY_PATH };
}

function cannotStart(reason: string): LocalError {
  return new LocalError(
    'start',
    `the local server did not start (${reason}). Name a server with --store, or start one: holdfast serve.`,
  );
}

/** 0 if unknown. */
function pidIn(note: string): number {
  try {
    return Number(readlinkSync(note)) || 0;
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another process has removed it.
  }
}
