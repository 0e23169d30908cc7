import { systemClock } from '../clock/index.ts';
import { bytesOf } from './bytes.ts';
import { readFacts } from './check/facts.ts';
import { expiryFinding, type Finding, serverFindings } from './check/findings.ts';
import { choosePaint, type Paint, type Style } from './console/paint.ts';
import { keyListData, textData } from './ls/as-json.ts';
import { FOREIGN_PATTERN, type KeyList, listEndless, NO_KEYS } from './ls/key-list.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import type { Servers } from './ls/servers.ts';
import { STORE_HELP, STORE_OPTIONS } from './ls/store-option.ts';
import { withServers } from './ls/store-reader.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { messageText, safeJson } from './printable.ts';
import { print, UsageError, type Verb } from './verb.ts';

const CHECK_OPTIONS = {
  ...STORE_OPTIONS,
  dir: {
    placeholder: 'path',
    help: 'checks the log in the data folder of holdfast serve instead of a store',
  },
  repair: { help: 'with --dir: copies the files of a damaged log, then cuts it before the damage' },
  json: { help: 'prints the findings as JSON' },
  'no-color': { help: 'no colours; the variable NO_COLOR does the same' },
  help: HELP,
} as const satisfies OptionTable;

/** `holdfast check`: warns of settings of a store that make locks unsafe, and of locks without a TTL. */
export const check: Verb = {
  options: CHECK_OPTIONS,

  help: `holdfast check: warns of settings and keys that make the locks of a store unsafe

Usage: holdfast check [pattern] [options]
       holdfast check --dir path [--repair]

${describeOptions(CHECK_OPTIONS)}

It only reads. It checks:
  expiry    lock keys without a TTL, which stay when their holder dies. Lock keys are strings, and hashes
            of Redisson, whose names match the pattern, as in Redis; ${FOREIGN_PATTERN} if none is given
  eviction  whether the server may delete locks when its memory is full (INFO memory)
  clock     whether the clock of the server differs from that of this machine by more than a second; the
            time that the request took is allowed for
  role      whether the server is a replica (INFO replication), or a node of a cluster that is down
            (CLUSTER INFO)
${STORE_HELP}

Exit codes:
  0   nothing is wrong
  1   there are warnings, or something could not be checked
  2   the command line is wrong
  69  the store is unreachable or refuses

Examples:
  holdfast check --store redis://10.0.0.7:6379
  holdfast check 'mutex:*' --store redis://10.0.0.7:6379
  holdfast check --dir /var/lib/holdfast
  holdfast check --json | jq '.endless.keys[].name'`,

  async run(args, io) {
    const given = readMixed(CHECK_OPTIONS, args, io.environment);
    const { values, words } = given;
    if (values.help) return print(io, this.help);
    if (values.dir !== undefined) {
      const { checkDataFolder } = await import('./check/data-folder.ts');
      return checkDataFolder(values.dir, values, io);
    }
    if (values.repair) throw new UsageError('--repair needs --dir, the data folder of the server.');
    const pattern = words[0] === undefined ? FOREIGN_PATTERN : bytesOf(words[0]);
    return withServers(given, io, async (store) => {
      const report = await store.query((servers) => examine(servers, pattern), undefined);
      if (values.json) print(io, asJson(store.label, pattern, report));
      else print(io, describe(report, choosePaint(io, values['no-color'])));
      return report === undefined || isFine(report) ? 0 : NOT_FINE;
    });
  },
};

const NOT_FINE = 1;

interface Report {
  readonly findings: readonly ServerFinding[];
  readonly endless: KeyList;
}

/** Undefined: all servers of the store. */
type ServerFinding = Finding & { readonly server: string | undefined };

async function examine(servers: Servers, pattern: string): Promise<Report> {
  const endless = await listEndless(servers, pattern);
  const expiry = expiryFinding(endless, pattern, systemClock.wallMs());
  const findings: ServerFinding[] = [{ ...expiry, server: undefined }];
  const masters = await servers.masters();
  for (const { label, run } of masters) {
    const server = masters.length === 1 ? undefined : label;
    const found = serverFindings(await readFacts(run, systemClock));
    findings.push(...found.map((finding) => ({ ...finding, server })));
  }
  return { findings, endless };
}

function isFine({ findings }: Report): boolean {
  return findings.every(({ state }) => state === 'ok');
}

function asJson(store: string, pattern: string, report: Report | undefined): string {
  const { findings, endless } = report ?? { findings: [], endless: NO_KEYS };
  return safeJson(
    {
      store,
      at: new Date(systemClock.wallMs()).toISOString(),
      ...textData('pattern', pattern),
      ok: report === undefined || isFine(report),
      findings: findings.map(({ server = null, ...finding }) => ({ server, ...finding })),
      endless: keyListData(endless),
    },
    2,
  );
}

function describe(report: Report | undefined, paint: Paint): string {
  if (report === undefined) return 'No local server runs: there is nothing to check.';
  return report.findings
    .map(({ check, state, message, server }) => {
      const where = server === undefined ? '' : `${messageText(server)}: `;
      return `${paint(STYLES[state], state.padEnd(8))} ${check.padEnd(8)}  ${where}${message}`;
    })
    .join('\n');
}

const STYLES = { ok: 'faint', warning: 'fault', unknown: 'strong' } as const satisfies Record<
  Finding['state'],
  Style
>;
