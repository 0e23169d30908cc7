import { chargeScript } from '../lua/index.ts';
import { SimpleReply } from '../resp/index.ts';
import { type Command, FLAGS } from './command.ts';
import { withoutSecrets } from './redaction.ts';
import type { Session } from './session.ts';

/** What a line takes in a client's output, beside its text. */
const LINE_BYTES = 100;

/** Shows a command to every session that asked for MONITOR. Administration is nobody's business. */
export function showToMonitors(session: Session, command: Command, argv: readonly string[]): void {
  if ((command.bits & FLAGS.admin) !== 0) return;
  const line = new SimpleReply(monitorLine(session, withoutSecrets(command, argv)));
  chargeScript(session.engine.monitors.size * (line.text.length + LINE_BYTES));
  for (const monitor of session.engine.monitors) monitor.listener.push(line);
}

/** `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. */
function monitorLine(session: Session, argv: readonly string[]): string {
  const seconds = (session.engine.wallMs() / 1000).toFixed(6);
  const source = session.isScript ? 'lua' : session.address;
  return `${seconds} [${session.database.number} ${source}] ${argv.map(quoted).join(' ')}`;
}

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
