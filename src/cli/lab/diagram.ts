import type { Text, TraceClient, TraceKey, TraceStep } from '../../lab/index.ts';
import {
  actionText,
  GONE,
  keyChanges,
  type Language,
  lifeText,
  replyText,
  shortCommand,
} from '../../lab/report/index.ts';
import type { Paint, Style } from '../console/paint.ts';
import { fitText, shorten, shortenWord, widthOf, wrap } from './text-width.ts';

/** Language, width and colours of the output. */
export interface Look {
  readonly language: Language;
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

/** A sentence about a failure, and the step after which it happens. */
export interface Wrong {
  readonly step: number;
  readonly sentence: Text;
  /** False if no lease can prevent it. */
  readonly isPromised: boolean;
}

/** A run as lines of text: a head with the names of the columns, and the lines of each step. */
export interface Diagram {
  readonly head: string;
  /** Failures before the first step. */
  readonly start: readonly string[];
  readonly steps: readonly (readonly string[])[];
  readonly legend: string;
}

/**
 * A sequence diagram: the clock, a column for each client and one for the store; time runs downwards. A command is an
 * arrow from the client to the store with the reply below it; the keys are beside the store.
 */
export function drawDiagram(
  trace: readonly TraceStep[],
  wrongs: readonly Wrong[],
  look: Look,
): Diagram {
  const clients = trace[0]?.clients ?? [];
  const sheet = new Sheet(look, trace, clients.length);
  const wrongAt = (number: number): string[] =>
    wrongs.filter(({ step }) => step === number).flatMap((wrong) => sheet.wrong(wrong));
  return {
    head: sheet.head(clients),
    start: wrongAt(0),
    steps: trace.map((step, at) => [...sheet.step(step, trace[at - 1]), ...wrongAt(step.number)]),
    legend: look.paint('faint', LEGEND[look.language]),
  };
}

/** The whole diagram. Empty for a run without a step. */
export function diagramLines({ head, start, steps, legend }: Diagram): readonly string[] {
  return steps.length === 0 ? start : [head, ...start, ...steps.flat(), legend];
}

const LEGEND: Text = {
  en: '┃ holds the lock, ┊ and ┇ are paused, no line: crashed or finished',
  zh: '┃ 持有锁，┊ 和 ┇ 停顿，没有线：已崩溃或结束',
};
const STORE: Text = { en: 'store', zh: '存储' };

/** The commands of a transaction, each unbroken. */
const COMMANDS = /[^;]+;?/g;
/** Longer words are cut in the middle. */
const LONGEST_WORD = 24;
/** Minimum and maximum width of the keys. */
const KEYS_WIDTHS = { least: 14, most: 26 } as const;
/** TTLs up to this time are shown while time passes; longer ones are not leases. */
const WATCHED_MS = 60_000;

const MARKS: Readonly<Record<string, string>> = {
  crash: '✗',
  pause: '‖',
  resume: '▸',
  ahead: '+',
  behind: '−',
};

interface Row {
  readonly lanes: string;
  readonly text?: string;
  readonly style?: Style;
  /** The store's line in this row. */
  readonly edge?: string;
}

class Sheet {
  readonly #look: Look;
  readonly #numberWidth: number;
  readonly #clockWidth: number;
  /** Columns from one client's line to the next. */
  readonly #pitch: number;
  readonly #lanesWidth: number;
  #keysWidth: number;
  /** Columns between the lines of the clients and that of the store. */
  readonly #textWidth: number;

  constructor(look: Look, trace: readonly TraceStep[], clients: number) {
    this.#look = look;
    this.#numberWidth = Math.max(String(trace.length).length, 2);
    this.#clockWidth = Math.max(...trace.map(({ seconds }) => `${seconds} s`.length), 4);
    this.#pitch = clients <= 4 ? 4 : clients <= 6 ? 3 : 2;
    this.#lanesWidth = this.#pitch * clients;
    this.#keysWidth = Number.POSITIVE_INFINITY;
    const keys = trace.flatMap((step, at) => this.#keys(step, trace[at - 1]));
    const longest = Math.max(...keys.map(widthOf), 0);
    const most = Math.min(KEYS_WIDTHS.most, Math.floor(look.width / 3));
    this.#keysWidth = Math.min(Math.max(longest, KEYS_WIDTHS.least), most);
    this.#textWidth = look.width - this.#gutterWidth - this.#lanesWidth - this.#keysWidth - 2;
  }

  get #gutterWidth(): number {
    return this.#numberWidth + this.#clockWidth + 3;
  }

  head(clients: readonly TraceClient[]): string {
    const names = clients.map(({ name }) => name.padEnd(this.#pitch)).join('');
    const store = STORE[this.#look.language];
    const gap = this.#gutterWidth + this.#lanesWidth + this.#textWidth;
    const left = fitText(' '.repeat(this.#gutterWidth) + names, gap);
    return this.#look.paint('strong', left + store);
  }

  step(step: TraceStep, before: TraceStep | undefined): string[] {
    const [first, ...others] = this.#happening(step, before);
    const notes = step.notes.flatMap((note) => this.#note(step, note));
    const rows = [first!, ...others, ...notes];
    // The effect of a command on the keys is shown with its reply.
    const firstKey = rows.findIndex(({ edge }) => edge === '┤');
    const keys = this.#keys(step, before);
    const from = Math.max(firstKey, 0);
    while (rows.length < from + keys.length) rows.push({ lanes: this.#lines(step.clients) });
    return rows.map((row, at) => this.#print(row, at === 0 ? step : undefined, keys[at - from]));
  }

  wrong({ sentence, isPromised }: Wrong): string[] {
    const { language, width, paint } = this.#look;
    const [sign, style] = isPromised ? (['✗', 'error'] as const) : (['~', 'fault'] as const);
    return wrap(`${sign} ${sentence[language]}`, width).map((line) => paint(style, line));
  }

  #print({ lanes, text = '', style, edge = '│' }: Row, step?: TraceStep, key = ''): string {
    const { paint } = this.#look;
    const gutter = step === undefined ? ' '.repeat(this.#gutterWidth) : this.#gutter(step);
    const middle = fitText(text, this.#textWidth);
    const painted = style === undefined || text === '' ? middle : paint(style, middle);
    const line = gutter + lanes + painted + edge;
    return key === '' ? line.trimEnd() : `${line} ${paint('faint', key)}`;
  }

  #gutter({ number, seconds }: TraceStep): string {
    const { paint } = this.#look;
    const clock = `${seconds} s`.padStart(this.#clockWidth);
    return `${paint('strong', String(number).padStart(this.#numberWidth))} ${paint('faint', clock)}  `;
  }

  #happening(step: TraceStep, before: TraceStep | undefined): Row[] {
    const action = actionText(step)[this.#look.language];
    if (step.kind === 'tick') {
      return [{ lanes: this.#lines(step.clients), text: `· ${action}`, style: 'faint' }];
    }
    const index = step.clients.findIndex(({ name }) => name === step.client);
    if (step.kind !== 'step' && step.kind !== 'lose') {
      const lanes = this.#lines(step.clients, index, MARKS[step.kind]);
      return [{ lanes, text: `  ${action}`, style: 'fault' }];
    }
    const reply = replyText(step)?.[this.#look.language] ?? '';
    if (step.lines === null) {
      const lanes = this.#lines(step.clients, index, '●');
      return wrap(`${action}: ${reply}`, this.#textWidth - 3).map((line, at) => ({
        lanes: at === 0 ? lanes : this.#lines(step.clients),
        text: `  ${line}`,
      }));
    }
    const was = before?.clients ?? step.clients.map((client) => ({ ...client, ...FRESH }));
    return [...this.#request(shortCommand(action), was, index), this.#reply(reply, step, index)];
  }

  /** A long command takes several lines, the last of them on the arrow. */
  #request(command: string, clients: readonly TraceClient[], index: number): Row[] {
    const words = command.replace(/\S+/g, (word) => shortenWord(word, LONGEST_WORD));
    const room = this.#textWidth - 5;
    const lines = wrap(words, room, COMMANDS).flatMap((line) => wrap(line, room));
    return lines.map((line, at): Row => {
      if (at < lines.length - 1) return { lanes: this.#lines(clients), text: `  ${line}` };
      return {
        lanes: this.#wire(clients, index, clients[index]!.inside ? '┠' : '├'),
        text: `${ruled(`─ ${line} `, this.#textWidth - 1)}▶`,
      };
    });
  }

  #reply(reply: string, { clients, kind }: TraceStep, index: number): Row {
    const text = `─ ${shorten(reply, this.#textWidth - 4)} `;
    const isLost = kind === 'lose';
    return {
      lanes: isLost
        ? this.#lines(clients)
        : this.#wire(clients, index, `${lineOf(clients[index]!)}◀`),
      text: ruled(isLost ? text.replace('─', '✗') : text, this.#textWidth),
      ...(isLost && { style: 'fault' }),
      edge: '┤',
    };
  }

  #note({ clients }: TraceStep, note: Text): Row[] {
    const lanes = this.#lines(clients);
    return wrap(note[this.#look.language], this.#textWidth - 3).map((line) => ({
      lanes,
      text: `  ${line}`,
      style: 'faint',
    }));
  }

  /** The lines of all clients, one of them under a mark. */
  #lines(clients: readonly TraceClient[], index = -1, mark = ''): string {
    return clients
      .map((client, at) => (at === index ? mark : lineOf(client)).padEnd(this.#pitch))
      .join('');
  }

  /** The lines of all clients, and a wire from one of them across those at its right. */
  #wire(clients: readonly TraceClient[], index: number, start: string): string {
    return clients
      .map((client, at) => {
        if (at < index) return lineOf(client).padEnd(this.#pitch);
        return (at === index ? start : crossingOf(client)).padEnd(this.#pitch, '─');
      })
      .join('');
  }

  /** The effect of a command on the keys; while time passes, the remaining leases. */
  #keys(step: TraceStep, before: TraceStep | undefined): string[] {
    const { changed, gone } = keyChanges(step, before);
    const watched = step.keys.filter(({ ttlMs }) => ttlMs !== null && ttlMs <= WATCHED_MS);
    return [
      ...(step.kind === 'tick' ? watched : changed).map((key) => keyText(key, this.#keysWidth)),
      ...gone.map((key) => this.#goneText(key)),
    ];
  }

  #goneText(key: string): string {
    const gone = GONE[this.#look.language];
    return `${shortenWord(key, this.#keysWidth - widthOf(gone) - 1)} ${gone}`;
  }
}

const FRESH = { status: 'ready', inside: false } as const;

function keyText({ key, value, ttlMs }: TraceKey, width: number): string {
  const left = ttlMs === null ? '' : `, ${lifeText(ttlMs)}`;
  const room = width - widthOf(left) - 3;
  const name = shortenWord(key, Math.max(room - widthOf(value), Math.floor(room / 2)));
  return `${name} = ${shortenWord(value, room - widthOf(name))}${left}`;
}

function ruled(text: string, width: number): string {
  return text + '─'.repeat(Math.max(width - widthOf(text), 0));
}

function lineOf({ status, inside }: TraceClient): string {
  if (status === 'crashed' || status === 'finished') return ' ';
  if (status === 'paused') return inside ? '┇' : '┊';
  return inside ? '┃' : '│';
}

function crossingOf({ status, inside }: TraceClient): string {
  if (status === 'crashed' || status === 'finished') return '─';
  return inside ? '╂' : '┼';
}
