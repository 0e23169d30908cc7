import { type Language, setLanguage } from './texts.ts';

export type Theme = 'system' | 'light' | 'dark';

/** What a reader chooses. Kept in the browser. */
export interface Settings {
  readonly language: Language;
  readonly theme: Theme;
}

const KEY = 'holdfast-page';

export function readSettings(): Settings {
  const { language, theme } = readSaved();
  const preferred = navigator.language.startsWith('zh') ? 'zh' : 'en';
  return {
    language: language === 'en' || language === 'zh' ? language : preferred,
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
  };
}

export function saveSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Storage may be off or full. The choice then lasts until the page is closed.
  }
}

export function applySettings({ language, theme }: Settings): void {
  setLanguage(language);
  const { documentElement: root } = document;
  root.lang = language === 'zh' ? 'zh-CN' : 'en';
  if (theme === 'system') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', theme);
}

function readSaved(): { language?: unknown; theme?: unknown } {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {};
  } catch {
    return {};
  }
}
