import { type PageSource, serverSource, startPageServer, storeSource } from '../page/index.ts';
import { StoreError, type StoreUrl } from '../stores/index.ts';
import { bytesOf } from './bytes.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { exitCodeOf, type Given, serversFinder } from './ls/store-reader.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { readPagePlace } from './page-options.ts';
import { readPrefix } from './prefix-option.ts';
import { readStore } from './store-address.ts';
import { type Io, print, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

const UI_OPTIONS = {
  ...STORE_OPTIONS,
  port: { placeholder: 'number|auto', help: 'port of the page; auto, the default, is a free one' },
  host: {
    placeholder: 'address',
    help: 'address of the page, 127.0.0.1 if not given; another one needs --cleartext',
  },
  cleartext: {
    help: 'allows other machines to open the page: its token and its data travel without TLS',
  },
  'allow-release': { help: 'allows the page to release locks by force, with a reason' },
  help: HELP,
} as const satisfies OptionTable;

const FLAGS = { port: '--port', host: '--host', cleartext: '--cleartext' };

/** `holdfast ui`: the page for any store that can list its locks. */
export const ui: Verb = {
  options: UI_OPTIONS,

  help: `holdfast ui: shows the locks of a store on a web page

Usage: holdfast ui [options]

${describeOptions(UI_OPTIONS)}

Prints the address of the page, and serves it until Ctrl-C. The address has a token, which the browser
exchanges for a cookie: without it the page shows nothing. holdfast serve has the page already.
${STORE_HELP}

Exit codes:
  0   the page was served until a signal came
  1   the port is taken, or the address is not of this machine
  2   the command line is wrong, or the store cannot list its locks
  69  the store is unreachable or refuses

Examples:
  holdfast ui
  holdfast ui --store redis://10.0.0.7:6379 --port 8080
  holdfast ui --store postgres://app@db.example.com/app --allow-release`,

  async run(args, io) {
    const given = readMixed(UI_OPTIONS, args, io.environment, 0);
    const { values } = given;
    if (values.help) return print(io, this.help);
    const { port, host, cleartext: isCleartext, 'allow-release': allowRelease } = values;
    const place = readPagePlace({ port, host, isCleartext, allowRelease }, FLAGS);
    return exitCodeOf(io, async () => {
      const source = await openSource(given, io);
      try {
        await servePage({ ...place, source, version: version() }, io);
      } finally {
        source.close();
      }
      return 0;
    });
  },
};

async function servePage(options: Parameters<typeof startPageServer>[0], io: Io): Promise<void> {
  const signal = new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => resolve());
  });
  const page = await startPageServer(options).catch((error: NodeJS.ErrnoException) => {
    throw new VerbError(
      `The page cannot listen on ${options.host}:${options.port} (${error.code}).`,
    );
  });
  print(io, `Page: ${page.address}\nCtrl-C stops it.`);
  await signal;
  await page.close();
}

/** Fails if the store cannot be reached. Later failures are shown by the page. */
async function openSource(given: Given, io: Io): Promise<PageSource> {
  const prefix = readPrefix(given.values);
  const store = readStore(given.values, given.flags, io.environment);
  if (store !== undefined && 'scheme' in store) return openOther(store, prefix);
  const servers = await serversFinder(given, io)();
  if (servers === undefined) {
    throw new StoreError(
      'No local server runs, so that there are no locks. Name a store: --store.',
    );
  }
  return serverSource(servers, bytesOf(prefix));
}

async function openOther(url: StoreUrl, prefix: string): Promise<PageSource> {
  const store = await url.load({ prefix, isQuiet: true });
  const source = storeSource(store, url.label, undefined);
  if (store.list === undefined) {
    source.close();
    throw new UsageError(`${url.label} cannot list its locks: there is nothing to show.`);
  }
  await source.locks.list(undefined, 1);
  return source;
}
