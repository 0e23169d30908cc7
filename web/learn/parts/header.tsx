import type { Text } from '../../../src/lab/index.ts';
import { type Language, type Theme, useText } from '../preferences.ts';
import type { Route } from '../route.ts';

interface HeaderProps {
  readonly view: Route['view'];
  readonly language: Language;
  readonly onLanguage: (language: Language) => void;
  readonly theme: Theme;
  readonly onTheme: (theme: Theme) => void;
}

/** The name, the parts of the page, language and theme. */
export function Header({ view, language, onLanguage, theme, onTheme }: HeaderProps) {
  const text = useText();
  return (
    <header class="top">
      <button type="button" class="skip" onClick={skip}>
        {text({ en: 'To the content', zh: '跳到正文' })}
      </button>
      <a class="brand" href="#/">
        Holdfast <span class="brand-part">{text(LAB)}</span>
      </a>
      <nav class="places" aria-label={text({ en: 'Parts', zh: '栏目' })}>
        {PLACES.map(({ views, href, title }) => (
          <a key={href} href={href} aria-current={views.includes(view) ? 'page' : undefined}>
            {text(title)}
          </a>
        ))}
        {__SITE__ && <a href="../index.html">{text({ en: 'Docs', zh: '文档' })}</a>}
      </nav>
      <div class="settings">
        <button
          type="button"
          lang={language === 'en' ? 'zh-CN' : 'en'}
          onClick={() => onLanguage(language === 'en' ? 'zh' : 'en')}
        >
          {language === 'en' ? '中文' : 'English'}
        </button>
        <button type="button" aria-label={text(THEME)} onClick={() => onTheme(otherTheme(theme))}>
          <span aria-hidden="true">◐</span>
        </button>
      </div>
    </header>
  );
}

const LAB: Text = { en: 'the lab', zh: '锁实验室' };
const THEME: Text = { en: 'Light or dark', zh: '切换明暗' };

const PLACES: readonly {
  readonly views: readonly Route['view'][];
  readonly href: string;
  readonly title: Text;
}[] = [
  { views: ['start', 'recipe'], href: '#/', title: { en: 'Recipes', zh: '算法' } },
  { views: ['edit'], href: '#/edit', title: { en: 'Break it yourself', zh: '亲手弄坏它' } },
  { views: ['tutorial'], href: '#/tutorial/1', title: { en: 'Tutorial', zh: '教程' } },
];

function otherTheme(theme: Theme): Theme {
  const isDark =
    theme === null ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  return isDark ? 'light' : 'dark';
}

/** Not a link: the hash names the view. */
function skip(): void {
  document.getElementById('content')?.focus();
}
