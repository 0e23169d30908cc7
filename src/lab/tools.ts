import { LabError } from './lab-error.ts';
import type { Action, Answer, Doing, Lease, ReceivedMessage, Tools } from './recipe.ts';

/** Duration of the work while the lock is held, and of the sleep after `busy`. */
const WORK_MS = 1000;
export const RETRY_MS = 1000;

/** The tools of one client for one acquisition. */
export function toolsFor(name: string, round: number, variant: string): Tools {
  return { ...ACTIONS, name, token: `${name}${round}`, variant };
}

const ACTIONS = {
  command: (words: TemplateStringsArray, ...values: (string | number)[]) =>
    act<Answer>({ kind: 'command', lines: [splitWords(words, values)] }),

  *transaction(...commands: readonly string[]): Doing<readonly Answer[]> {
    const queued = commands.map((command) => command.split(' '));
    const lines = [['MULTI'], ...queued, ['EXEC']];
    return yield* act<readonly Answer[]>({ kind: 'command', lines });
  },

  unixTime: () => act<number>({ kind: 'clock', unitMs: 1000 }),
  unixTimeMs: () => act<number>({ kind: 'clock', unitMs: 1 }),

  sleep: (durationMs: number) => act<void>({ kind: 'sleep', durationMs: someTime(durationMs) }),

  listen: (durationMs: number) =>
    act<ReceivedMessage | null>({ kind: 'listen', durationMs: someTime(durationMs) }),

  write: (fence?: number) => act<boolean>({ kind: 'write', fence }),

  *work(fence?: number): Doing<boolean> {
    yield* ACTIONS.sleep(WORK_MS);
    return yield* ACTIONS.write(fence);
  },

  enter: (lease?: Lease, permits = 1) => act<void>({ kind: 'enter', lease, permits }),
  extend: (lease: Lease) => act<void>({ kind: 'extend', lease }),
  leave: () => act<void>({ kind: 'leave' }),
} satisfies Omit<Tools, 'name' | 'token' | 'variant'>;

function someTime(durationMs: number): number {
  if (durationMs > 0) return durationMs;
  throw new LabError(`a sleep takes time: ${durationMs} ms is not more than 0`);
}

/** The explorer returns the matching result for each action. The type system cannot express that. */
function* act<Result>(action: Action): Doing<Result> {
  return (yield action) as Result;
}

function splitWords(literals: TemplateStringsArray, values: (string | number)[]): string[] {
  return literals.flatMap((literal, index) => {
    const words = literal.split(' ').filter((word) => word !== '');
    const value = values[index];
    return value === undefined ? words : [...words, String(value)];
  });
}
