import { createHash } from 'node:crypto';
import type { Stampede, Text } from '../index.ts';
import { CLAIMS_TITLE } from './claims/words.ts';
import { both, type Html, html, verbatim } from './html.ts';
import { claimsSection } from './page-claims.ts';
import { type GalleryEntry, recipeSection, verdictMark } from './page-recipe.ts';
import { startPage } from './page-script.ts';
import { stampedeSection } from './page-stampede.ts';
import { STYLE } from './page-style.ts';
import { countText } from './words.ts';

/**
 * The gallery as one self-contained page: no other files, no network. Its content security policy allows only
 * its own style and script, by their hashes. Without scripts all content is visible, in English first.
 */
export function galleryPage(
  entries: readonly GalleryEntry[],
  version: string,
  stampede?: Stampede,
): string {
  const script = `(${startPage})();`;
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy(STYLE, script)}">
<meta name="color-scheme" content="light dark">
<title>Holdfast: the lab</title>
<link rel="icon" href="data:,">
<style>${verbatim(STYLE)}</style>
</head>
<body>
<a class="skip" href="#gallery">${both({ en: 'To the recipes', zh: '跳到各个算法' })}</a>
${pageHeader(entries)}
<div class="columns">
${navigation(entries, stampede !== undefined)}
<main id="gallery">${entries.map(recipeSection)}${stampede === undefined ? html`` : stampedeSection(stampede)}${claimsSection(variantIds(entries))}</main>
</div>
<footer class="foot">${both(footerText(version))}</footer>
<script>${verbatim(script)}</script>
</body>
</html>
`;
  return markup;
}

function variantIds(entries: readonly GalleryEntry[]): ReadonlySet<string> {
  return new Set(
    entries.flatMap(({ recipe, explorations }) =>
      explorations.map(({ variant }) => `${recipe.name}-${variant.name}`),
    ),
  );
}

function policy(style: string, script: string): string {
  return [
    "default-src 'none'",
    'img-src data:',
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function pageHeader(entries: readonly GalleryEntry[]): Html {
  return html`
<header class="head">
  <div class="languages" role="group" aria-label="Language, 语言">
    <button type="button" data-language="en" aria-pressed="true" lang="en">English</button>
    <button type="button" data-language="zh" aria-pressed="false" lang="zh-CN">中文</button>
  </div>
  <h1>${both({ en: 'The lab', zh: '锁实验室' })}</h1>
  <p class="lead">${both(LEAD)}</p>
  <p class="lead">${both(totals(entries))}</p>
  <p class="legend">${both(LEGEND)}</p>
</header>`;
}

const LEAD: Text = {
  en: 'Lock recipes that look right, run through all interleavings: every step of a client can come before or after every step of the others, and clients crash or are paused. Each failure shown is a shortest one, or the scene that explains it.',
  zh: '看起来正确的加锁算法，在所有可能的执行顺序下会怎样：每个客户端的每一步都可能先于或后于其他客户端的任何一步，客户端还可能崩溃或停顿。每个失败都画出最短的执行顺序之一，或最能说明问题的一种。',
};

const LEGEND: Text = {
  en: 'In the diagrams time runs down. A thick line is a client that believes it holds the lock, a hatched one is paused, and a line ends where its client does.',
  zh: '图中时间自上而下。粗线表示客户端认为自己持有锁，斜纹表示停顿，线的尽头表示客户端已结束。',
};

function totals(entries: readonly GalleryEntry[]): Text {
  const found = entries.flatMap(({ explorations }) => explorations);
  const states = countText(found.reduce((sum, each) => sum + each.states, 0));
  const runs = countText(found.reduce((sum, each) => sum + each.interleavings, 0n));
  const surprises = found.filter(({ isExpected }) => !isExpected).length;
  return {
    en: `${entries.length} recipes in ${found.length} worlds: ${runs} interleavings, merged into ${states} states. ${
      surprises === 0 ? 'Every verdict is the expected one.' : `Not expected: ${surprises}.`
    }`,
    zh: `${entries.length} 个算法，${found.length} 种环境：共 ${runs} 种交错，归并为 ${states} 个状态。${
      surprises === 0 ? '所有结论都与预期一致。' : `出乎意料的结论：${surprises} 个。`
    }`,
  };
}

function navigation(entries: readonly GalleryEntry[], hasStampede: boolean): Html {
  const items = entries.map(({ recipe: { name }, explorations }) => {
    const lines = explorations.map(
      (found) =>
        html`<li><a href="#${name}-${found.variant.name}">${found.variant.name}</a> ${verdictMark(found)}</li>`,
    );
    return html`<li><a class="recipe-link" href="#${name}"><code>${name}</code></a><ul>${lines}</ul></li>`;
  });
  return html`
<nav aria-label="Recipes, 算法">
  <details class="index" open>
    <summary>${both({ en: 'Recipes and verdicts', zh: '算法与结论' })}</summary>
    <ul>${items}${hasStampede ? STAMPEDE_LINK : html``}<li><a class="recipe-link" href="#claims">${both(CLAIMS_TITLE)}</a></li></ul>
  </details>
</nav>`;
}

const STAMPEDE_LINK = html`<li><a class="recipe-link" href="#stampede">${both({ en: 'The cache stampede', zh: '缓存击穿' })}</a></li>`;

function footerText(version: string): Text {
  return {
    en: `Made by holdfast ${version}: holdfast lab report. To step through a schedule in a terminal: holdfast lab replay.`,
    zh: `由 holdfast ${version} 的 holdfast lab report 生成。在终端逐步重放：holdfast lab replay。`,
  };
}
