import { clientName } from '../choice.ts';
import { LabError } from '../lab-error.ts';

/** One possible next step. Equal options are the same object. */
export interface Option {
  readonly sign: Sign;
  /** The index of the client; -1 for the clock. */
  readonly client: number;
  /** How a schedule writes it. */
  readonly label: string;
}

export type Sign = keyof typeof SIGNS;

/** The meaning of each sign before a client's letter. */
export const SIGNS = {
  q: 'its oldest request reaches the store',
  r: 'its oldest reply reaches it',
  m: 'its oldest message reaches it',
  t: 'its oldest timer that is due fires',
  x: 'it crashes',
  z: 'it is paused',
  w: 'it resumes',
  c: 'its network is cut',
  u: 'its network is back',
  b: 'its connection breaks',
  s: 'a request of its old connection reaches the store',
  e: 'the server runs the exit command of its session',
  lq: 'its oldest request is lost',
  lr: 'its oldest reply is lost',
  lm: 'its oldest message is lost',
  '.': 'time passes until something is due',
} as const;

const MAX_CLIENTS = 4;

const TABLE = Object.fromEntries(
  (Object.keys(SIGNS) as Sign[]).map((sign) => [
    sign,
    Array.from({ length: MAX_CLIENTS }, (_, client): Option => {
      return { sign, client, label: sign + clientName(client).toLowerCase() };
    }),
  ]),
) as unknown as Readonly<Record<Sign, readonly Option[]>>;

export const PASS_TIME: Option = { sign: '.', client: -1, label: '.' };

export function option(sign: Sign, client: number): Option {
  return TABLE[sign][client]!;
}

/** A step of a schedule: an option, or undefined for the usual step. */
export type Chosen = Option | undefined;

/**
 * A schedule as text. A number is that many usual steps: the oldest thing in transit is delivered. After the
 * end of the schedule all steps are usual. `12zb3wb`: twelve usual steps, B is paused, three usual steps,
 * B resumes.
 */
export function scheduleText(steps: readonly Chosen[]): string {
  let text = '';
  let plain = 0;
  for (const step of steps) {
    if (step === undefined) plain++;
    else {
      text += (plain > 0 ? plain : '') + step.label;
      plain = 0;
    }
  }
  return text;
}

export function parseSchedule(schedule: string): Chosen[] {
  const steps: Chosen[] = [];
  const pattern = /\s*(?:(\d+)|(\.)|(l[qrm]|[qrmtxzwcubse])([a-d]))\s*/gy;
  while (pattern.lastIndex < schedule.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(schedule);
    if (match === null) throw unreadable(schedule, at);
    const [, count, tick, sign, letter] = match;
    if (count !== undefined) steps.push(...new Array<Chosen>(Number(count)).fill(undefined));
    else steps.push(tick ? PASS_TIME : option(sign as Sign, letter!.charCodeAt(0) - 97));
  }
  return steps;
}

function unreadable(schedule: string, at: number): LabError {
  const signs = Object.entries(SIGNS).map(([sign, meaning]) => `"${sign}" ${meaning}`);
  return new LabError(
    `the schedule cannot be read at "${schedule.slice(at, at + 8)}": it is made of numbers of steps, of "." and of ` +
      `signs before a client (a to d): ${signs.join(', ')}`,
  );
}
