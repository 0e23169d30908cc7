import type { Clock, Timer } from '../../clock/index.ts';
import type { Holder, Inspection, Lock } from '../../lock/index.ts';
import { durationText, foreignValue, leftText, shortValue } from '../ls/words.ts';
import { printableText } from '../printable.ts';
import { type Io, printError } from '../verb.ts';

const REFRESH_MS = 1000;
/** Without a terminal: when the one line is printed. Most waits are shorter. */
const REPORT_AFTER_MS = 10_000;
const ERASE = '\r\x1b[K';

/**
 * Says which lock a run waits for, and its holder: on a terminal in a line that is refreshed and then erased, elsewhere,
 * as in a log, in one line after 10 s. A terminal that cannot erase a line (TERM=dumb) is treated as a log.
 */
export class WaitStatus {
  readonly #errors: Io['errors'];
  readonly #canErase: boolean;
  readonly #clock: Clock;
  /** When the first wait began. A run may wait for two locks, and again after the server has ended. */
  #beganMs: number | undefined;
  #hasReported = false;

  constructor({ errors, environment }: Pick<Io, 'errors' | 'environment'>, clock: Clock) {
    this.#errors = errors;
    this.#canErase = errors.isTTY === true && environment.TERM !== 'dumb';
    this.#clock = clock;
  }

  /** The wait for this lock begins. It ends when the result is disposed. */
  show(lock: Lock): Disposable {
    this.#beganMs ??= this.#clock.monotonicMs();
    return this.#canErase ? this.#showOnTerminal(lock) : this.#reportOnce(lock, this.#beganMs);
  }

  #showOnTerminal(lock: Lock): Disposable {
    let timer: Timer | undefined;
    let isOver = false;
    const refresh = async (): Promise<void> => {
      const text = await statusText(lock);
      if (isOver) return;
      this.#write(text);
      timer = this.#clock.setTimer(REFRESH_MS, () => void refresh());
    };
    void refresh();
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        if (timer !== undefined) this.#errors.write(ERASE);
        timer?.cancel();
      },
    };
  }

  #reportOnce(lock: Lock, beganMs: number): Disposable {
    let isOver = false;
    const report = async (): Promise<void> => {
      const text = await statusText(lock);
      if (isOver || this.#hasReported) return;
      this.#hasReported = true;
      printError({ errors: this.#errors }, `${text}.`);
    };
    const leftMs = beganMs + REPORT_AFTER_MS - this.#clock.monotonicMs();
    const timer = this.#clock.setTimer(Math.max(0, leftMs), () => void report());
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        timer.cancel();
      },
    };
  }

  /** Text that does not fit on one line could not be erased. A terminal that does not know its width says 0. */
  #write(text: string): void {
    const columns = this.#errors.columns || 80;
    this.#errors.write(`${ERASE}holdfast: ${text}`.slice(0, ERASE.length + columns - 1));
  }
}

async function statusText(lock: Lock): Promise<string> {
  const text = await lock.inspect().then(describe, () => 'the store does not answer');
  return `waiting for '${printableText(lock.name)}': ${text}`;
}

/** The holders of a lock, in words. */
export function describe({ holders, waiters }: Inspection): string {
  const [first, ...others] = holders;
  if (first === undefined) return 'it is about to be free';
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const queue = waiters.length < 2 ? '' : `; ${waiters.length} waiting`;
  return `held by ${holderText(first)}${more}${queue}`;
}

function holderText(holder: Holder): string {
  if (holder.foreign) {
    const value = foreignValue(holder.type, shortValue(holder.value, printableText));
    return `another program (value ${value}), ${leftText(holder.leftMs)}`;
  }
  const label = holder.label === '' ? '' : ` (${printableText(holder.label)})`;
  return `${printableText(holder.host)} pid ${holder.pid}${label} for ${durationText(holder.ageMs)}`;
}
