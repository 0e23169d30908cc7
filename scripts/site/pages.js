// The pages of the site: README and docs/ from Markdown, and the files of the repository that they link to.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { escapeHtml, renderMarkdown } from './markdown.js';

/**
 * Returns the pages, and the groups of the navigation. A page is
 * `{ source, path, title, html, sections, language, twin }`, where `twin` is the same page in the other language.
 */
export function readPages(root) {
  const documents = [
    'README.md',
    'README.zh-CN.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    ...filesBelow(root, 'docs').filter((path) => path.endsWith('.md')),
  ];
  const paths = new Map(documents.map((source) => [source, pathOf(source)]));
  const linked = new Set();
  const pages = documents.map((source) => {
    const rewrite = (href) => rewriteLink(root, source, href, paths, linked);
    const text = readFileSync(join(root, source), 'utf8');
    return {
      source,
      path: paths.get(source),
      ...renderMarkdown(text, rewrite),
      ...languageOf(source, paths),
    };
  });
  const sources = [...linked].map((source) => sourcePage(root, source));
  const lists = foldersOf(root, documents).map((folder) => listPage(folder, pages));
  return { pages: [...pages, ...sources, ...lists], groups: groupsOf(root, paths) };
}

function filesBelow(root, folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((path) => statSync(join(root, path)).isFile())
    .sort();
}

/** README is the index of its folder. */
function pathOf(source) {
  return source.replace(/README((?:\.zh-CN)?)\.md$/, 'index$1.html').replace(/\.md$/, '.html');
}

function languageOf(source, paths) {
  const isChinese = source.endsWith('.zh-CN.md');
  const other = isChinese
    ? source.replace('.zh-CN.md', '.md')
    : source.replace(/\.md$/, '.zh-CN.md');
  return { language: isChinese ? 'zh-CN' : 'en', twin: paths.get(other) };
}

/** A link to a document, to the lab or to a file of the repository, relative to the page. */
function rewriteLink(root, source, href, paths, linked) {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [target, anchor] = href.split(/(?=#)/, 2);
  const file = posix.normalize(posix.join(dirname(source), target)).replace(/\/$/, '');
  const from = dirname(paths.get(source));
  const to = (path) => `${posix.relative(from, path) || posix.basename(path)}${anchor ?? ''}`;
  if (paths.has(file)) return to(paths.get(file));
  if (file === 'web/learn/index.html') return to('learn/index.html');
  if (!existsSync(join(root, file)))
    throw new Error(`${source} links to ${href}, which is not there`);
  if (
    statSync(join(root, file)).isDirectory() &&
    [...paths.keys()].some((each) => each.startsWith(`${file}/`))
  ) {
    return to(`${file}/index.html`);
  }
  linked.add(file);
  return to(sourcePath(file));
}

function sourcePath(file) {
  return `source/${file}.html`;
}

/** A file of the repository, or the list of a folder's files. */
function sourcePage(root, file) {
  const path = sourcePath(file);
  const isFolder = statSync(join(root, file)).isDirectory();
  const text = isFolder
    ? readdirSync(join(root, file)).join('\n')
    : readFileSync(join(root, file), 'utf8');
  const html = `<h1><code>${escapeHtml(file)}</code></h1>\n<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
  return { source: file, path, title: file, html, sections: [], ids: [], language: 'en' };
}

/** Folders of docs/ without a README. */
function foldersOf(root, documents) {
  const folders = new Set(documents.map((path) => dirname(path)));
  return [...folders].filter(
    (folder) => folder !== '.' && !existsSync(join(root, folder, 'README.md')),
  );
}

function listPage(folder, pages) {
  const own = pages.filter(({ source }) => dirname(source) === folder);
  const items = own.map(
    ({ path, title }) => `<li><a href="${posix.basename(path)}">${escapeHtml(title)}</a></li>`,
  );
  const html = `<h1>${escapeHtml(folder)}</h1>\n<ul>${items.join('\n')}</ul>`;
  return {
    source: folder,
    path: `${folder}/index.html`,
    title: folder,
    html,
    sections: [],
    ids: [],
    language: 'en',
  };
}

/** The groups of the navigation are the sections of docs/README.md. */
function groupsOf(root, paths) {
  const text = readFileSync(join(root, 'docs/README.md'), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n', 1)[0],
      paths: [...section.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(
        ([, file]) => paths.get(`docs/${file}`) ?? `docs/${file}index.html`,
      ),
    }));
}
