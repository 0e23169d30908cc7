import type { Clock, Timer } from '../../clock/index.ts';
import type { Holder, Inspection, Lock } from '../../lock/index.ts';
import { durationText, foreignValue, leftText, shortValue } from '../ls/words.ts';
import { printableText } from '../printable.ts';
import type { Io } from '../verb.ts';

const REFRESH_MS = 1000;
const ERASE = '\r\x1b[K';

/** On a terminal, one line that says who holds the lock that is waited for, until it is granted. */
export class WaitStatus {
  readonly #errors: Io['errors'];
  /** Whether the terminal can erase a line; one that cannot (an editor's, a console's) is told nothing. */
  readonly #isShown: boolean;
  readonly #clock: Clock;

  constructor({ errors, environment }: Io, clock: Clock) {
    this.#errors = errors;
    this.#isShown = errors.isTTY === true && environment.TERM !== 'dumb';
    this.#clock = clock;
  }

  /** Until it is disposed of. */
  show(lock: Lock): Disposable {
    if (!this.#isShown) return { [Symbol.dispose]: () => {} };
    let timer: Timer | undefined;
    let isOver = false;
    const refresh = async (): Promise<void> => {
      const text = await lock.inspect().then(describe, () => 'the store does not answer');
      if (isOver) return;
      this.#write(`waiting for '${printableText(lock.name)}': ${text}`);
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

  /** What does not fit on one line could not be erased. A terminal may not know its width: it says 0. */
  #write(text: string): void {
    const columns = this.#errors.columns || 80;
    this.#errors.write(`${ERASE}holdfast: ${text}`.slice(0, ERASE.length + columns - 1));
  }
}

/** Who holds a lock, in words. */
export function describe({ holders, waiters }: Inspection): string {
  const [first, ...others] = holders;
  if (first === undefined) return 'it is about to be free';
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const line = waiters.length < 2 ? '' : `; ${waiters.length} in line`;
  return `held by ${holderText(first)}${more}${line}`;
}

function holderText(holder: Holder): string {
  if (holder.foreign) {
    const value = foreignValue(holder.type, shortValue(holder.value, printableText));
    return `another program (value ${value}), ${leftText(holder.leftMs)}`;
  }
  const label = holder.label === '' ? '' : ` (${printableText(holder.label)})`;
  return `${printableText(holder.host)} pid ${holder.pid}${label} for ${durationText(holder.ageMs)}`;
}
