import catalog from 'virtual:catalog';
import { useMemo } from 'preact/hooks';
import type { Text } from '../../../src/lab/index.ts';
import type { CatalogRecipe, CatalogVariant } from '../catalog-types.ts';
import { Listing } from '../parts/listing.tsx';
import { FindingMark } from '../parts/marks.tsx';
import { useText } from '../preferences.ts';
import { moveTo, type Route, routeHash } from '../route.ts';
import { ClaimList } from './claim-list.tsx';
import type { RecipeSource } from './messages.ts';
import { RecipeList } from './recipe-list.tsx';
import { RunView } from './run-view.tsx';
import { SearchPanel } from './search-panel.tsx';
import { useRun } from './use-run.ts';

type RecipeRoute = Extract<Route, { view: 'recipe' }>;

/** A recipe of the gallery: what it is, the run that explains it, the search, and what the documents say. */
export function RecipeView({ route }: { readonly route: RecipeRoute }) {
  const text = useText();
  const recipe = catalog.recipes.find(({ name }) => name === route.recipe);
  const variant =
    route.variant === null
      ? recipe?.variants[0]
      : recipe?.variants.find(({ name }) => name === route.variant);
  if (recipe === undefined || variant === undefined) return <NotFound />;
  return (
    <div class="with-list">
      <RecipeList recipe={recipe.name} variant={variant.name} />
      <article class="recipe-page">
        <h1>
          <code>{recipe.name}</code>
        </h1>
        <p class="lead">{text(recipe.about)}</p>
        <VariantTabs recipe={recipe} variant={variant} />
        <RecipeRun recipe={recipe} variant={variant} route={route} />
        <Sources recipe={recipe} />
      </article>
    </div>
  );
}

function NotFound() {
  const text = useText();
  return (
    <div class="page">
      <h1>{text({ en: 'There is no such recipe', zh: '没有这个算法' })}</h1>
      <p>
        <a href="#/">{text({ en: 'All recipes', zh: '全部算法' })}</a>
      </p>
    </div>
  );
}

function VariantTabs({
  recipe,
  variant,
}: {
  readonly recipe: CatalogRecipe;
  readonly variant: CatalogVariant;
}) {
  const text = useText();
  return (
    <>
      <ul class="variants" aria-label={text({ en: 'Variants', zh: '变体' })}>
        {recipe.variants.map((each) => (
          <li key={each.name}>
            <a
              href={`#/recipe/${recipe.name}/${each.name}`}
              aria-current={each === variant ? 'true' : undefined}
            >
              <b>{each.name}</b> <FindingMark finding={each.finding} />
            </a>
          </li>
        ))}
      </ul>
      <p class="variant-about">{text(variant.about)}</p>
    </>
  );
}

interface RecipeRunProps {
  readonly recipe: CatalogRecipe;
  readonly variant: CatalogVariant;
  readonly route: RecipeRoute;
}

const NO_CHANGE = {};

function RecipeRun({ recipe, variant, route }: RecipeRunProps) {
  const text = useText();
  const source = useMemo<RecipeSource>(
    () => ({ kind: 'gallery', recipe: recipe.name, variant: variant.name }),
    [recipe.name, variant.name],
  );
  const schedule = route.schedule ?? variant.finding.schedule;
  const { run, fault } = useRun(source, NO_CHANGE, schedule);
  const go = (step: number, own: string | null): void =>
    moveTo({ view: 'recipe', recipe: recipe.name, variant: variant.name, step, schedule: own });
  const show = (chosen: string, step: number): void =>
    go(step, chosen === variant.finding.schedule ? null : chosen);
  const step = Math.min(route.step ?? run?.trace.length ?? 0, run?.trace.length ?? 0);
  return (
    <>
      <div class="desk-head">
        {route.schedule !== null && (
          <button type="button" onClick={() => go(0, null)}>
            ↺ {text({ en: 'Back to the run of the gallery', zh: '回到展示的运行' })}
          </button>
        )}
        {recipe.isRunnable && (
          <a
            class="button"
            href={routeHash({
              view: 'edit',
              text: variant.text,
              world: [],
              schedule: '',
              step: null,
            })}
          >
            ✎ {text({ en: 'Break it yourself', zh: '亲手弄坏它' })}
          </a>
        )}
        <code class="schedule-text">{schedule}</code>
      </div>
      {fault !== undefined && <p class="fault-message">{fault.message}</p>}
      {run === undefined ? (
        <p class="loading">{text({ en: 'The engine is loading…', zh: '正在加载引擎……' })}</p>
      ) : (
        <RunView
          source={source}
          world={NO_CHANGE}
          run={run}
          step={step}
          code={variant.code}
          onMove={(to) => go(to, route.schedule)}
          onSchedule={show}
        >
          {(marks) => (
            <>
              <Listing code={variant.code} marks={marks} label={text(CODE)} />
              <Programs recipe={recipe} />
            </>
          )}
        </RunView>
      )}
      <SearchPanel
        source={source}
        world={NO_CHANGE}
        showsFailure={false}
        onShow={(chosen) => show(chosen, 0)}
      />
    </>
  );
}

const CODE: Text = { en: 'Pseudo-code', zh: '伪代码' };

/** The scripts that the code names, and the same recipe in other languages. */
function Programs({ recipe }: { readonly recipe: CatalogRecipe }) {
  const all = [
    ...recipe.scripts.map(([title, code]) => ({ id: title, title: `<${title}>`, code })),
    ...recipe.programs,
  ];
  return (
    <div class="programs">
      {all.map(({ id, title, code }) => (
        <details key={id}>
          <summary>{title}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <pre tabIndex={0}>
            <code>{code}</code>
          </pre>
        </details>
      ))}
    </div>
  );
}

/** What the document says, in both languages. */
function Sources({ recipe }: { readonly recipe: CatalogRecipe }) {
  const text = useText();
  const { document, says } = recipe.source;
  return (
    <section class="sources" aria-labelledby="sources-title">
      <h2 id="sources-title">{text({ en: 'What the documents say', zh: '文档怎么说' })}</h2>
      <figure class="quotation">
        <blockquote lang="en">{says.en}</blockquote>
        <blockquote lang="zh-CN">{says.zh}</blockquote>
        <figcaption>
          <cite lang={document === 'manual' ? 'en' : 'zh-CN'}>
            {catalog.documents[document].title}
          </cite>
          : {text(catalog.documents[document].about)}
        </figcaption>
      </figure>
      <ClaimList recipe={recipe.name} />
    </section>
  );
}
