/**
 * The exit codes that are not the command's own. Those of sysexits.h and of timeout, env and the shells
 * are used for what they mean there; `lost` is a number that none of them uses.
 */
export const EXIT_CODES = {
  usage: { code: 2, help: 'the command line cannot be understood' },
  unavailable: { code: 69, help: 'the store cannot be reached; the command was not started' },
  busy: { code: 75, help: 'the lock stayed busy; the command was not started' },
  lost: { code: 79, help: 'the lock was lost; the command and what it had started were ended' },
  overdue: { code: 124, help: 'the command was ended because of --max-hold' },
  failed: { code: 125, help: 'something else went wrong before the command was started' },
  notExecutable: { code: 126, help: 'the command cannot be executed' },
  notFound: { code: 127, help: 'the command was not found' },
} as const satisfies Readonly<Record<string, { readonly code: number; readonly help: string }>>;

export type OwnEnd = keyof typeof EXIT_CODES;

/** Ends the run with a code of its own; the message says why. */
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
    line('0–255', 'as the command ended'),
    line('128+n', 'it was ended by signal n, up to 31; so was the wait for the lock (130: Ctrl-C)'),
    ...own,
  ].join('\n');
}

function line(code: string, help: string): string {
  return `  ${code.padEnd(7)}${help}`;
}
