import { type ChoiceKind, clientName } from './choice.ts';
import type { Event } from './draft.ts';
import { SKEW_MS } from './options.ts';
import { LOST, type StepResult } from './program.ts';
import type { ReceivedMessage, Step, Text } from './recipe.ts';
import type { State, Status } from './state.ts';
import { type Entry, NEVER, START_MS } from './store.ts';
import type { Move } from './world.ts';

/** One step of a run as plain data, for diagrams. */
export interface TraceStep {
  /** From 1. */
  readonly number: number;
  /** How the schedule writes it. */
  readonly label: string;
  readonly kind: ChoiceKind;
  /** The name of the client; null for the clock. */
  readonly client: string | null;
  /** `SET lock A1 NX PX 2000`, `unix time`, `crash`… A script is shown as the comment in its first line. */
  readonly action: string;
  /** The arguments of each command, with scripts in full; null if the step is not a command. */
  readonly lines: readonly (readonly string[])[] | null;
  /** As redis-cli prints it; null where there is none. */
  readonly reply: string | null;
  /** Seconds since the start, after the step. */
  readonly seconds: number;
  readonly keys: readonly TraceKey[];
  readonly clients: readonly TraceClient[];
  readonly notes: readonly Text[];
}

export interface TraceKey {
  readonly key: string;
  readonly value: string;
  /** Null without a TTL. */
  readonly ttlMs: number | null;
}

export interface TraceClient {
  readonly name: string;
  readonly status: Status;
  readonly inside: boolean;
}

export function traceStep(number: number, move: Move): TraceStep {
  const { choice, after, step, result } = move;
  return {
    number,
    label: choice.label,
    kind: choice.kind,
    client: choice.client < 0 ? null : clientName(choice.client),
    action: step === undefined ? happeningText(move) : actionText(step),
    lines: step?.kind === 'command' ? step.lines : null,
    reply: step === undefined ? null : replyText(step, result),
    seconds: (after.nowMs - START_MS) / 1000,
    keys: after.image.entries.map((entry) => traceKey(entry, after.nowMs)),
    clients: after.clients.map(({ status, inside }, index) => ({
      name: clientName(index),
      status,
      inside,
    })),
    notes: [...endedKeys(move.before, after, step), ...move.events.flatMap(note)],
  };
}

/** The text for choices that are not a step of a client. */
const FAULTS: Readonly<Record<ChoiceKind, string>> = {
  step: '',
  lose: '',
  tick: '',
  crash: 'crash',
  pause: 'pause',
  resume: 'resume',
  ahead: `clock ${SKEW_MS / 1000} s ahead`,
  behind: `clock ${SKEW_MS / 1000} s behind`,
};

function happeningText({ choice, before, after }: Move): string {
  if (choice.kind !== 'tick') return FAULTS[choice.kind];
  return `${durationText(after.nowMs - before.nowMs)} passes`;
}

function durationText(durationMs: number): string {
  return durationMs % 1000 === 0 ? `${durationMs / 1000} s` : `${durationMs} ms`;
}

function actionText(step: Step): string {
  if (step.kind === 'command')
    return step.lines.map((argv) => argv.map(wordText).join(' ')).join('; ');
  if (step.kind === 'clock') return step.unitMs === 1 ? 'unix time in ms' : 'unix time';
  if (step.kind === 'listen') return 'message';
  return step.fence === undefined ? 'write' : `write with fence ${step.fence}`;
}

/** Shows a script as the comment in its first line. */
function wordText(word: string): string {
  const [, title] = /^-- (.*)\n/.exec(word) ?? [];
  if (title !== undefined) return `<${title}>`;
  return word.includes('\n') ? '<script>' : word;
}

function replyText(step: Step, result: StepResult): string {
  if (result === LOST) return `(the ${step.kind === 'listen' ? 'message' : 'reply'} is lost)`;
  if (step.kind === 'listen') return answerText((result as ReceivedMessage)[0]);
  if (step.kind === 'write') return result === true ? 'taken' : 'refused';
  return step.kind === 'clock' ? String(result) : answerText(result);
}

function answerText(result: unknown): string {
  if (Array.isArray(result)) return `[${result.map(answerText).join(', ')}]`;
  if (result === null) return '(nil)';
  if (typeof result === 'number') return `(integer) ${result}`;
  return result === 'OK' ? 'OK' : `"${result}"`;
}

function traceKey({ key, parts, deadlineMs }: Entry, nowMs: number): TraceKey {
  const ttlMs = deadlineMs === NEVER ? null : deadlineMs - nowMs;
  return { key, value: parts.join(' '), ttlMs };
}

/** Keys that expired: they are gone, and no command ran. */
function endedKeys(before: State, after: State, step: Step | undefined): Text[] {
  if (step !== undefined) return [];
  const left = new Set(after.image.entries.map(({ key }) => key));
  return before.image.entries
    .filter(({ key }) => !left.has(key))
    .map(({ key }) => ({ en: `${key} ends`, zh: `${key} 到期` }));
}

function note(event: Event): Text[] {
  const name = clientName(event.client);
  if (event.kind === 'ended') return [ENDINGS[event.ending](name)];
  if (event.kind === 'wrote') return event.accepted ? [] : [REFUSED(name)];
  return [MARKS[event.kind](name)];
}

type Note = (name: string) => Text;

const MARKS: Readonly<Record<'entered' | 'extended' | 'left', Note>> = {
  entered: (name) => ({ en: `${name} holds the lock`, zh: `${name} 持有锁` }),
  extended: (name) => ({ en: `${name} holds the lock for longer`, zh: `${name} 续期成功` }),
  left: (name) => ({ en: `${name} has finished its work`, zh: `${name} 完成了工作` }),
};

const ENDINGS: Readonly<Record<'done' | 'busy' | 'lost' | 'gave-up', Note>> = {
  done: (name) => ({ en: `${name} is done`, zh: `${name} 结束` }),
  busy: (name) => ({ en: `${name} waits and tries again`, zh: `${name} 等待后重试` }),
  lost: (name) => ({ en: `${name} knows that it lost the lock`, zh: `${name} 知道自己丢了锁` }),
  'gave-up': (name) => ({ en: `${name} gives up`, zh: `${name} 放弃` }),
};

const REFUSED: Note = (name) => ({
  en: `the resource refuses the write of ${name}`,
  zh: `资源拒绝了 ${name} 的写入`,
});
