import type { Failure, Text, TraceClient, TraceKey, TraceStep } from '../index.ts';
import { both, type Html, html } from './html.ts';
import { keyChanges } from './key-changes.ts';
import {
  actionText,
  GONE,
  type Language,
  lifeText,
  replyText,
  shortCommand,
  statusText,
  ttlText,
} from './words.ts';

/** The mark before a failure: `✗` if the check was promised, `~` if not. */
export type Sign = '✗' | '~';

/**
 * A run as a sequence diagram: a vertical line for each client and one for the store, and a slider that
 * selects the step. `id` must be unique on the page.
 */
export function runFigure(id: string, { trace, sentence }: Failure, sign: Sign): Html {
  const names = (trace[0]?.clients ?? []).map(({ name }) => name);
  return html`
<figure class="run n${names.length}">
  <div class="diagram">
    ${diagram(names, trace)}
    <p class="violation${sign === '~' ? ' beyond' : ''}">${sign} ${both(sentence)}</p>
  </div>
  <div class="panel">
    ${controls(id, trace.length)}
    ${moments(names, trace)}
  </div>
</figure>`;
}

/** The lines of the clients and of the store, and one item for each step. */
export function diagram(names: readonly string[], trace: readonly TraceStep[]): Html {
  return html`<div class="lanes" aria-hidden="true">${names.map(laneName)}${STORE_NAME}</div>
    <ol class="steps">${trace.map((step, at) => row(step, trace[at - 1]))}</ol>`;
}

/** What happened, the keys and the clients: before the first step, and after each one. Only the last is not hidden. */
export function moments(names: readonly string[], trace: readonly TraceStep[]): Html[] {
  return [beginning(names, trace.length === 0), ...trace.map(momentOf)];
}

const STORE_NAME = html`<b class="name store">${both({ en: 'store', zh: '存储' })}</b>`;

function laneName(name: string, index: number): Html {
  return html`<b class="name c${index}">${name}</b>`;
}

function row(step: TraceStep, before: TraceStep | undefined): Html {
  const [asked, ...rest] = happening(step);
  const was = before?.clients ?? step.clients.map(({ name }) => newcomer(name));
  const request = step.lines === null ? html`` : part(was, [asked!]);
  const outcome = step.lines === null ? [asked!] : rest;
  return html`
<li class="step">
  <span class="when"><b>${step.number}</b> <span>${step.seconds} s</span></span>
  ${request}${part(step.clients, [...outcome, ...aftermath(step, before)])}
</li>`;
}

/** One row of a step, drawn over the lines of the clients. */
function part(clients: readonly TraceClient[], content: readonly Html[]): Html {
  const lanes = clients.map(
    ({ status, inside }, index) =>
      html`<i class="lane c${index} ${status}${inside ? ' inside' : ''}"></i>`,
  );
  return html`
<div class="part"><span aria-hidden="true">${lanes}<i class="lane store"></i></span>${content}</div>`;
}

/** The action of a step, and for a command its reply on a second line. */
function happening(step: TraceStep): Html[] {
  const { kind, lines } = step;
  const action = both(actionText(step));
  const reply = both(replyText(step) ?? { en: '', zh: '' });
  if (kind === 'tick') return [html`<p class="tick">${action}</p>`];
  const index = laneOf(step);
  if (kind !== 'step' && kind !== 'lose') {
    return [html`<p class="fault c${index}"><i aria-hidden="true">${MARKS[kind]}</i>${action}</p>`];
  }
  const who = html`<span class="aside">${step.client ?? ''}: </span>`;
  if (lines === null) return [html`<p class="own c${index}">${who}${action}: ${reply}</p>`];
  const isLost = kind === 'lose' ? ' lost' : '';
  return [
    html`<p class="request c${index}">${who}<code>${shortCommand(step.action)}</code></p>`,
    html`<p class="reply c${index}${isLost}"><code>${reply}</code></p>`,
  ];
}

const MARKS = { crash: '✕', pause: '‖', resume: '▸', ahead: '+', behind: '−' } as const;

function laneOf({ client, clients }: TraceStep): number {
  return clients.findIndex(({ name }) => name === client);
}

/** The changes of a step: notes on the side of the clients, keys on the side of the store. */
function aftermath(step: TraceStep, before: TraceStep | undefined): Html[] {
  const keys = changesOf(step, before);
  if (step.notes.length === 0 && keys.length === 0) return [];
  return [
    html`<div class="after"><p class="note">${lined(step.notes.map(both))}</p><p class="keys">${lined(keys)}</p></div>`,
  ];
}

function changesOf(step: TraceStep, before: TraceStep | undefined): Html[] {
  const { changed, gone } = keyChanges(step, before);
  const texts = changed.map(({ key, value, ttlMs }) => {
    const left = ttlMs === null ? '' : ` · ${lifeText(ttlMs)}`;
    return html`<code>${key} = ${value}</code>${left}`;
  });
  return [...texts, ...gone.map((key) => html`<code>${key}</code> ${both(GONE)}`)];
}

function lined(lines: readonly Html[]): Html[] {
  return lines.map((line, at) => (at === 0 ? line : html`<br>${line}`));
}

function controls(id: string, steps: number): Html {
  return html`
<div class="controls">
  <p class="count"><label for="${id}">${both({ en: 'Step', zh: '步' })}</label> <output for="${id}">${steps} / ${steps}</output></p>
  ${button('back', '◂', { en: 'one step back', zh: '上一步' })}
  <input type="range" id="${id}" min="0" max="${steps}" value="${steps}">
  ${button('next', '▸', { en: 'one step forward', zh: '下一步' })}
</div>`;
}

function button(name: string, sign: string, title: Text): Html {
  return html`<button type="button" class="${name}"><span aria-hidden="true">${sign}</span><span class="aside">${both(title)}</span></button>`;
}

/** The situation after a step. */
interface Moment {
  /** What happened: the text for screen readers, and the visible one. */
  readonly spoken: Text;
  readonly what: Html;
  readonly seconds: number;
  readonly keys: readonly TraceKey[];
  readonly clients: readonly TraceClient[];
  readonly isShown: boolean;
}

function beginning(names: readonly string[], isShown: boolean): Html {
  const spoken = { en: 'Nothing has happened yet.', zh: '还没有发生任何事情。' };
  const clients = names.map(newcomer);
  return momentPart({ spoken, what: both(spoken), seconds: 0, keys: [], clients, isShown });
}

function momentOf(step: TraceStep, at: number, trace: readonly TraceStep[]): Html {
  const { lines, kind, seconds, keys, clients } = step;
  const client = step.client ?? '';
  const isAct = kind === 'step' || kind === 'lose';
  const action = actionText(step);
  const reply = replyText(step);
  const who = isAct ? html`<b class="c${laneOf(step)}">${client}</b> ` : html``;
  const what = lines === null ? both(action) : html`<code>${both(action)}</code>`;
  const told = reply === null ? html`` : html` → <code>${both(reply)}</code>`;
  const spoken = (language: Language): string =>
    (isAct ? `${client}: ` : '') +
    action[language] +
    (reply === null ? '' : `: ${reply[language]}`);
  return momentPart({
    spoken: { en: spoken('en'), zh: spoken('zh') },
    what: html`${who}${what}${told}`,
    seconds,
    keys,
    clients,
    isShown: at === trace.length - 1,
  });
}

function momentPart({ spoken, what, seconds, keys, clients, isShown }: Moment): Html {
  const people = clients.map(
    (client, index) =>
      html`<li class="c${index}"><b>${client.name}</b> ${both(statusText(client))}</li>`,
  );
  return html`
<div class="moment" data-en="${spoken.en}" data-zh="${spoken.zh}"${isShown ? html`` : html` hidden`}>
  <p class="what">${what}</p>
  <table>
    <caption>${both({ en: `The store at ${seconds} s`, zh: `第 ${seconds} 秒的存储` })}</caption>
    <thead><tr>
      <th scope="col">${both({ en: 'key', zh: '键' })}</th>
      <th scope="col">${both({ en: 'value', zh: '值' })}</th>
      <th scope="col">TTL</th>
    </tr></thead>
    <tbody>${keys.length === 0 ? NO_KEYS : keys.map(keyRow)}</tbody>
  </table>
  <ul class="clients">${people}</ul>
</div>`;
}

const NOTHING = { en: 'no keys', zh: '没有键' };
const NO_KEYS = html`<tr><td colspan="3">${both(NOTHING)}</td></tr>`;

function newcomer(name: string): TraceClient {
  return { name, status: 'ready', inside: false };
}

function keyRow({ key, value, ttlMs }: TraceKey): Html {
  return html`<tr><td><code>${key}</code></td><td><code>${value}</code></td><td>${both(ttlText(ttlMs))}</td></tr>`;
}
