import type { Stampede, StampedeRun, TimelineEntry } from '../index.ts';
import { both, type Html, html } from './html.ts';
import { happeningText, momentText, STAMPEDE_COLUMNS, stampedeText } from './stampede-words.ts';

/** The cache stampede: the table that `holdfast lab stampede` prints, and the timeline of each run. */
export function stampedeSection(found: Stampede): Html {
  return html`
<section id="stampede" aria-labelledby="stampede-title">
  <h2 id="stampede-title">${both({ en: 'The cache stampede', zh: '缓存击穿' })}</h2>
  <p class="about">${both(stampedeText(found))}</p>
  <div class="wide" tabindex="0" role="region" aria-labelledby="stampede-title"><table class="stampede">
    <thead><tr>${STAMPEDE_COLUMNS.map(({ title }) => html`<th scope="col">${both(title)}</th>`)}</tr></thead>
    <tbody>${found.runs.map(row)}</tbody>
  </table></div>
  ${found.runs.map(timeline)}
</section>`;
}

function row(run: StampedeRun): Html {
  const [first, ...others] = STAMPEDE_COLUMNS;
  const cells = others.map(({ cell }) => html`<td>${both(cell(run))}</td>`);
  return html`<tr><th scope="row">${both(first!.cell(run))}</th>${cells}</tr>`;
}

function timeline({ about, timeline: entries, name }: StampedeRun): Html {
  return html`
<details class="variant" id="stampede-${name}">
  <summary><h3>${both(about)}</h3></summary>
  <ol class="moments">${entries.map(moment)}</ol>
</details>`;
}

function moment(entry: TimelineEntry): Html {
  return html`<li><code>${momentText(entry)}</code> ${both(happeningText(entry))}</li>`;
}
