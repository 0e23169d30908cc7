import { chargeScript } from '../lua/index.ts';
import { SimpleReply } from '../resp/index.ts';
import { type Command, FLAGS } from './command.ts';
import { withoutSecrets } from './redaction.ts';
import type { Session } from './session.ts';
import { moreArguments, shortened } from './shortened.ts';

/** The memory of a line in a client's output, beside its text. */
const LINE_BYTES = 100;

/** Sends a command to every session in MONITOR mode. As in Redis, admin commands are not sent. */
export function showToMonitors(session: Session, command: Command, argv: readonly string[]): void {
  if ((command.bits & FLAGS.admin) !== 0) return;
  const line = new SimpleReply(monitorLine(session, withoutSecrets(command, argv)));
  chargeScript(session.engine.monitors.size * (line.text.length + LINE_BYTES));
  for (const monitor of session.engine.monitors) monitor.listener.push(line);
}

/**
 * A line such as `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. Its length is limited, because it goes to
 * every monitor, and because the quoted form of a long request can exceed the maximum length of a string.
 */
function monitorLine(session: Session, argv: readonly string[]): string {
  const seconds = (session.engine.wallMs() / 1000).toFixed(6);
  const source = session.isScript ? 'lua' : session.address;
  let line = `${seconds} [${session.database.number} ${source}]`;
  for (let at = 0; at < argv.length; at++) {
    if (line.length > FULL_LINE_BYTES) return `${line} ${quoted(moreArguments(argv.length - at))}`;
    line += ` ${quoted(shortened(argv[at]!, MAX_ARGUMENT_BYTES))}`;
  }
  return line;
}

/** A byte takes up to four in quotes, so that a line has at most 64 KiB and a few bytes. */
const FULL_LINE_BYTES = 48 * 1024;
const MAX_ARGUMENT_BYTES = 4 * 1024;

const ESCAPES: Partial<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\x07': '\\a',
  '\b': '\\b',
};

/** The text between quotes, with every byte visible. */
function quoted(text: string): string {
  const escaped = text.replace(/[^\x20-\x7e]|["\\]/g, (char) => ESCAPES[char] ?? hexadecimal(char));
  return `"${escaped}"`;
}

function hexadecimal(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
