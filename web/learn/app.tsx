import { useEffect } from 'preact/hooks';
import { EditView } from './lab/edit-view.tsx';
import { RecipeView } from './lab/recipe-view.tsx';
import { Header } from './parts/header.tsx';
import { LanguageContext, useLanguage, useTheme } from './preferences.ts';
import { type Route, useRoute } from './route.ts';
import { StartView } from './start-view.tsx';
import { TutorialView } from './tutorial/tutorial-view.tsx';

export function App() {
  const route = useRoute();
  const [language, setLanguage] = useLanguage();
  const [theme, setTheme] = useTheme();
  const page = pageOf(route);
  useEffect(() => {
    scrollTo(0, 0);
  }, [page]);
  useEffect(() => {
    document.title = `Holdfast: ${TITLES[route.view][language]}${route.view === 'recipe' ? ` ${route.recipe}` : ''}`;
  }, [page, language]);
  return (
    <LanguageContext.Provider value={language}>
      <Header
        view={route.view}
        language={language}
        onLanguage={setLanguage}
        theme={theme}
        onTheme={setTheme}
      />
      <main id="content" tabIndex={-1}>
        <View key={page} route={route} />
      </main>
    </LanguageContext.Provider>
  );
}

const TITLES: Record<Route['view'], Record<'en' | 'zh', string>> = {
  start: { en: 'the lab', zh: '锁实验室' },
  recipe: { en: 'the lab', zh: '锁实验室' },
  edit: { en: 'break it yourself', zh: '亲手弄坏它' },
  tutorial: { en: 'from SETNX to a lock that holds', zh: '从 SETNX 到一把靠得住的锁' },
};

function View({ route }: { readonly route: Route }) {
  switch (route.view) {
    case 'recipe':
      return <RecipeView route={route} />;
    case 'edit':
      return <EditView route={route} />;
    case 'tutorial':
      return <TutorialView step={route.step} />;
    case 'start':
      return <StartView />;
  }
}

/** Steps of one run are one page. */
function pageOf(route: Route): string {
  if (route.view === 'recipe') return `recipe ${route.recipe} ${route.variant}`;
  return route.view === 'tutorial' ? `tutorial ${route.step}` : route.view;
}
