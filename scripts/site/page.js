// One page of the site: the navigation, the content, and the table of its sections.
import { dirname, posix } from 'node:path';
import { escapeHtml } from './markdown.js';

export function renderPage(page, pages, groups) {
  const isChinese = page.language === 'zh-CN';
  const text = (en, zh) => (isChinese ? zh : en);
  const to = (path) => posix.relative(dirname(page.path), path) || posix.basename(path);
  const titles = new Map(pages.map(({ path, title }) => [path, title]));
  const home = isChinese ? 'index.zh-CN.html' : 'index.html';
  return `<!doctype html>
<html lang="${page.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title === 'Holdfast' ? 'Holdfast' : `${page.title} · Holdfast`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('assets/theme.css')}">
<link rel="stylesheet" href="${to('assets/site.css')}">
<script type="module" src="${to('assets/site.js')}"></script>
</head>
<body data-root="${to('index.html').replace(/index\.html$/, '')}">
<a class="skip" href="#content">${text('To the content', '跳到正文')}</a>
<header class="top">
  <a class="brand" href="${to(home)}">Holdfast</a>
  <nav class="places" aria-label="${text('Site', '站点')}">
    <a href="${to('docs/index.html')}">${text('Docs', '文档')}</a>
    <a href="${to('learn/index.html')}#/">${text('The lab', '锁实验室')}</a>
    <a href="${to('learn/index.html')}#/tutorial/1">${text('Tutorial', '教程')}</a>
  </nav>
  <div class="settings">
    <button type="button" id="search-open" hidden>${text('Search', '搜索')} <kbd>/</kbd></button>
    ${page.twin === undefined ? '' : `<a class="button" href="${to(page.twin)}" lang="${isChinese ? 'en' : 'zh-CN'}">${isChinese ? 'English' : '中文'}</a>`}
    <button type="button" id="theme" aria-label="${text('Light or dark', '切换明暗')}" hidden>◐</button>
  </div>
</header>
<dialog id="search" aria-label="${text('Search', '搜索')}">
  <input type="search" aria-label="${text('Words', '关键词')}" autocomplete="off" spellcheck="false">
  <ol id="results" aria-live="polite"></ol>
</dialog>
<div class="columns">
<nav class="pages" aria-label="${text('Pages', '页面')}"><details><summary>${text('All pages', '全部页面')}</summary>
${groups.map((group) => navigation(group, page, titles, to)).join('\n')}
</details></nav>
<main id="content" tabindex="-1">
${page.html}
</main>
</div>
</body>
</html>
`;
}

function navigation({ title, paths }, page, titles, to) {
  const items = paths.map((path) => {
    const current = path === page.path ? ' aria-current="page"' : '';
    return `<li><a href="${to(path)}"${current}>${escapeHtml(titles.get(path) ?? path)}</a></li>`;
  });
  return `<p class="group">${escapeHtml(title)}</p><ul>${items.join('')}</ul>`;
}
