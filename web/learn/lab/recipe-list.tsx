import catalog from 'virtual:catalog';
import { FindingMark } from '../parts/marks.tsx';
import { useText } from '../preferences.ts';

/** All recipes and their variants with their verdicts. */
export function RecipeList({
  recipe,
  variant,
}: {
  readonly recipe: string;
  readonly variant: string;
}) {
  const text = useText();
  return (
    <nav class="recipes" aria-label={text({ en: 'Recipes', zh: '算法' })}>
      <details open={matchMedia('(min-width: 72rem)').matches}>
        <summary>{text({ en: 'All recipes', zh: '全部算法' })}</summary>
        <ul>
          {catalog.recipes.map(({ name, variants }) => (
            <li key={name}>
              <a class="recipe-link" href={`#/recipe/${name}`}>
                {name}
              </a>
              {name === recipe && (
                <ul>
                  {variants.map((each) => (
                    <li key={each.name}>
                      <a
                        href={`#/recipe/${name}/${each.name}`}
                        aria-current={each.name === variant ? 'page' : undefined}
                      >
                        {each.name}
                      </a>
                      <FindingMark finding={each.finding} />
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </details>
    </nav>
  );
}
