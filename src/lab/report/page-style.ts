/** The style of a run: its diagram, and the panel beside it. */
export const RUN_STYLE = `
.run { margin: 0; padding: 0.5rem 1rem 1rem; display: grid; gap: 1.5rem; --gutter: 4.25rem; --lane: 2.25rem; --edge: 2.25rem; }
.n1 { --lanes: 1; } .n2 { --lanes: 2; } .n3 { --lanes: 3; } .n4 { --lanes: 4; }
.n5 { --lanes: 5; } .n6 { --lanes: 6; } .n7 { --lanes: 7; } .n8 { --lanes: 8; }
.c0 { --at: 0; --own: var(--a); } .c1 { --at: 1; --own: var(--b); } .c2 { --at: 2; --own: var(--c); } .c3 { --at: 3; --own: var(--d); }
.c4 { --at: 4; --own: var(--e); } .c5 { --at: 5; --own: var(--f); } .c6 { --at: 6; --own: var(--g); } .c7 { --at: 7; --own: var(--h); }
.diagram { min-width: 0; font-size: 0.9375rem; }
.lanes { position: relative; height: 1.75rem; }
.name { position: absolute; width: var(--lane); left: calc(var(--gutter) + var(--at) * var(--lane)); text-align: center; color: var(--own); }
.name.store { left: auto; right: 0; width: auto; color: var(--soft); font-weight: 600; }
.steps { list-style: none; margin: 0; padding: 0; }
.step { position: relative; }
.step, .violation { scroll-margin: 1rem 0; }
.part { position: relative; isolation: isolate; padding: 0.3125rem 0; }
.part p { position: relative; margin: 0; }
.when { position: absolute; left: 0.5rem; top: 0.4375rem; z-index: 1; width: calc(var(--gutter) - 0.5rem); font-size: 0.8125rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.when b { display: inline-block; min-width: 1.375rem; color: var(--ink); }
.lane { position: absolute; top: 0; bottom: 0; left: calc(var(--gutter) + var(--at) * var(--lane)); width: var(--lane); }
.lane::before { content: ""; position: absolute; top: 0; bottom: 0; left: calc(50% - 1px); width: 2px; background: var(--line); }
.lane.inside::before { left: calc(50% - 5px); width: 10px; background: var(--own); }
.lane.paused::before { background: repeating-linear-gradient(135deg, var(--wire) 0 2px, transparent 2px 6px); left: calc(50% - 3px); width: 6px; }
.lane.paused.inside::before { background: repeating-linear-gradient(135deg, var(--own) 0 3px, transparent 3px 7px); left: calc(50% - 5px); width: 10px; }
.lane.crashed::before, .lane.finished::before { background: none; }
.lane.crashed.inside::before { background: none; border: 1px dotted var(--own); }
.lane.store { left: auto; right: 0; width: var(--edge); }

.part .request, .part .reply, .part .own, .part .fault { margin-left: calc(var(--gutter) + var(--at) * var(--lane)); padding-left: calc((var(--lanes) - var(--at)) * var(--lane) + 0.375rem); padding-right: calc(var(--edge) + 0.25rem); }
.request, .reply { padding-bottom: 0.1875rem; }
.request::after, .reply::after { content: ""; position: absolute; left: calc(var(--lane) / 2 + 6px); right: calc(var(--edge) / 2 + 2px); bottom: -1px; border-bottom: 2px solid var(--own); }
.reply::after { border-bottom-style: dashed; }
.request::before, .reply::before { content: ""; position: absolute; bottom: -5px; border: 5px solid transparent; z-index: 1; }
.request::before { right: calc(var(--edge) / 2); border-left: 9px solid var(--own); border-right-width: 0; }
.reply::before { left: calc(var(--lane) / 2 + 5px); border-right: 9px solid var(--own); border-left-width: 0; }
.reply.lost::after { left: calc((var(--lanes) - var(--at)) * var(--lane) + 0.375rem); border-bottom-color: var(--fault); }
.reply.lost::before { content: "✕"; border: 0; line-height: 1; bottom: -0.5em; left: calc((var(--lanes) - var(--at)) * var(--lane) - 0.5rem); color: var(--fault); font-weight: 700; }
.reply.lost code, .fault { color: var(--fault); }
.own::before { content: ""; position: absolute; left: calc(var(--lane) / 2 - 7px); top: 0.4em; width: 14px; height: 14px; border-radius: 50%; background: var(--own); border: 2px solid var(--raised); }
.fault { font-weight: 600; }
.fault i { position: absolute; left: calc(var(--lane) / 2 - 0.625rem); top: 0.125rem; width: 1.25rem; height: 1.25rem; line-height: 1.25rem; border-radius: 50%; text-align: center; font-style: normal; font-size: 0.75rem; background: var(--fault); color: var(--raised); }
.part .tick, .after { margin-left: calc(var(--gutter) + var(--lanes) * var(--lane) + 0.375rem); padding-right: calc(var(--edge) + 0.25rem); color: var(--soft); }
.tick::before { content: ""; position: absolute; left: calc(-1 * (var(--lanes) * var(--lane) + 0.375rem)); right: 0; top: 50%; border-bottom: 1px dotted var(--wire); z-index: -1; }
.tick > * { background: var(--raised); padding-right: 0.5rem; }
.after { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; font-size: 0.875rem; padding-top: 0.3125rem; }
.keys { margin-left: auto !important; text-align: right; }
.moves .step.now { background: var(--shade); border-radius: 6px; }
.moves .later { opacity: 0.22; }
.violation { margin: 0.5rem 0 0; padding: 0.5rem 0.75rem; border-radius: 6px; background: var(--bad-shade); color: var(--bad); font-weight: 600; }
.violation.beyond { background: var(--fault-shade); color: var(--fault); }

.panel { background: var(--raised); font-size: 0.875rem; min-width: 0; }
.controls { display: none; grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; gap: 0.375rem 0.5rem; }
.moves .controls { display: grid; }
.count { grid-column: 1 / -1; margin: 0; display: flex; justify-content: space-between; }
.count label { font-weight: 600; }
.count output { font-variant-numeric: tabular-nums; }
.controls input { width: 100%; min-width: 0; accent-color: var(--link); height: 1.5rem; margin: 0; }
.controls button { font: inherit; line-height: 1; width: 2.25rem; height: 2.25rem; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); color: var(--ink); cursor: pointer; position: relative; }
.controls button:hover { background: var(--shade); }
.moment .what { margin: 0.5rem 0; min-height: 1.55em; }
.moment b { color: var(--own); }
.moment caption { text-align: left; color: var(--soft); padding: 0.25rem 0; }
.moment th, .moment td { padding: 0.1875rem 0.5rem 0.1875rem 0; border-top: 1px solid var(--line); }
.moment th { color: var(--soft); font-weight: normal; }
.moment td:last-child { white-space: nowrap; }
.clients { list-style: none; margin: 0.75rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.125rem 1rem; }
@media (min-width: 60rem) {
  .run { grid-template-columns: minmax(0, 1fr) 18rem; gap: 2.5rem; }
  .panel { position: sticky; top: 1rem; align-self: start; }
  .clients { display: block; }
}
@media (max-width: 59.99rem) {
  .run { --gutter: 3.75rem; --lane: 1.75rem; --edge: 1.5rem; padding: 0.25rem 0.75rem 0; gap: 0; }
  .when { left: 0.25rem; }
  .run.n5, .run.n6, .run.n7, .run.n8 { --gutter: 3.5rem; --lane: 0.9375rem; }
  .step, .violation { scroll-margin-bottom: 12rem; }
  .panel { position: sticky; bottom: 0; border-top: 1px solid var(--line); padding: 0.5rem 0 0.75rem; margin-top: 0.75rem; z-index: 2; }
  .controls { grid-template-columns: auto minmax(0, 1fr) auto auto; }
  .count { grid-column: 4; grid-row: 1; }
  .count label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .moment .what { margin: 0.375rem 0 0.25rem; }
  .moment caption { display: none; }
  .moment thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .moment td { padding: 0.125rem 0.5rem 0.125rem 0; }
  .clients { margin-top: 0.25rem; }
  .moment { max-height: 34vh; overflow-y: auto; }
}
`;

/**
 * The page's style sheet. `--at` is the index of a client's lane. Elements of a client start at its lane, so
 * that an arrow from it to the store has the right length.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf6; --raised: #ffffff; --ink: #20242a; --soft: #5c6470; --line: #d9d6cc; --shade: #f1efe8;
  --bad: #b3261e; --bad-shade: #fdecea; --fault-shade: #fbf0dc; --good: #1f6f43; --good-shade: #e6f4ec; --link: #0b5cad;
  --wire: #7d8590; --fault: #9a5b00;
  --a: #1d6fb8; --b: #c2540a; --c: #7b3fb5; --d: #0c7d74; --e: #a3316f; --f: #5f7a0b; --g: #4054b2; --h: #8a5a2b;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --raised: #1b1f25; --ink: #e6e3da; --soft: #a2a8b3; --line: #343a43; --shade: #22272e;
    --bad: #ff8a80; --bad-shade: #3a1d1d; --fault-shade: #33260f; --good: #7fd6a4; --good-shade: #17301f; --link: #8ab8ff;
    --wire: #8a929e; --fault: #f0b35a;
    --a: #6cb2f5; --b: #f59a5c; --c: #c495f2; --d: #55c8bc; --e: #f08cc0; --f: #b5d15b; --g: #9aa9f5; --h: #d1a679;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif;
}
code, pre { font-family: var(--mono); font-size: 0.875em; }
code { overflow-wrap: anywhere; }
a { color: var(--link); }
html:lang(en) .zh, html:lang(zh) .en { display: none; }
.aside {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 0.5rem; background: var(--raised); padding: 0.5rem 1rem; z-index: 9; }

.head, .columns, .foot { max-width: 84rem; margin: 0 auto; padding: 0 1.5rem; }
.head { padding-top: 2.5rem; }
.head h1 { font-size: 2.5rem; line-height: 1.1; letter-spacing: -0.02em; margin: 0 0 0.75rem; text-wrap: balance; }
.lead { max-width: 46rem; margin: 0 0 0.5rem; }
.legend { max-width: 46rem; color: var(--soft); margin: 0; font-size: 0.9375rem; }
.languages { float: right; display: flex; border: 1px solid var(--line); border-radius: 999px; overflow: hidden; background: var(--raised); }
.languages button { font: inherit; font-size: 0.875rem; color: var(--soft); background: none; border: 0; padding: 0.375rem 0.875rem; cursor: pointer; }
.languages button[aria-pressed="true"] { background: var(--ink); color: var(--paper); }
.languages button:focus-visible { outline-offset: -4px; border-radius: 999px; }
.foot { color: var(--soft); font-size: 0.875rem; padding-top: 2rem; padding-bottom: 3rem; }

nav ul { list-style: none; margin: 0; padding: 0; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
nav .recipe-link { color: var(--ink); font-weight: 600; }
nav ul ul { margin: 0.125rem 0 0.75rem; font-size: 0.8125rem; }
nav ul ul li { display: flex; gap: 0.5rem; justify-content: space-between; align-items: baseline; }
nav ul ul a { white-space: nowrap; }
nav .mark.fails, nav .mark.holds, nav .mark.beyond { padding: 0; background: none; font-size: inherit; font-weight: 500; text-align: right; }
.index > summary { font-weight: 600; cursor: pointer; padding: 0.25rem 0; margin-bottom: 0.5rem; }

main { min-width: 0; }
section { border-top: 1px solid var(--line); padding: 2rem 0 1.5rem; }
section:first-child { border-top: 0; padding-top: 0.5rem; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
.about { margin: 0 0 1rem; max-width: 46rem; }
.recipe { display: grid; gap: 1rem; margin-bottom: 1rem; }
.code { min-width: 0; }
pre { margin: 0; padding: 0.875rem 1rem; background: var(--shade); border-radius: 8px; overflow-x: auto; line-height: 1.5; }
pre code { font-size: 0.8125rem; overflow-wrap: normal; }
.wide { overflow-x: auto; margin-bottom: 0.75rem; }
.stampede { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
.stampede th, .stampede td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid var(--line); font-weight: 400; }
.stampede :is(th, td):last-child { padding-right: 0; }
.stampede thead th { font-weight: 600; }
.moments { list-style: none; margin: 0; padding: 0 1rem 0.75rem; font-size: 0.875rem; }
[role="tablist"] { display: none; flex-wrap: wrap; gap: 0 0.25rem; margin-bottom: 0.375rem; border-bottom: 1px solid var(--line); }
.moves [role="tablist"] { display: flex; }
[role="tab"] { font: inherit; font-size: 0.875rem; color: var(--soft); background: none; border: 0; border-bottom: 3px solid transparent; margin-bottom: -1px; padding: 0.375rem 0.625rem; cursor: pointer; }
[role="tab"]:hover { color: var(--ink); }
[role="tab"][aria-selected="true"] { color: var(--ink); font-weight: 600; border-bottom-color: var(--link); }
[role="tab"]:focus-visible { outline-offset: -3px; }
.tab-title { margin: 0.75rem 0 0.25rem; font-size: 0.875rem; font-weight: 600; }
.moves .tab-title { display: none; }
.script { margin-top: 0.5rem; }
.script summary { cursor: pointer; color: var(--soft); padding: 0.125rem 0; }
.source { margin: 0; padding: 0 0 0 1rem; border-left: 3px solid var(--line); color: var(--soft); font-size: 0.9375rem; align-self: start; }
.source p { margin: 0 0 0.25rem; }
.source cite { font-size: 0.8125rem; }

.variant { background: var(--raised); border: 1px solid var(--line); border-radius: 10px; margin-top: 0.75rem; }
.variant > summary { position: relative; display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline; padding: 0.75rem 1rem 0.75rem 2.25rem; cursor: pointer; list-style: none; }
.variant > summary::-webkit-details-marker { display: none; }
.variant > summary::before { content: "▸"; color: var(--soft); position: absolute; left: 1rem; }
.variant[open] > summary::before { content: "▾"; }
.variant h3 { font: 600 0.9375rem/1.4 var(--mono); margin: 0; }
.world { color: var(--soft); flex: 1 1 16rem; }
.mark { font-size: 0.8125rem; font-weight: 600; border-radius: 999px; padding: 0.0625rem 0.5rem; }
.mark i { font-style: normal; }
.mark.fails { color: var(--bad); background: var(--bad-shade); }
.mark.holds { color: var(--good); background: var(--good-shade); }
.mark.beyond { color: var(--fault); background: var(--fault-shade); }
.surprise { color: var(--bad); text-decoration: underline; }

.counts { display: flex; flex-wrap: wrap; gap: 0.25rem 2rem; margin: 0; padding: 0.75rem 1rem; border-top: 1px solid var(--line); font-size: 0.875rem; }
.counts div { display: flex; flex-wrap: wrap; gap: 0 0.5rem; }
.counts dt { color: var(--soft); }
.counts dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: baseline; }
.verdicts { font-size: 0.875rem; border-top: 1px solid var(--line); }
.verdicts th, .verdicts td { padding: 0.25rem 1rem; font-weight: normal; }
.verdicts thead th { color: var(--soft); padding-top: 0.625rem; }
.check { display: flex; gap: 0.5rem; align-items: baseline; }
.check code { flex: 0 0 10.5rem; font-weight: 600; }
.verdicts tbody th span { color: var(--soft); }
.verdicts tbody tr:last-child > * { padding-bottom: 0.875rem; }
.verdicts .mark { white-space: nowrap; }
.schedule { color: var(--soft); }
.unpromised { margin: 0; padding: 0 1rem 0.875rem; font-size: 0.875rem; color: var(--soft); max-width: 46rem; }
.unpromised b { color: var(--fault); }

${RUN_STYLE}
.questions { padding-left: 1.25rem; max-width: 52rem; }
.questions li { margin-bottom: 0.375rem; }
.filters { display: none; }
.moves .filters { display: grid; gap: 0.5rem; margin: 1.5rem 0; }
.filters [role="group"] { display: flex; flex-wrap: wrap; gap: 0.375rem; align-items: baseline; }
.filters span[id] { min-width: 5.5rem; font-weight: 600; }
.filters button { font: inherit; font-size: 0.875rem; border: 1px solid var(--line); border-radius: 999px; background: var(--raised); color: var(--ink); padding: 0.1875rem 0.75rem; cursor: pointer; }
.filters button[aria-pressed="true"] { background: var(--ink); color: var(--paper); }
.filters p { margin: 0; color: var(--soft); font-variant-numeric: tabular-nums; }
#claims h3 { font-size: 1.125rem; margin: 1.5rem 0 0.25rem; }
.claim { background: var(--raised); border: 1px solid var(--line); border-radius: 10px; padding: 0.75rem 1rem; margin-top: 0.75rem; font-size: 0.9375rem; }
.claim:target { border-color: var(--link); }
.claim[hidden], .document[hidden] { display: none; }
.claim p { margin: 0 0 0.375rem; max-width: 52rem; }
.claim-head { display: flex; flex-wrap: wrap; gap: 0.125rem 0.625rem; align-items: baseline; }
.claim-head a { font-weight: 600; font-variant-numeric: tabular-nums; text-decoration: none; }
.place { color: var(--soft); font-size: 0.875rem; }
.claim .claim-text { font-weight: 600; }
.right-form b { font-weight: 600; color: var(--good); }
.evidence summary { cursor: pointer; color: var(--soft); font-size: 0.875rem; }
.evidence ul { margin: 0.375rem 0 0; padding-left: 1.25rem; font-size: 0.875rem; overflow-wrap: anywhere; }
.evidence li { margin-bottom: 0.375rem; }

@media (min-width: 60rem) {
  .columns { display: grid; grid-template-columns: 19rem minmax(0, 1fr); gap: 3rem; margin-top: 2rem; }
  nav { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto; padding-right: 0.5rem; }
  .recipe { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 2rem; }
}
@media (max-width: 59.99rem) {
  .head, .columns, .foot { padding-left: 1rem; padding-right: 1rem; }
  .head { padding-top: 1.25rem; }
  .head h1 { font-size: 2rem; }
  pre code { font-size: 0.75rem; }
  nav { margin: 1.25rem 0; }
  .verdicts thead { display: none; }
  .verdicts tr { display: block; padding: 0.375rem 1rem; }
  .verdicts th, .verdicts td { display: block; padding: 0; }
  .check { display: block; }
  .check code { margin-right: 0.5rem; }
  .verdicts tbody tr:last-child > * { padding-bottom: 0; }
}
@media print {
  .panel, .languages, nav { display: none; }
  .moves .later { opacity: 1; }
}
`;
