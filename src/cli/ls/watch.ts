import { emitKeypressEvents, type Key } from 'node:readline';
import { systemClock } from '../../clock/index.ts';
import { type LockList, NO_LOCKS, StoreError } from '../../stores/index.ts';
import type { Paint } from '../console/paint.ts';
import { shorten } from '../lab/text-width.ts';
import { messageText } from '../printable.ts';
import type { Io } from '../verb.ts';
import { type LockRow, lockRows } from './lock-rows.ts';
import { lockTable } from './lock-table.ts';
import { counted, timeText } from './words.ts';

const REFRESH_MS = 1000;

/** Resolves when the list is due again, or at `end`. Keeps the process alive. */
export function pause(end?: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.setTimer(REFRESH_MS, resolve);
    timer.keepAlive(true);
    end?.then(() => {
      timer.cancel();
      resolve();
    });
  });
}

/** The list on the alternate screen, drawn again every second until q or Ctrl-C. */
export class Watch {
  readonly #read: () => Promise<LockList>;
  readonly #store: { readonly label: string };
  readonly #io: Io;
  readonly #paint: Paint;
  #list = NO_LOCKS;
  #rows: readonly LockRow[] = [];
  #atMs = 0;
  #failure: string | undefined;
  /** The first row on the screen. */
  #top = 0;
  #hasEnded = false;

  constructor(
    read: () => Promise<LockList>,
    store: { readonly label: string },
    io: Io,
    paint: Paint,
  ) {
    this.#read = read;
    this.#store = store;
    this.#io = io;
    this.#paint = paint;
  }

  /** A store that is unreachable at first is an error; a later failure is shown on the screen. */
  async run(): Promise<void> {
    await this.#refresh();
    if (this.#failure !== undefined) throw new StoreError(this.#failure);
    const { input, output } = this.#io;
    emitKeypressEvents(input);
    setRaw(input, true);
    output.write(ENTER_SCREEN);
    try {
      await this.#follow();
    } finally {
      output.write(LEAVE_SCREEN);
      setRaw(input, false);
      input.pause();
    }
  }

  async #follow(): Promise<void> {
    const { input, output } = this.#io;
    const draw = (): void => this.#draw();
    const { ended, stop } = this.#endings();
    output.on('resize', draw);
    try {
      while (!this.#hasEnded) {
        draw();
        await pause(ended);
        await Promise.race([this.#refresh(), ended]);
      }
    } finally {
      output.off('resize', draw);
      stop();
      input.pause();
    }
  }

  /** Keys, signals, and the end of the input. */
  #endings(): { ended: Promise<void>; stop: () => void } {
    const { input } = this.#io;
    let stop = (): void => {};
    const ended = new Promise<void>((resolve) => {
      const end = (): void => {
        this.#hasEnded = true;
        resolve();
      };
      const press = (_text: string | undefined, key: Key): void => {
        if (this.#press(key)) this.#draw();
        else end();
      };
      input.on('keypress', press).once('end', end).resume();
      for (const signal of SIGNALS) process.once(signal, end);
      stop = () => {
        input.off('keypress', press).off('end', end);
        for (const signal of SIGNALS) process.off(signal, end);
      };
    });
    return { ended, stop };
  }

  /** Handles a key. Returns false if it ends the watch. */
  #press({ name = '', ctrl }: Key): boolean {
    if (name === 'q' || name === 'escape' || (ctrl && (name === 'c' || name === 'd'))) return false;
    this.#top = MOVES.get(name)?.(this.#top, this.#bodyHeight()) ?? this.#top;
    return true;
  }

  async #refresh(): Promise<void> {
    try {
      this.#list = await this.#read();
      this.#rows = lockRows(this.#list.locks);
      this.#atMs = systemClock.wallMs();
      this.#failure = undefined;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#failure = messageText(error.message);
    }
  }

  #draw(): void {
    const columns = this.#io.output.columns || 80;
    const height = this.#bodyHeight();
    this.#top = Math.max(Math.min(this.#top, this.#rows.length - height), 0);
    const { head, lines } = lockTable(
      this.#rows.slice(this.#top, this.#top + height),
      this.#paint,
      columns,
    );
    const screen = [this.#title(columns), this.#state(columns), head, ...lines].slice(
      0,
      this.#height,
    );
    this.#io.output.write(
      `${HOME}${screen.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`,
    );
  }

  get #height(): number {
    return this.#io.output.rows || 24;
  }

  /** Rows on the screen: without the title, the state and the head. */
  #bodyHeight(): number {
    return Math.max(this.#height - 3, 1);
  }

  #title(columns: number): string {
    const { isCut, unreadableCount } = this.#list;
    const waiters = this.#rows.reduce((sum, { waiterCount }) => sum + waiterCount, 0);
    const count = `${counted(this.#rows.length, 'lock')}${isCut ? ' and more' : ''}`;
    const lack = unreadableCount === 0 ? '' : `, ${unreadableCount} unreadable`;
    const words = `holdfast ls  ${messageText(this.#store.label)}  ${count}, ${waiters} waiting${lack}`;
    return this.#paint('strong', shorten(words, columns));
  }

  #state(columns: number): string {
    const time = timeText(this.#atMs);
    if (this.#failure !== undefined) {
      return this.#paint('error', shorten(`As of ${time}. ${this.#failure}`, columns));
    }
    const below = this.#rows.length - this.#top - this.#bodyHeight();
    const more =
      this.#top > 0 || below > 0 ? `, ${this.#top} above, ${Math.max(below, 0)} below: ↑ ↓` : '';
    return this.#paint('faint', shorten(`${time}  q quits${more}`, columns));
  }
}

type Move = (top: number, height: number) => number;

const MOVES: ReadonlyMap<string, Move> = new Map<string, Move>([
  ['up', (top) => top - 1],
  ['k', (top) => top - 1],
  ['down', (top) => top + 1],
  ['j', (top) => top + 1],
  ['pageup', (top, height) => top - height],
  ['pagedown', (top, height) => top + height],
  ['space', (top, height) => top + height],
  ['home', () => 0],
  ['end', () => Number.MAX_SAFE_INTEGER],
]);

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The alternate screen, without a cursor and without line wrap. */
const ENTER_SCREEN = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE_SCREEN = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** In raw mode keys arrive one by one and are not echoed. */
function setRaw(input: Io['input'], isRaw: boolean): void {
  (input as Partial<NodeJS.ReadStream>).setRawMode?.(isRaw);
}
