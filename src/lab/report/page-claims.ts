import type { Text } from '../index.ts';
import type { Claim, Evidence, ReplayEvidence, SearchEvidence } from './claims/claim.ts';
import { CLAIMS } from './claims/index.ts';
import { QUESTIONS, type Question } from './claims/questions.ts';
import {
  CLAIM_REFERENCE,
  CLAIMS_LEAD,
  CLAIMS_TITLE,
  COLUMNS,
  commandOf,
  documentText,
  findingOf,
  QUESTIONS_TITLE,
  VERDICTS,
} from './claims/words.ts';
import { both, type Html, html } from './html.ts';

/** All claims of the documents. Evidence links to the variants on the page by their ids. */
export function claimsSection(variants: ReadonlySet<string>): Html {
  const documents = [...new Set(CLAIMS.map(({ document }) => document))];
  return html`
<section id="claims" aria-labelledby="claims-title">
  <h2 id="claims-title">${both(CLAIMS_TITLE)}</h2>
  <p class="about">${both(CLAIMS_LEAD)}</p>
  <h3>${both(QUESTIONS_TITLE)}</h3>
  <ul class="questions">${QUESTIONS.map(questionItem)}</ul>
  <div class="filters">
    ${filter('document', { en: 'Document', zh: '文档' }, documents, (name) => documentText(name).name)}
    ${filter('verdict', COLUMNS.verdict, VERDICT_NAMES, (name) => VERDICTS[name].text)}
    <p><output aria-live="polite">${CLAIMS.length}</output> / ${CLAIMS.length}</p>
  </div>
  ${documents.map((document) => documentClaims(document, variants))}
</section>`;
}

const VERDICT_NAMES = Object.keys(VERDICTS) as Claim['verdict'][];

/** A row of buttons, one of which is pressed. The first one shows all claims. */
function filter<Name extends string>(
  field: string,
  label: Text,
  names: readonly Name[],
  textOf: (name: Name) => Text,
): Html {
  const all = { en: 'all', zh: '全部' };
  const buttons = names.map((name) => filterButton(field, name, textOf(name), false));
  return html`<div role="group" aria-labelledby="filter-${field}"><span id="filter-${field}">${both(label)}</span> ${filterButton(field, '', all, true)}${buttons}</div>`;
}

function filterButton(field: string, value: string, text: Text, isPressed: boolean): Html {
  return html`<button type="button" data-field="${field}" data-value="${value}" aria-pressed="${String(isPressed)}">${both(text)}</button>`;
}

function questionItem({ question, answer, claims }: Question): Html {
  const links = claims.map((number) => html` ${claimLink(number)}`);
  return html`<li><b>${both(question)}</b> ${prose(answer)}${links}</li>`;
}

function documentClaims(document: Claim['document'], variants: ReadonlySet<string>): Html {
  const { title, about } = documentText(document);
  const claims = CLAIMS.filter((claim) => claim.document === document);
  return html`
<div class="document" id="claims-${document}">
  <h3>${both(title)}</h3>
  <p class="about">${both(about)}</p>
  ${claims.map((claim) => claimArticle(claim, variants))}
</div>`;
}

function claimArticle(claim: Claim, variants: ReadonlySet<string>): Html {
  const { number, document, place, verdict, reason, rightForm, evidence } = claim;
  const { sign, text } = VERDICTS[verdict];
  return html`
<article class="claim" id="claim-${number}" data-document="${document}" data-verdict="${verdict}" aria-labelledby="claim-${number}-title">
  <p class="claim-head">${claimLink(number)} <span class="mark ${MARKS[verdict]}"><i aria-hidden="true">${sign}</i> ${both(text)}</span> <span class="place">${both(place)}</span></p>
  <p class="claim-text" id="claim-${number}-title">${prose(claim.claim)}</p>
  <p>${prose(reason)}</p>
  ${rightForm === null ? html`` : html`<p class="right-form"><b>${both(COLUMNS.rightForm)}</b> ${prose(rightForm)}</p>`}
  <details class="evidence"><summary>${both(COLUMNS.evidence)}</summary><ul>${evidence.map((each) => evidenceItem(each, variants))}</ul></details>
</article>`;
}

const MARKS: Readonly<Record<Claim['verdict'], string>> = {
  right: 'holds',
  conditional: 'beyond',
  wrong: 'fails',
};

function evidenceItem(evidence: Evidence, variants: ReadonlySet<string>): Html {
  switch (evidence.kind) {
    case 'dialogue':
      return html`<li><pre tabindex="0"><code>${dialogueText(evidence.lines)}</code></pre></li>`;
    case 'replay':
    case 'search':
      return html`<li>${labCommand(evidence, variants)}${both(COLON)}${both(findingOf(evidence))}</li>`;
    case 'figure':
      return html`<li>${both(evidence.text)} <code>${evidence.from}</code></li>`;
    case 'test':
      return html`<li><code>${evidence.file}</code>${both(COLON)}“${evidence.title}”</li>`;
  }
}

const COLON: Text = { en: ': ', zh: '：' };

function dialogueText(lines: readonly (readonly [string, string])[]): string {
  return lines.map(([command, reply]) => `> ${command}\n${reply}`).join('\n');
}

function labCommand(
  evidence: ReplayEvidence | SearchEvidence,
  variants: ReadonlySet<string>,
): Html {
  const id = `${evidence.recipe}-${evidence.variant}`;
  const command = html`<code>${commandOf(evidence)}</code>`;
  return variants.has(id) ? html`<a href="#${id}">${command}</a>` : command;
}

function claimLink(number: number): Html {
  return html`<a href="#claim-${number}">${number}</a>`;
}

/** A text with code spans and links to other claims. */
function prose({ en, zh }: Text): Html {
  if (en === zh) return html`${pieces(en)}`;
  return html`<span class="en" lang="en">${pieces(en)}</span><span class="zh" lang="zh-CN">${pieces(zh)}</span>`;
}

function pieces(text: string): Html[] {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${linked(part)}`));
}

function linked(text: string): Html[] {
  const references = text.match(CLAIM_REFERENCE) ?? [];
  return text.split(CLAIM_REFERENCE).map((part, at) => {
    const reference = references[at];
    return reference === undefined ? html`${part}` : html`${part}${linkedNumbers(reference)}`;
  });
}

/** Splits at the numbers, so that every second part is a number. */
function linkedNumbers(reference: string): Html[] {
  return reference
    .split(/(\d+)/)
    .map((part, at) => (at % 2 === 1 ? claimLink(Number(part)) : html`${part}`));
}
