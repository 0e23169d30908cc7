import { LabError } from './lab-error.ts';

/** One thing that can happen next. */
export interface Choice {
  readonly kind: ChoiceKind;
  /** The index of the client that it affects; -1 for the clock. */
  readonly client: number;
  /** How a schedule writes it: `a` is a step of A, `.` a tick, `xa` the crash of A. */
  readonly label: string;
}

export type ChoiceKind = keyof typeof SIGNS;

/** A schedule is a sequence of these signs, each followed by a client's letter. A tick has no letter. */
const SIGNS = {
  step: '',
  tick: '.',
  crash: 'x',
  pause: 'z',
  resume: 'w',
  lose: 'l',
  ahead: '+',
  behind: '-',
} as const;

export function clientName(client: number): string {
  return String.fromCharCode(65 + client);
}

/** The client that an owner's name begins with. */
export function ownerName(owner: string): string {
  return owner.charAt(0);
}

/** Returns the same object for the same choice, so that choices compare by identity. */
export function choice(kind: ChoiceKind, client: number): Choice {
  return CHOICES[kind]![client]!;
}

export const TICK: Choice = { kind: 'tick', client: -1, label: SIGNS.tick };

const MAX_CLIENTS = 8;

const CHOICES: Readonly<Record<string, readonly Choice[]>> = Object.fromEntries(
  (Object.keys(SIGNS) as ChoiceKind[]).map((kind) => [
    kind,
    Array.from({ length: MAX_CLIENTS }, (_, client): Choice => {
      const label = SIGNS[kind] + clientName(client).toLowerCase();
      return { kind, client, label };
    }),
  ]),
);

export function scheduleText(choices: readonly Choice[]): string {
  return choices.map(({ label }) => label).join('');
}

/** Parses a schedule. Spaces are ignored. Does not check that the choices are possible in a world. */
export function parseSchedule(schedule: string): Choice[] {
  const choices: Choice[] = [];
  const pattern = /\s*(?:(\.)|([xzwl+-]?)([a-h]))\s*/gy;
  while (pattern.lastIndex < schedule.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(schedule);
    if (match === null) throw unreadable(schedule, at, choices.length + 1);
    const [, tick, sign, letter] = match;
    choices.push(tick === undefined ? choice(kindOf(sign!), letter!.charCodeAt(0) - 97) : TICK);
  }
  return choices;
}

function kindOf(sign: string): ChoiceKind {
  return (Object.keys(SIGNS) as ChoiceKind[]).find((kind) => SIGNS[kind] === sign)!;
}

function unreadable(schedule: string, at: number, step: number): LabError {
  return new LabError(
    `step ${step} of the schedule cannot be read at "${schedule.slice(at, at + 8)}": a step is "." for the clock or a ` +
      'client (a to h). The letter before the client means: x crash, z pause, w resume, l lost reply, ' +
      '+ clock ahead, - clock behind',
  );
}
