import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getSystemErrorName } from 'node:util';
import { systemClock } from '../clock/index.ts';
import { LocalError } from './errors.ts';
import { cannotUse, type LocalEnvironment } from './folder.ts';

/** How long somebody else who is about to start the server is waited for. */
const TURN_MS = 10_000;

/**
 * Starts the server of a folder, as often as that is asked for and none of its own is on its way. Of many
 * who want to at once one does, by a note in the folder: this only saves work. Which server serves is
 * settled between the servers (see place.ts).
 */
export class Starter {
  readonly #folder: string;
  readonly #environment: LocalEnvironment;
  readonly #beganMs = systemClock.monotonicMs();
  #child: ChildProcess | undefined;
  #failure: LocalError | undefined;
  #note: string | undefined;

  constructor(folder: string, environment: LocalEnvironment) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Nobody serves as `number` yet. Throws LocalError if the server failed to start. */
  start(number: number): void {
    if (this.#failure) throw this.#failure;
    if (this.#child === undefined && this.#isOurTurn(number)) this.#spawn();
  }

  /** The server serves, or somebody has given up. */
  [Symbol.dispose](): void {
    if (this.#note !== undefined) remove(this.#note);
    this.#note = undefined;
  }

  #isOurTurn(number: number): boolean {
    const note = join(this.#folder, `starting-${number}`);
    if (note === this.#note || this.#writeNote(note)) return true;
    if (isAlive(pidIn(note)) && systemClock.monotonicMs() - this.#beganMs < TURN_MS) return false;
    // Whoever wrote it is gone, or hangs.
    remove(note);
    return this.#writeNote(note);
  }

  #writeNote(note: string): boolean {
    try {
      writeFileSync(note, String(process.pid), { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw cannotUse(this.#folder, error);
    }
    this[Symbol.dispose]();
    this.#note = note;
    return true;
  }

  #spawn(): void {
    const child = spawn(process.execPath, [...FLAGS, PROGRAM, this.#folder], {
      // A session of its own: no terminal reaches it, and no signal to the group of who started it.
      detached: true,
      stdio: 'ignore',
      cwd: '/',
      env: variables(this.#environment),
    });
    this.#child = child;
    child.unref();
    child.once('error', (error) => {
      this.#failure = cannotStart(error.message);
    });
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      if (code === 0) return;
      this.#failure = code === null || code === 1 ? cannotStart(signal) : this.#explained(code);
    });
  }

  #explained(errno: number): LocalError {
    return cannotUse(this.#folder, { code: getSystemErrorName(-errno) });
  }
}

const FLAGS = ['--disallow-code-generation-from-strings', '--disable-proto=delete'] as const;
const PROGRAM = fileURLToPath(new URL('./server-process.js', import.meta.url));

/** Nothing else: what one program's variables hold is not for a server that outlives it. */
function variables({
  HOLDFAST_LOCAL_IDLE_MS,
  LD_LIBRARY_PATH,
}: LocalEnvironment): NodeJS.ProcessEnv {
  return { HOLDFAST_LOCAL_IDLE_MS, LD_LIBRARY_PATH };
}

function cannotStart(reason: string | null): LocalError {
  return new LocalError(
    'start',
    `the local server did not start (${reason ?? 'it failed'}). Name a server with --store, or start one: holdfast serve.`,
  );
}

function pidIn(note: string): number {
  try {
    return Number(readFileSync(note, 'utf8'));
  } catch {
    return 0;
  }
}

/** A note that is being written names nobody yet. */
function isAlive(pid: number): boolean {
  if (pid === 0) return true;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Somebody else did.
  }
}
