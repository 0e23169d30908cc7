import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Text } from '../../src/lab/index.ts';

export type Language = keyof Text;
export type Theme = 'light' | 'dark' | null;

export const LanguageContext = createContext<Language>('en');

/** Returns the text of a pair in the language of the page. */
export function useText(): (text: Text) => string {
  const language = useContext(LanguageContext);
  return (text) => text[language];
}

/** The language of the page, remembered; at first that of the browser. */
export function useLanguage(): [Language, (language: Language) => void] {
  const [language, setLanguage] = useState<Language>(() => {
    const kept = read('language');
    if (kept === 'en' || kept === 'zh') return kept;
    return navigator.language.startsWith('zh') ? 'zh' : 'en';
  });
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  }, [language]);
  return [
    language,
    (next) => {
      keep('language', next);
      setLanguage(next);
    },
  ];
}

/** The theme, remembered; null follows the system. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const kept = read('theme');
    return kept === 'light' || kept === 'dark' ? kept : null;
  });
  useEffect(() => {
    const root = document.documentElement;
    if (theme === null) root.removeAttribute('data-theme');
    else root.setAttribute('data-theme', theme);
  }, [theme]);
  return [
    theme,
    (next) => {
      keep('theme', next ?? '');
      setTheme(next);
    },
  ];
}

/** Storage may be forbidden: then the page forgets. */
function read(name: string): string | null {
  try {
    return localStorage.getItem(`holdfast-${name}`);
  } catch {
    return null;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`holdfast-${name}`, value);
  } catch {
    // Forbidden.
  }
}
