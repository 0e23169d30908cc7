import { describeOptions } from './options.ts';
import { describeExitCodes } from './run/exit-codes.ts';
import { RUN_OPTIONS, readRunRequest } from './run/run-options.ts';
import { runWithLock } from './run/run-with-lock.ts';
import { type Io, print, printError, UsageError, type Verb, VerbError } from './verb.ts';

/** `holdfast run`: runs a command while a lock is held. */
export const run: Verb = {
  options: RUN_OPTIONS,
  words: 'locks',

  help: `holdfast run: runs a command while it holds a lock

Usage: holdfast run <name> [options] -- command [argument …]
       holdfast run <name> [options] -c 'command'

${describeOptions(RUN_OPTIONS)}

Durations are written 500ms, 30s, 5m, 1h or 2d. A store is redis://[user:password@]host[:port][/database],
rediss://…, unix:/path or memcached://host[:port]. HOLDFAST_STORE, HOLDFAST_PREFIX, HOLDFAST_CA,
HOLDFAST_CERT and HOLDFAST_KEY set the options too. HOLDFAST_PASSWORD is sent if the address has no password.
memcached has neither --shared nor --permits, and no HOLDFAST_FENCE; it may lose a lock that is held.

With --keep-for 5m, of several machines that start the command at about the same time, one runs it: once
per tick of cron. If the run is killed, the lock is not kept. Without --store it is kept on this machine.

The command inherits the standard streams and the terminal. Its environment has HOLDFAST_LOCK, the name,
and HOLDFAST_FENCE, a number larger than that of every earlier holder, but not the password of the store.
Signals are forwarded to it. When the lock is lost, the command and its descendants are ended before
another client can get the lock. Without a terminal, a run that waits says so on stderr after 10 s.

A run without --shared or --permits excludes all others of the same name: other runs, shared ones too, and
programs that use mutex() or readWrite(). A run with --permits excludes only runs and programs that use a
semaphore of that name. A run with --shared does not exclude programs that use mutex().

Exit codes:
${describeExitCodes()}

Examples:
  holdfast run backup -- pg_dump shop -f shop.sql
  holdfast run report --no-wait -- ./report.sh      in a crontab: skips this time if the last run still runs
  holdfast run report -n --busy-code 0 -c './report.sh >> report.log'
  holdfast run nightly -n --busy-code 0 --keep-for 5m --store redis://10.0.0.7 -- ./nightly.sh
  holdfast run deploy --wait 5m --max-hold 1h -- make deploy
  holdfast run crawl --permits 3 -- ./crawl.sh      at most three at a time
  holdfast run data --shared -- ./read.sh           beside other readers, not beside a writer
  holdfast run jobs --store redis://10.0.0.7 -- sh -c './job --fence "$HOLDFAST_FENCE"'`,

  sharesStderr: true,

  async run(args, io) {
    const request = readRunRequest(args, io.environment);
    if (request === 'help') return print(io, this.help);
    if (process.platform === 'win32') throw new VerbError('run needs a system with signals.');
    await checkUtf8(args, io);
    return runWithLock(request, io);
  },
};

/** Node decodes bytes that are not UTF-8 to this character. The user may also have written it. */
const REPLACEMENT = '\uFFFD';

async function checkUtf8(args: readonly string[], io: Io): Promise<void> {
  const texts = [...args, ...Object.entries(io.environment).flat()];
  if (!texts.some((text) => text?.includes(REPLACEMENT))) return;
  const { nonUtf8Arguments, nonUtf8Variables } = await import('./run/non-utf8.ts');
  const [arg] = nonUtf8Arguments(args);
  if (arg !== undefined) {
    throw new UsageError(`'${arg}' is not UTF-8, so Node cannot pass it on unchanged.`);
  }
  for (const name of nonUtf8Variables(io.environment)) {
    printError(
      io,
      `the variable ${name} is not UTF-8: the command gets it with U+FFFD instead of those bytes.`,
    );
  }
}
