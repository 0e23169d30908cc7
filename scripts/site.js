// Builds site/: the docs, the tutorial and the lab as static files with relative URLs, and checks every link.
//   site/index.html          README.md
//   site/docs/               docs/, each page rendered
//   site/source/             files of the repository that the docs link to
//   site/learn/              the lab and the tutorial: web/learn
//   site/assets/             style, script and the index of the search
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildLearn } from './build/learn.js';
import { brokenLinks } from './site/links.js';
import { renderPage } from './site/page.js';
import { readPages } from './site/pages.js';
import { searchIndex } from './site/search-index.js';

const root = join(import.meta.dirname, '..');
const site = process.argv[2] ?? join(root, 'site');

rmSync(site, { recursive: true, force: true });
const { pages, groups } = readPages(root);
for (const page of pages) write(page.path, renderPage(page, pages, groups));
write('assets/search.json', JSON.stringify(searchIndex(pages)));
for (const file of ['site.css', 'site.js']) copy(`web/site/${file}`, `assets/${file}`);
copy('web/theme.css', 'assets/theme.css');
for (const file of readdirSync(join(root, 'docs'))) {
  if (file.endsWith('.png')) copy(`docs/${file}`, `docs/${file}`);
}
await buildLearn(join(site, 'learn'), 'site');

const broken = await brokenLinks(site);
for (const line of broken) console.error(line);
console.log(`${site}: ${pages.length} pages, ${broken.length} broken links`);
process.exitCode = broken.length === 0 ? 0 : 1;

function write(path, text) {
  mkdirSync(dirname(join(site, path)), { recursive: true });
  writeFileSync(join(site, path), text);
}

function copy(from, to) {
  mkdirSync(dirname(join(site, to)), { recursive: true });
  cpSync(join(root, from), join(site, to));
}
