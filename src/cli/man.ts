import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { overview, VERBS } from './dispatch.ts';
import { readMixed } from './ls/mixed-arguments.ts';
import { describeOptions, HELP, type OptionTable } from './options.ts';
import { print, type Verb } from './verb.ts';

const MAN_OPTIONS = { help: HELP } as const satisfies OptionTable;

/** `holdfast man`: the manual page. */
export const man: Verb = {
  options: MAN_OPTIONS,

  help: `holdfast man: shows the manual page

Usage: holdfast man

${describeOptions(MAN_OPTIONS)}

On a terminal it starts man. Into a pipe, and where man is not installed, it prints the same texts: the
help of every verb, and the environment variables.

Examples:
  holdfast man
  holdfast man | grep -n TTL`,

  async run(args, io) {
    const { values } = readMixed(MAN_OPTIONS, args, io.environment, 0);
    if (values.help) return print(io, this.help);
    if (io.output.isTTY && (await showPage())) return 0;
    return print(io, await plainPage());
  },
};

/** The variables that several verbs read. The manual page lists them. */
export const VARIABLES = {
  HOLDFAST_STORE: 'The store, for every verb with --store.',
  HOLDFAST_PREFIX: 'The prefix of the keys of locks, for every verb with --prefix.',
  HOLDFAST_PASSWORD: 'The password for a store whose address has none, and that of a server.',
  HOLDFAST_CA: 'The file of --ca; HOLDFAST_CERT and HOLDFAST_KEY: those of --cert and --key.',
  HOLDFAST_RUNTIME_DIR:
    'The folder of the local server; ~/.holdfast-run if not given, or /tmp/holdfast-<uid> without a home folder.',
  NO_COLOR: 'If it is set and not empty there are no colours.',
} as const satisfies Readonly<Record<string, string>>;

/** Starts man with the page of this package. False: man is not installed, or failed. */
async function showPage(): Promise<boolean> {
  const page = fileURLToPath(new URL('../../man/holdfast.1', import.meta.url));
  const program = spawn('man', [page], { stdio: 'inherit' });
  try {
    const [code] = await once(program, 'exit');
    return code === 0;
  } catch {
    return false;
  }
}

async function plainPage(): Promise<string> {
  const helps = [...VERBS.values()].map(async ({ load }) => (await load()).help);
  const variables = Object.entries(VARIABLES).map(([name, text]) => `  ${name}\n      ${text}`);
  return [
    overview(),
    ...(await Promise.all(helps)),
    `Environment variables:\n${variables.join('\n')}`,
  ].join('\n\n');
}
