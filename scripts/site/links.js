// Checks that every link of the site leads to a file of it, and every anchor to an element of that file.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { RECIPES } from '../../build/lab/index.js';

/** Returns a line for each link that leads nowhere. */
export async function brokenLinks(site) {
  const files = readdirSync(site, { recursive: true })
    .map((path) => join(site, path))
    .filter((path) => statSync(path).isFile() && path.endsWith('.html'));
  const ids = new Map(files.map((file) => [file, idsOf(file)]));
  return files.flatMap((file) =>
    [...linksOf(file), ...linksInScripts(site, file)]
      .filter((link) => !isFine(site, file, link, ids))
      .map((link) => `${relative(site, file)}: ${link}`),
  );
}

function idsOf(file) {
  return new Set(
    [...readFileSync(file, 'utf8').matchAll(/ id="([^"]+)"/g)].map(([, id]) => unescaped(id)),
  );
}

function linksOf(file) {
  const links = [...readFileSync(file, 'utf8').matchAll(/ (?:href|src)="([^"]*)"/g)].map(
    ([, link]) => unescaped(link),
  );
  return links.filter((link) => !/^(?:https?:|mailto:|data:)/.test(link));
}

/** The links to docs in the tutorial, whose text is in the script of the lab. */
function linksInScripts(site, file) {
  if (file !== join(site, 'learn', 'index.html')) return [];
  const folder = join(site, 'learn', 'assets');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .flatMap(
      (name) => readFileSync(join(folder, name), 'utf8').match(/\.\.\/[\w./-]+\.html/g) ?? [],
    );
}

function isFine(site, file, link, ids) {
  if (link.startsWith('/')) return false;
  const [path, anchor] = link.split('#', 2);
  const target = path === '' ? file : join(dirname(file), decodeURIComponent(path));
  if (!existsSync(target) || statSync(target).isDirectory()) return false;
  if (anchor === undefined || anchor === '') return true;
  if (target === join(site, 'learn', 'index.html')) return isView(anchor);
  return ids.get(target)?.has(decodeURIComponent(anchor)) ?? false;
}

/** A view of the lab: `/recipe/<name>/<variant>/<step>`, `/tutorial/<step>`, `/edit` or `/`. */
function isView(anchor) {
  const [, view, name, variant] = anchor.split('/');
  if (view !== 'recipe') return ['', 'edit', 'tutorial'].includes(view);
  const recipe = RECIPES.find((each) => each.name === name);
  return recipe?.variants.some((each) => each.name === variant) ?? false;
}

function unescaped(text) {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
