// What the page knows at build time: recipes, checks, documents, pseudo-code, programs, claims, the tutorial.
// It comes from build/, which scripts/build.js has made.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { marked } from 'marked';
import type { Plugin } from 'vite';
import type { Recipe, Variant } from '../../src/lab/index.ts';
import type { Catalog } from './catalog-types.ts';
import { parseTutorial } from './tutorial/parse-tutorial.ts';
import type { RenderedTutorial } from './tutorial/tutorial-types.ts';

/**
 * Modules `virtual:catalog`, `virtual:claims`, `virtual:tutorial` and `virtual:run.css`. In the site the pages of docs/
 * are beside this one; elsewhere links to them become text.
 */
export function catalog(isSite: boolean): Plugin {
  hasDocs = isSite;
  return {
    name: 'catalog',
    resolveId: (id) => (id.startsWith('virtual:') ? `\0${id}` : undefined),
    load: (id) =>
      id.startsWith('\0virtual:') ? MODULES[id.slice('\0virtual:'.length)]!() : undefined,
  };
}

let hasDocs = false;

const root = join(import.meta.dirname, '..', '..');

const MODULES: Readonly<Record<string, () => Promise<string>>> = {
  catalog: async () => exported(await catalogData()),
  claims: async () => exported((await built('lab/report/claims/index.js')).CLAIMS),
  tutorial: async () =>
    exported({ en: tutorial('docs/tutorial.md'), zh: tutorial('docs/tutorial.zh-CN.md') }),
  'run.css': async () => (await built('lab/report/page-style.js')).RUN_STYLE,
};

async function catalogData(): Promise<Catalog> {
  const { RECIPES, CHECKS, DOCUMENTS } = await built('lab/index.js');
  const { PSEUDO_CODE } = await built('lab/report/pseudo-code.js');
  const { recipeText, isRunnable } = await built('lab/report/recipe-text.js');
  const { scriptsOf } = await built('lab/report/scripts.js');
  const { programsOf } = await built('lab/report/programs.js');
  const findings = JSON.parse(readFileSync(join(root, 'web/learn/findings.json'), 'utf8'));
  return {
    checks: CHECKS.map(({ name, about }: Catalog['checks'][number]) => ({ name, about })),
    documents: DOCUMENTS,
    recipes: RECIPES.map((recipe: Recipe) => ({
      name: recipe.name,
      about: recipe.about,
      source: recipe.source,
      isRunnable: isRunnable(recipe),
      scripts: [...scriptsOf(recipe)],
      programs: programsOf(recipe.name),
      variants: recipe.variants.map(({ name, about, unpromised = [] }: Variant) => ({
        name,
        about,
        unpromised,
        code: PSEUDO_CODE.get(`${recipe.name} ${name}`) ?? PSEUDO_CODE.get(recipe.name),
        text: isRunnable(recipe) ? recipeText(recipe, name) : '',
        finding: findings[`${recipe.name} ${name}`],
      })),
    })),
  };
}

function tutorial(path: string): RenderedTutorial {
  const { title, lead, steps } = parseTutorial(readFileSync(join(root, path), 'utf8'));
  return {
    title,
    lead: htmlOf(lead),
    steps: steps.map((step) => ({
      title: step.title,
      parts: step.parts.map((part) =>
        part.kind === 'prose' ? { kind: 'prose', html: htmlOf(part.markdown) } : part,
      ),
    })),
  };
}

/** Links into the lab stay in the page. */
function htmlOf(markdown: string): string {
  const html = marked.parse(markdown, { async: false });
  return html
    .replaceAll('href="../web/learn/index.html#', 'href="#')
    .replace(
      /<a href="([\w-]+)\.md">(.*?)<\/a>/gs,
      hasDocs ? '<a href="../docs/$1.html">$2</a>' : '$2',
    )
    .replaceAll('<pre>', '<pre tabindex="0">');
}

// biome-ignore lint/suspicious/noExplicitAny: a compiled module, whose types are those of src/
function built(path: string): Promise<any> {
  return import(pathToFileURL(join(root, 'build', path)).href);
}

function exported(data: unknown): string {
  return `export default ${JSON.stringify(data)};`;
}
