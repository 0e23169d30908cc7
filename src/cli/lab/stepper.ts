import { emitKeypressEvents, type Key } from 'node:readline';
import type { Replay, Text } from '../../lab/index.ts';
import { statusText, ttlText } from '../../lab/report/index.ts';
import type { Io } from '../verb.ts';
import { type Diagram, drawDiagram, type Look } from './diagram.ts';
import { shorten } from './text-width.ts';

/** Shows a run on a terminal, one step more or less with each key. */
export class Stepper {
  readonly #run: Replay;
  readonly #io: Io;
  readonly #look: Look;
  readonly #diagram: Diagram;
  #step = 0;

  constructor(run: Replay, io: Io, look: Look) {
    this.#run = run;
    this.#io = io;
    this.#look = look;
    this.#diagram = drawDiagram(run.trace, run.violations, look);
  }

  /** Runs until q or Ctrl-C. */
  async run(): Promise<void> {
    const { input, output } = this.#io;
    emitKeypressEvents(input);
    setRaw(input, true);
    output.write(ENTER_SCREEN);
    try {
      await this.#followKeys();
    } finally {
      output.write(LEAVE_SCREEN);
      setRaw(input, false);
      input.pause();
    }
  }

  #followKeys(): Promise<void> {
    const { input } = this.#io;
    this.#draw();
    return new Promise((resolve) => {
      const end = (): void => {
        input.off('keypress', press);
        resolve();
      };
      const press = (_text: string | undefined, key: Key): void => {
        if (this.#press(key)) this.#draw();
        else end();
      };
      input.on('keypress', press);
      input.once('end', end);
      input.resume();
    });
  }

  /** Handles a key. Returns false if it ends the run. */
  #press({ name = '', sequence = '', ctrl }: Key): boolean {
    if (name === 'q' || name === 'escape' || (ctrl && (name === 'c' || name === 'd'))) return false;
    const last = this.#run.trace.length;
    const move = MOVES.get(name) ?? MOVES.get(sequence);
    if (move !== undefined) this.#step = Math.min(Math.max(move(this.#step, last), 0), last);
    return true;
  }

  #draw(): void {
    const { output } = this.#io;
    const rows = (output.rows || 24) - 1;
    const foot = ['', ...this.#state(), '', this.#help()];
    const { start, steps } = this.#diagram;
    const shown = [...start, ...steps.slice(0, this.#step).flat()];
    // The last steps, if not all of them fit.
    const room = Math.max(rows - foot.length - 2, 1);
    const lines = [this.#title(), this.#diagram.head, ...shown.slice(-room), ...foot];
    output.write(
      `${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`,
    );
  }

  #title(): string {
    const { recipe, variant, schedule } = this.#run;
    return this.#look.paint(
      'strong',
      shorten(`${recipe.name} ${variant.name}: ${schedule}`, this.#look.width),
    );
  }

  /** The keys with their values and TTLs, and the state of the clients, after the step. */
  #state(): string[] {
    const { language, width } = this.#look;
    const step = this.#run.trace[this.#step - 1];
    if (step === undefined) return [START[language]];
    const keys = step.keys.map(
      ({ key, value, ttlMs }) => `${key} = ${value}  (TTL ${ttlText(ttlMs)[language]})`,
    );
    const clients = step.clients.map((client) => `${client.name} ${statusText(client)[language]}`);
    const lines = [keys.length === 0 ? NO_KEYS[language] : keys.join('; '), clients.join('; ')];
    return lines.map((line) => shorten(line, width));
  }

  #help(): string {
    const { language, paint } = this.#look;
    const count = `${this.#step} / ${this.#run.trace.length}`;
    return paint('faint', `${count}   ${HELP[language]}`);
  }
}

type Move = (step: number, last: number) => number;

const NEXT: Move = (step) => step + 1;
const BACK: Move = (step) => step - 1;
const FIRST: Move = () => 0;
const LAST: Move = (_step, last) => last;

/** Keys by name or by character. */
const MOVES: ReadonlyMap<string, Move> = new Map([
  ...['right', 'down', 'space', 'return', 'enter', 'n', 'j', 'l'].map(
    (key) => [key, NEXT] as const,
  ),
  ...['left', 'up', 'backspace', 'b', 'p', 'k', 'h'].map((key) => [key, BACK] as const),
  ['home', FIRST],
  ['end', LAST],
]);

const HELP: Text = {
  en: '→ next, ← back, Home first, End last, q quit',
  zh: '→ 下一步，← 上一步，Home 开头，End 结尾，q 退出',
};
const START: Text = { en: 'Nothing has happened yet.', zh: '还没有发生任何事情。' };
const NO_KEYS: Text = { en: 'no keys', zh: '没有键' };

const ENTER_SCREEN = '\x1b[?1049h\x1b[?25l';
const LEAVE_SCREEN = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** In raw mode keys arrive one by one and are not echoed. */
function setRaw(input: Io['input'], isRaw: boolean): void {
  (input as Partial<NodeJS.ReadStream>).setRawMode?.(isRaw);
}
