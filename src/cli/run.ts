import { describeOptions } from './options.ts';
import { describeExitCodes } from './run/exit-codes.ts';
import { RUN_OPTIONS, readRunRequest } from './run/run-options.ts';
import { runWithLock } from './run/run-with-lock.ts';
import { type Io, print, printError, UsageError, type Verb, VerbError } from './verb.ts';

/** `holdfast run`: a command that runs while a lock is held. */
export const run: Verb = {
  options: RUN_OPTIONS,
  words: 'locks',

  help: `holdfast run: runs a command while it holds a lock

Usage: holdfast run <name> [options] -- command [argument …]

${describeOptions(RUN_OPTIONS)}

Durations are written 500ms, 30s, 5m, 1h or 2d. A store is redis://[user:password@]host[:port][/database],
rediss://… or unix:/path; HOLDFAST_STORE names it too, and HOLDFAST_PASSWORD is sent where it has no password.

The command has the streams and the terminal of this one, and in its environment HOLDFAST_LOCK, the name,
and HOLDFAST_FENCE, a number larger than that of every earlier holder, but not the password of the store.
SignalRouter are passed on to it. When the lock is lost, it and all that it started are ended before somebody
else can get the lock.

A run without --shared or --permits keeps out, and waits for, all others of the same name: other runs,
shared ones too, and programs that use mutex() or readWrite(). A run with --permits counts only others that
have it too. A run with --shared does not see programs that use mutex().

Exit codes:
${describeExitCodes()}

Examples:
  holdfast run backup -- pg_dump shop -f shop.sql
  holdfast run report --no-wait -- ./report.sh      in a crontab: not while the last one still runs
  holdfast run deploy --wait 5m --max-hold 1h -- make deploy
  holdfast run crawl --permits 3 -- ./crawl.sh      at most three at a time
  holdfast run data --shared -- ./read.sh           beside other readers, not beside a writer
  holdfast run jobs --store redis://10.0.0.7 -- sh -c './job --fence "$HOLDFAST_FENCE"'`,

  sharesStderr: true,

  async run(args, io) {
    const request = readRunRequest(args, io.environment);
    if (request === 'help') return print(io, this.help);
    if (process.platform === 'win32') throw new VerbError('run needs a system with signals.');
    await checkWords(args, io);
    return runWithLock(request, io);
  },
};

/** What Node puts where bytes are not UTF-8. It may also have been written so. */
const REPLACEMENT = '\uFFFD';

async function checkWords(args: readonly string[], io: Io): Promise<void> {
  const words = [...args, ...Object.entries(io.environment).flat()];
  if (!words.some((word) => word?.includes(REPLACEMENT))) return;
  const { changedArguments, changedVariables } = await import('./run/non-utf8.ts');
  const [word] = changedArguments(args);
  // Rather no command than another one than was asked for.
  if (word !== undefined) {
    throw new UsageError(`'${word}' is not UTF-8 and cannot be passed on as it was written.`);
  }
  for (const name of changedVariables(io.environment)) {
    printError(io, `the variable ${name} is not UTF-8: the command gets it changed.`);
  }
}
