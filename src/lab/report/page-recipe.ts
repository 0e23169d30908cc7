import {
  CHECKS,
  DOCUMENTS,
  type Exploration,
  type FailingRuns,
  type Recipe,
  type Text,
  type Verdict,
} from '../index.ts';
import { both, type Html, html } from './html.ts';
import { runFigure, type Sign } from './page-run.ts';
import { programsOf } from './programs.ts';
import { PSEUDO_CODE } from './pseudo-code.ts';
import { scriptsOf } from './scripts.ts';
import { chanceText, countText, stepsText, UNPROMISED, worldText } from './words.ts';

/** A recipe of the gallery, and one exploration for each of its variants. */
export interface GalleryEntry {
  readonly recipe: Recipe;
  readonly explorations: readonly Exploration[];
}

/** The section of one recipe: description, source, pseudo-code and the result of each variant. */
export function recipeSection({ recipe, explorations }: GalleryEntry): Html {
  const { name, about, source } = recipe;
  const firstFailing = Math.max(
    explorations.findIndex(({ failure }) => failure !== undefined),
    0,
  );
  return html`
<section id="${name}" aria-labelledby="${name}-title">
  <h2 id="${name}-title"><code>${name}</code></h2>
  <p class="about">${both(about)}</p>
  <div class="recipe">
    <div class="code">${codeOf(recipe)}</div>
    <aside class="source"><p>${both(source.says)}</p><p><cite lang="${source.document === 'manual' ? 'en' : 'zh-CN'}">${DOCUMENTS[source.document].title}</cite></p></aside>
  </div>
  ${explorations.map((found, at) => variantDetails(name, found, at === firstFailing))}
</section>`;
}

function codeOf(recipe: Recipe): Html[] {
  const code = PSEUDO_CODE.get(recipe.name);
  if (code === undefined) return [];
  const scripts = [...scriptsOf(recipe)].map(
    ([title, text]) => html`
<details class="script"><summary><code>&lt;${title}&gt;</code></summary>${listing(text)}</details>`,
  );
  const pseudoCode = html`${listing(code)}${scripts}`;
  const programs = programsOf(recipe.name).map(({ id, title, code }) => ({
    id,
    title: html`${title}`,
    content: listing(code),
  }));
  if (programs.length === 0) return [pseudoCode];
  const first = { id: `${recipe.name}-code`, title: both(PSEUDO_CODE_TITLE), content: pseudoCode };
  return [tabs([first, ...programs])];
}

const PSEUDO_CODE_TITLE: Text = { en: 'Pseudo-code', zh: '伪代码' };

function listing(text: string): Html {
  return html`<pre tabindex="0"><code>${text}</code></pre>`;
}

interface Tab {
  readonly id: string;
  readonly title: Html;
  readonly content: Html;
}

/** Tabs that show one at a time. Without the page's script all are shown, one below the other. */
function tabs(all: readonly Tab[]): Html {
  const buttons = all.map(
    ({ id, title }) =>
      html`<button type="button" role="tab" id="${id}-tab" aria-controls="${id}">${title}</button>`,
  );
  const panels = all.map(
    ({ id, title, content }) => html`
<div role="tabpanel" id="${id}" aria-labelledby="${id}-tab"><p class="tab-title">${title}</p>${content}</div>`,
  );
  return html`
<div class="tabs">
  <div role="tablist" aria-label="Code, 代码">${buttons}</div>
  ${panels}
</div>`;
}

/** The pseudo-code of a variant, if it differs from that of its recipe. */
function ownCode(recipe: string, variant: string): Html {
  const code = PSEUDO_CODE.get(`${recipe} ${variant}`);
  return code === undefined ? html`` : html`<pre tabindex="0"><code>${code}</code></pre>`;
}

function variantDetails(recipe: string, found: Exploration, isOpen: boolean): Html {
  const { variant, failure } = found;
  const id = `${recipe}-${variant.name}`;
  return html`
<details class="variant" id="${id}"${isOpen ? html` open` : html``}>
  <summary>
    <h3>${variant.name}</h3> ${verdictMarks(found)}
    <span class="world">${both(variant.about)}</span>
  </summary>
  ${ownCode(recipe, variant.name)}
  ${failure === undefined ? html`` : runFigure(`${id}-step`, failure, signOf(found))}
  ${counts(found)}
  ${verdictTable(recipe, found)}
</details>`;
}

/** The verdict in short. If the recipe keeps its promises, unpromised failures are left out. */
export function verdictMark(found: Exploration): Html {
  const { failure, isComplete, keepsPromises } = found;
  if (failure !== undefined && !keepsPromises) return html`${failureMark(found)}${surprise(found)}`;
  const kept = failure === undefined ? HOLDS : KEPT;
  const text = both(isComplete ? kept : HOLDS_SO_FAR);
  return html`<span class="mark holds"><i aria-hidden="true">✓</i> ${text}</span>${surprise(found)}`;
}

/** The verdict with the number of steps and with unpromised failures. */
function verdictMarks(found: Exploration): Html {
  const { failure, keepsPromises } = found;
  if (failure === undefined) return verdictMark(found);
  const mark = failureMark(found, html` · ${both(stepsText(failure.steps))}`);
  return keepsPromises ? html`${verdictMark(found)} ${mark}` : html`${mark}${surprise(found)}`;
}

function failureMark(found: Exploration, steps = html``): Html {
  const sign = signOf(found);
  return html`<span class="mark ${MARKS[sign]}"><i aria-hidden="true">${sign}</i> ${found.failure!.check}${steps}</span>`;
}

function surprise({ isExpected }: { readonly isExpected: boolean }): Html {
  return isExpected ? html`` : html` <b class="surprise">${both(SURPRISE)}</b>`;
}

/** `✗` if a promised check fails, `~` if only unpromised ones do. */
function signOf({ keepsPromises }: Exploration): Sign {
  return keepsPromises ? '~' : '✗';
}

const MARKS: Readonly<Record<Sign, string>> = { '✗': 'fails', '~': 'beyond' };
const HOLDS: Text = { en: 'nothing fails', zh: '没有问题' };
const KEPT: Text = { en: 'as promised', zh: '符合承诺' };
const HOLDS_SO_FAR: Text = { en: 'nothing fails so far', zh: '目前没有发现问题' };
const SURPRISE: Text = { en: 'not expected', zh: '出乎意料' };

function counts({ world, states, interleavings, failing, isComplete }: Exploration): Html {
  const all = isComplete
    ? { en: 'all of them', zh: '全部走遍' }
    : { en: 'the search was stopped', zh: '搜索中止' };
  return html`
<dl class="counts">
  <div><dt>${both({ en: 'world', zh: '规模' })}</dt><dd>${both(worldText(world))}</dd></div>
  <div><dt>${both({ en: 'interleavings', zh: '交错' })}</dt><dd>${countText(interleavings)} (${both(all)})</dd></div>
  ${failing === null ? html`` : failingCounts(failing)}
  <div><dt>${both({ en: 'states', zh: '状态' })}</dt><dd>${countText(states)}</dd></div>
</dl>`;
}

function failingCounts({ interleavings, chance }: FailingRuns): Html {
  return html`<div><dt>${both({ en: 'of these fail', zh: '其中失败' })}</dt><dd>${countText(interleavings)}</dd></div>
  <div><dt>${both({ en: 'share of random runs that fail', zh: '随机运行的失败比例' })}</dt><dd>${chanceText(chance)}</dd></div>`;
}

function verdictTable(recipe: string, { verdicts, variant }: Exploration): Html {
  const hasBeyond = verdicts.some(({ holds, isPromised }) => !holds && !isPromised);
  return html`
<table class="verdicts">
  <caption class="aside">${both({ en: `What was checked in ${recipe}, ${variant.name}`, zh: `${recipe}（${variant.name}）的检查结果` })}</caption>
  <thead><tr>
    <th scope="col">${both({ en: 'must never happen', zh: '绝不能发生' })}</th>
    <th scope="col">${both({ en: 'verdict', zh: '结论' })}</th>
  </tr></thead>
  <tbody>${verdicts.map(verdictRow)}</tbody>
</table>
${hasBeyond ? html`<p class="unpromised"><b>~</b> ${both(UNPROMISED)}</p>` : html``}`;
}

function verdictRow(verdict: Verdict): Html {
  const { check, holds, failure, failing, isPromised } = verdict;
  const about = CHECKS.find(({ name }) => name === check)?.about ?? { en: check, zh: check };
  const sign = isPromised ? '✗' : '~';
  const text = holds
    ? html`<span class="mark holds">✓ ${both({ en: 'never', zh: '不会发生' })}</span>`
    : html`<span class="mark ${MARKS[sign]}">${sign} ${both(stepsText(failure!.steps))}${failing === null ? '' : ` · ${chanceText(failing.chance)}`}</span> <code class="schedule">${failure!.schedule}</code>`;
  return html`<tr><th scope="row"><div class="check"><code>${check}</code> <span>${both(about)}</span></div></th><td>${text}${surprise(verdict)}</td></tr>`;
}
