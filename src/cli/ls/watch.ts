import { emitKeypressEvents, type Key } from 'node:readline';
import { systemClock } from '../../clock/index.ts';
import type { Paint } from '../console/paint.ts';
import { shorten } from '../lab/text-width.ts';
import { messageText } from '../printable.ts';
import type { Io } from '../verb.ts';
import { type LockList, NO_LOCKS } from './lock-list.ts';
import { lockTable } from './lock-table.ts';
import { StoreError } from './servers.ts';
import type { StoreVisit } from './store-visit.ts';
import { counted, timeText } from './words.ts';

const REFRESH_MS = 1000;

/** Until it is time to look again. The process waits for it. */
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

/** The list on a whole screen, drawn anew every second until a person has seen enough. */
export class Watch {
  readonly #look: () => Promise<LockList>;
  readonly #store: StoreVisit;
  readonly #io: Io;
  readonly #paint: Paint;
  #list = NO_LOCKS;
  #atMs = 0;
  #failure: string | undefined;
  /** The first line that is shown of a list that is longer than the screen. */
  #top = 0;
  #hasEnded = false;

  constructor(look: () => Promise<LockList>, store: StoreVisit, io: Io, paint: Paint) {
    this.#look = look;
    this.#store = store;
    this.#io = io;
    this.#paint = paint;
  }

  /** A store that cannot be reached at first is an error; one that fails later is told on the screen. */
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

  /** Does what a key means; false when it ends everything. */
  #press({ name = '', ctrl }: Key): boolean {
    if (name === 'q' || name === 'escape' || (ctrl && (name === 'c' || name === 'd'))) return false;
    this.#top = MOVES.get(name)?.(this.#top, this.#room()) ?? this.#top;
    return true;
  }

  async #refresh(): Promise<void> {
    try {
      this.#list = await this.#look();
      this.#atMs = systemClock.wallMs();
      this.#failure = undefined;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#failure = messageText(error.message);
    }
  }

  #draw(): void {
    const columns = this.#io.output.columns || 80;
    const { locks } = this.#list;
    const room = this.#room();
    this.#top = Math.max(Math.min(this.#top, locks.length - room), 0);
    const { head, lines } = lockTable(
      locks.slice(this.#top, this.#top + room),
      this.#paint,
      columns,
    );
    const screen = [this.#title(columns), this.#state(columns), head, ...lines].slice(
      0,
      this.#rows,
    );
    this.#io.output.write(
      `${HOME}${screen.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`,
    );
  }

  get #rows(): number {
    return this.#io.output.rows || 24;
  }

  /** Lines for locks: without the title, the state and the head. */
  #room(): number {
    return Math.max(this.#rows - 3, 1);
  }

  #title(columns: number): string {
    const { locks, isCut, unreadableCount } = this.#list;
    const waiters = locks.reduce((sum, { waiterCount }) => sum + waiterCount, 0);
    const count = `${counted(locks.length, 'lock')}${isCut ? ' and more' : ''}`;
    const lack = unreadableCount === 0 ? '' : `, ${unreadableCount} unreadable`;
    const words = `holdfast ls  ${messageText(this.#store.label)}  ${count}, ${waiters} waiting${lack}`;
    return this.#paint('strong', shorten(words, columns));
  }

  #state(columns: number): string {
    const time = timeText(this.#atMs);
    if (this.#failure !== undefined) {
      return this.#paint('error', shorten(`As of ${time}. ${this.#failure}`, columns));
    }
    const below = this.#list.locks.length - this.#top - this.#room();
    const more =
      this.#top > 0 || below > 0 ? `, ${this.#top} above, ${Math.max(below, 0)} below: ↑ ↓` : '';
    return this.#paint('faint', shorten(`${time}  q quits${more}`, columns));
  }
}

type Move = (top: number, room: number) => number;

const MOVES: ReadonlyMap<string, Move> = new Map<string, Move>([
  ['up', (top) => top - 1],
  ['k', (top) => top - 1],
  ['down', (top) => top + 1],
  ['j', (top) => top + 1],
  ['pageup', (top, room) => top - room],
  ['pagedown', (top, room) => top + room],
  ['space', (top, room) => top + room],
  ['home', () => 0],
  ['end', () => Number.MAX_SAFE_INTEGER],
]);

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** On a screen of its own, without a cursor, where long lines do not wrap. */
const ENTER_SCREEN = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE_SCREEN = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** Keys come one by one, and are not shown. */
function setRaw(input: Io['input'], isRaw: boolean): void {
  (input as Partial<NodeJS.ReadStream>).setRawMode?.(isRaw);
}
