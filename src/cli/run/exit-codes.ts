/**
 * The exit codes of the run itself. They follow sysexits.h, timeout, env and the shells; `lost` is a number that none
 * of them uses.
 */
export const EXIT_CODES = {
  usage: { code: 2, help: 'the command line is wrong' },
  unavailable: {
    code: 69,
    help: 'the store is unreachable or refuses; the command was not started',
  },
  busy: { code: 75, help: 'the lock stayed busy; the command was not started (see --busy-code)' },
  lost: { code: 79, help: 'the lock was lost; the command and its descendants were ended' },
  overdue: { code: 124, help: 'the command was ended because of --max-hold' },
  failed: { code: 125, help: 'another error before the command was started' },
  notExecutable: { code: 126, help: 'the command cannot be executed' },
  notFound: { code: 127, help: 'the command was not found' },
} as const satisfies Readonly<Record<string, { readonly code: number; readonly help: string }>>;

export type OwnEnd = keyof typeof EXIT_CODES;

/** Ends the run with one of its own exit codes. The message gives the reason. */
export class RunError extends Error {
  override readonly name = 'RunError';
  readonly end: OwnEnd;
  constructor(end: OwnEnd, message: string) {
    super(message);
    this.end = end;
  }
}

/** The codes as lines of help. */
export function describeExitCodes(): string {
  const own = Object.values(EXIT_CODES).map(({ code, help }) => line(String(code), help));
  return [
    line('0–255', 'the exit code of the command'),
    line('128+n', 'signal n, up to 31, ended the command or the wait for the lock (130: Ctrl-C)'),
    ...own,
  ].join('\n');
}

function line(code: string, help: string): string {
  return `  ${code.padEnd(7)}${help}`;
}
