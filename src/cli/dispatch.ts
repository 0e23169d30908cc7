import { nearest } from './nearest.ts';
import { keepStderrBlocking } from './plain-errors.ts';
import { messageText } from './printable.ts';
import { type Io, print, printError, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

interface VerbEntry {
  readonly summary: string;
  /** Loads the verb. Only the verb that is called is loaded. */
  readonly load: () => Promise<Verb>;
}

/** In the order of the help. */
export const VERBS: ReadonlyMap<string, VerbEntry> = new Map([
  [
    'serve',
    {
      summary: 'starts a server that any Redis client can use',
      load: async () => (await import('./serve.ts')).serve,
    },
  ],
  [
    'run',
    {
      summary: 'runs a command while it holds a lock',
      load: async () => (await import('./run.ts')).run,
    },
  ],
  [
    'cli',
    {
      summary: 'sends commands to a server, from arguments, a pipe or a prompt',
      load: async () => (await import('./cli.ts')).cli,
    },
  ],
  [
    'lab',
    {
      summary: 'searches lock recipes for failures, in every interleaving',
      load: async () => (await import('./lab.ts')).lab,
    },
  ],
  [
    'ls',
    {
      summary: 'lists the locks that have a holder or a waiter',
      load: async () => (await import('./ls.ts')).ls,
    },
  ],
  [
    'show',
    {
      summary: 'shows the holders and waiters of a lock',
      load: async () => (await import('./show.ts')).show,
    },
  ],
  [
    'release',
    {
      summary: 'takes a lock away from its holders',
      load: async () => (await import('./release.ts')).release,
    },
  ],
  [
    'history',
    {
      summary: 'prints what happened to locks: grants, waits, losses',
      load: async () => (await import('./history.ts')).history,
    },
  ],
  [
    'ui',
    {
      summary: 'shows the locks of a store on a web page',
      load: async () => (await import('./ui.ts')).ui,
    },
  ],
  [
    'check',
    {
      summary: 'warns of settings and keys that make the locks of a store unsafe',
      load: async () => (await import('./check.ts')).check,
    },
  ],
  [
    'bench',
    {
      summary: 'measures a server, locks and the disk of this machine',
      load: async () => (await import('./bench.ts')).bench,
    },
  ],
  [
    'completion',
    {
      summary: 'prints a completion script for bash, zsh or fish',
      load: async () => (await import('./completion.ts')).completion,
    },
  ],
  [
    'man',
    {
      summary: 'shows the manual page',
      load: async () => (await import('./man.ts')).man,
    },
  ],
]);

/** Streams are opened on first use: Node makes a pipe non-blocking, also for other processes that have it open. */
const PROCESS_IO: Io = {
  get input() {
    return process.stdin;
  },
  get output() {
    return onceBroken(process.stdout, leave);
  },
  /** Write errors are ignored: a server continues when the reader of its stderr has gone. */
  get errors() {
    return onceBroken(process.stderr, () => {});
  },
  environment: process.env,
};

/** Adds an error listener to the stream, unless it has one. */
function onceBroken(
  stream: NodeJS.WriteStream,
  act: (error: NodeJS.ErrnoException) => void,
): NodeJS.WriteStream {
  if (stream.listenerCount('error') === 0) stream.on('error', act);
  return stream;
}

/** Ends the process after a write error: without a message if the reader closed the pipe early (`| head`). */
function leave({ code }: NodeJS.ErrnoException): never {
  if (code === 'EPIPE') process.exit();
  printError(PROCESS_IO, `the output cannot be written (${code}).`);
  process.exit(1);
}

/** The whole command line: `holdfast <verb> …`. Returns the exit code. */
export async function run(args: readonly string[], io: Io = PROCESS_IO): Promise<number> {
  if (io === PROCESS_IO) keepDebuggerClosed();
  try {
    return await dispatch(args, io);
  } catch (error) {
    return explain(error, args, io);
  }
}

/** Node would open its debugger at SIGUSR1, on a port that every user of the machine can connect to. */
function keepDebuggerClosed(): void {
  process.on('SIGUSR1', () => {});
}

async function dispatch([word = '--help', ...args]: readonly string[], io: Io): Promise<number> {
  if (word === 'version' || word === '--version' || word === '-v') return print(io, version());
  if (word === 'help' || word === '--help' || word === '-h') {
    return print(io, args[0] === undefined ? overview() : (await find(args[0])).help);
  }
  const verb = await find(word);
  if (verb.sharesStderr && io === PROCESS_IO) keepStderrBlocking();
  return verb.run(args, io);
}

function find(word: string): Promise<Verb> {
  const entry = VERBS.get(word);
  if (entry !== undefined) return entry.load();
  const known = [...VERBS.keys(), 'help', 'version'];
  const meant = nearest(word, known);
  const hint = meant === undefined ? '.' : `; did you mean ${meant}?`;
  throw new UsageError(
    `There is no verb '${word}'${hint} Known verbs: ${known.join(', ')}. See holdfast help.`,
  );
}

function explain(error: unknown, [word]: readonly string[], io: Io): number {
  if (error instanceof UsageError) {
    const where = word !== undefined && VERBS.has(word) ? ` See holdfast ${word} --help.` : '';
    printError(io, `${error.message}${where}`);
    return 2;
  }
  if (error instanceof VerbError) {
    printError(io, error.message);
    return 1;
  }
  throw withSafeStack(error);
}

/** For a bug: Node prints the error with its stack. Its message may quote bytes from a server. */
function withSafeStack(error: unknown): Error {
  const { stack = String(error) } = error instanceof Error ? error : {};
  const bug = new Error();
  bug.stack = stack.split('\n').map(messageText).join('\n');
  return bug;
}

/** The text of `holdfast help`. */
export function overview(): string {
  const verbs = [...VERBS].map(([word, { summary }]) => `  ${word.padEnd(12)}${summary}`);
  return [
    'holdfast: locks for programs on many machines, and the Redis-compatible store under them',
    '',
    'Usage: holdfast <verb> [options]',
    '',
    ...verbs,
    '',
    'holdfast <verb> --help describes a verb; holdfast version prints the version.',
    '',
    'Examples:',
    '  holdfast serve                       listens on 127.0.0.1:6379',
    '  holdfast cli SETNX job programmer    in a second terminal: (integer) 1, the job is yours',
  ].join('\n');
}
