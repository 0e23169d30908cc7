import { type Clock, systemClock } from '../../clock/index.ts';
import type { Progress } from '../../lab/index.ts';
import { countText, type Language } from '../../lab/report/index.ts';
import type { Io } from '../verb.ts';
import { shorten } from './text-width.ts';

/** Minimum pause between two updates; counting takes at most a tenth of the time. */
const PAUSE_SECONDS = 0.2;
const COUNTING_SHARE = 10;

/** A line on the terminal with the progress of a search, erased at its end. */
export class ProgressLine {
  readonly #io: Io;
  readonly #language: Language;
  readonly #clock: Clock;
  #isDrawn = false;

  constructor(io: Io, language: Language, clock: Clock = systemClock) {
    this.#io = io;
    this.#language = language;
    this.#clock = clock;
  }

  /** Returns a callback for the progress of a search. */
  follow(title: string): (progress: Progress) => undefined {
    let nextSeconds = PAUSE_SECONDS;
    return (progress) => {
      if (!this.#io.errors.isTTY || progress.seconds < nextSeconds) return;
      const beganMs = this.#clock.monotonicMs();
      this.#draw(`${title}: ${DESCRIBE[this.#language](progress)}`);
      const cost = (this.#clock.monotonicMs() - beganMs) / 1000;
      nextSeconds = progress.seconds + cost + Math.max(PAUSE_SECONDS, cost * COUNTING_SHARE);
    };
  }

  clear(): void {
    if (this.#isDrawn) this.#io.errors.write('\r\x1b[K');
    this.#isDrawn = false;
  }

  #draw(text: string): void {
    const { errors } = this.#io;
    errors.write(`\r\x1b[K${shorten(text, (errors.columns || 80) - 1)}`);
    this.#isDrawn = true;
  }
}

const DESCRIBE: Readonly<Record<Language, (progress: Progress) => string>> = {
  en: (progress) =>
    `${countText(progress.states)} states, ${rate(progress)} a second, ${countText(progress.interleavings())} interleavings so far`,
  zh: (progress) =>
    `${countText(progress.states)} 个状态，每秒 ${rate(progress)} 个，已覆盖 ${countText(progress.interleavings())} 种交错`,
};

function rate({ states, seconds }: Progress): string {
  return countText(Math.round(states / seconds));
}
