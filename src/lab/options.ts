import { LabError } from './lab-error.ts';
import { named } from './nearest.ts';

/** The size of a world: the number of clients, the time, and how many faults of each kind may happen. */
export interface WorldOptions {
  readonly clients: number;
  /** How often each client acquires the lock. */
  readonly rounds: number;
  /** The number of clock ticks. */
  readonly ticks: number;
  /** The length of a tick. */
  readonly tickMs: number;
  /** Ticks from a command to its reply. */
  readonly stepTicks: number;
  /** Clients that stop permanently. */
  readonly crashes: number;
  /** Times that a client stops while time passes, and resumes later. */
  readonly pauses: number;
  /** Commands that the store executes, but whose reply the client does not receive. */
  readonly lostReplies: number;
  /** Clients whose clock is `SKEW_MS` ahead or behind. */
  readonly skews: number;
}

export const SKEW_MS = 3000;

/** A schedule names clients by the letters A to H. */
const RANGES = {
  clients: { from: 1, to: 8, usual: 3 },
  rounds: { from: 1, to: 1000, usual: 1 },
  ticks: { from: 0, to: 100_000, usual: 6 },
  tickMs: { from: 1, to: 1000, usual: 1000 },
  stepTicks: { from: 0, to: 10, usual: 0 },
  crashes: { from: 0, to: 8, usual: 1 },
  pauses: { from: 0, to: 10_000, usual: 1 },
  lostReplies: { from: 0, to: 10_000, usual: 0 },
  skews: { from: 0, to: 8, usual: 0 },
} as const satisfies Record<
  keyof WorldOptions,
  { readonly from: number; readonly to: number; readonly usual: number }
>;

type OptionName = keyof typeof RANGES;

const OPTIONS = Object.keys(RANGES).map((name) => ({ name: name as OptionName }));

/** Earlier overrides win over later ones; an option that none of them sets has its default. */
export function worldOptions(...overrides: readonly Partial<WorldOptions>[]): WorldOptions {
  for (const name of overrides.flatMap((each) => Object.keys(each))) named('option', name, OPTIONS);
  return Object.fromEntries(
    OPTIONS.map(({ name }) => {
      const wish = overrides.map((each) => each[name]).find((value) => value !== undefined);
      return [name, inRange(name, wish ?? RANGES[name].usual)];
    }),
  ) as Record<OptionName, number>;
}

function inRange(name: OptionName, value: number): number {
  const { from, to } = RANGES[name];
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  const nearest = Number.isNaN(value) ? from : Math.min(Math.max(Math.round(value), from), to);
  throw new LabError(
    `${name} must be a whole number from ${from} to ${to}, not ${value}; the nearest is ${nearest}`,
  );
}
