import { nearest } from './nearest.ts';
import { leaveStderr } from './plain-errors.ts';
import { messageText } from './printable.ts';
import { type Io, print, printError, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

interface VerbEntry {
  readonly summary: string;
  /** Verbs are loaded when they are called, so that `--version` does not wait for all of them. */
  readonly load: () => Promise<Verb>;
}

/** In the order in which they are listed. */
export const VERBS: ReadonlyMap<string, VerbEntry> = new Map([
  [
    'serve',
    {
      summary: 'starts a server that any Redis client can talk to',
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
      summary: 'sends commands to a server, one or as many as you type',
      load: async () => (await import('./cli.ts')).cli,
    },
  ],
  [
    'lab',
    {
      summary: 'shows what goes wrong with lock recipes, in every interleaving',
      load: async () => (await import('./lab.ts')).lab,
    },
  ],
  [
    'ls',
    {
      summary: 'lists the locks that somebody holds or waits for',
      load: async () => (await import('./ls.ts')).ls,
    },
  ],
  [
    'show',
    {
      summary: 'tells who holds a lock and who waits for it',
      load: async () => (await import('./show.ts')).show,
    },
  ],
  [
    'release',
    {
      summary: 'takes a lock away from whoever holds it',
      load: async () => (await import('./release.ts')).release,
    },
  ],
  [
    'check',
    {
      summary: 'warns of what makes the locks of a store unsafe',
      load: async () => (await import('./check.ts')).check,
    },
  ],
  [
    'completion',
    {
      summary: 'prints what makes bash or zsh complete these words',
      load: async () => (await import('./completion.ts')).completion,
    },
  ],
]);

/** Only for who uses it: Node makes a pipe non-blocking, also for all others that have it open. */
const PROCESS_IO: Io = {
  get input() {
    return process.stdin;
  },
  get output() {
    return onceBroken(process.stdout, leave);
  },
  /** A server goes on when nobody reads its reports. */
  get errors() {
    return onceBroken(process.stderr, () => {});
  },
  environment: process.env,
};

function onceBroken(
  stream: NodeJS.WriteStream,
  act: (error: NodeJS.ErrnoException) => void,
): NodeJS.WriteStream {
  if (stream.listenerCount('error') === 0) stream.on('error', act);
  return stream;
}

/** Who reads the output may leave early (`| head`). On a full disk, what was asked for is missing. */
function leave({ code }: NodeJS.ErrnoException): never {
  if (code === 'EPIPE') process.exit();
  printError(PROCESS_IO, `the output cannot be written (${code}).`);
  process.exit(1);
}

/** The whole command line: `holdfast <verb> …`. Gives the exit code. */
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
  if (word === '--version' || word === '-v') return print(io, version());
  if (word === 'help' || word === '--help' || word === '-h') {
    return print(io, args[0] === undefined ? overview() : (await find(args[0])).help);
  }
  const verb = await find(word);
  if (verb.sharesStderr && io === PROCESS_IO) leaveStderr();
  return verb.run(args, io);
}

function find(word: string): Promise<Verb> {
  const entry = VERBS.get(word);
  if (entry !== undefined) return entry.load();
  const known = [...VERBS.keys(), 'help'];
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

/** A bug, which Node prints with its stack. The messages in it may quote what a server sent. */
function withSafeStack(error: unknown): Error {
  const { stack = String(error) } = error instanceof Error ? error : {};
  const bug = new Error();
  bug.stack = stack.split('\n').map(messageText).join('\n');
  return bug;
}

function overview(): string {
  const verbs = [...VERBS].map(([word, { summary }]) => `  ${word.padEnd(12)}${summary}`);
  return [
    'holdfast: locks for programs on many machines, and the Redis-compatible store under them',
    '',
    'Usage: holdfast <verb> [options]',
    '',
    ...verbs,
    '',
    'holdfast <verb> --help tells more about one of them; holdfast --version says which this is.',
    '',
    'Examples:',
    '  holdfast serve                       listens on 127.0.0.1:6379',
    '  holdfast cli SETNX job programmer    in a second terminal: (integer) 1, the job is yours',
  ].join('\n');
}
