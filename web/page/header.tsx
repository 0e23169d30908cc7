import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Name } from './marks.tsx';
import type { PageModel } from './model.ts';
import { type Route, VIEWS, type View } from './routes.ts';
import type { Settings, Theme } from './settings.ts';
import { type Language, numberText, type TextKey, t } from './texts.ts';

interface HeaderProps {
  readonly model: PageModel;
  readonly route: Route;
  readonly settings: Settings;
  readonly onSettings: (settings: Settings) => void;
}

/** The name of the page, the store that it shows, the switches, and the navigation. */
export function Header({ model, route, settings, onSettings }: HeaderProps): VNode {
  const current = route.view === 'lock' ? 'locks' : route.view;
  const list = useRef<HTMLUListElement>(null);
  // On a narrow screen the navigation scrolls.
  useEffect(() => {
    const link = list.current?.querySelector('[aria-current]');
    link?.scrollIntoView({ inline: 'center', block: 'nearest' });
  }, [current]);
  return (
    <header>
      <div class="brand">
        <a class="wordmark" href="#/locks">
          <Anchor />
          <span>Holdfast</span>
        </a>
        <p class="source">
          <ConnectionMark model={model} />
          {model.source !== null && (
            <code>
              <Name text={model.source.label} />
            </code>
          )}
        </p>
        <div class="switches">
          <Switch
            label={t('language')}
            options={LANGUAGES}
            value={settings.language}
            onChange={(language) => onSettings({ ...settings, language })}
          />
          <Switch
            label={t('theme')}
            options={THEMES.map(([theme, key, icon]) => [theme, icon, t(key)])}
            value={settings.theme}
            onChange={(theme) => onSettings({ ...settings, theme })}
          />
        </div>
      </div>
      <nav aria-label={t('views')}>
        <ul ref={list}>
          {VIEWS.filter((view) => view !== 'server' || model.source?.hasServer !== false).map(
            (view) => (
              <li key={view}>
                <a href={`#/${view}`} aria-current={view === current ? 'page' : undefined}>
                  {t(view)} {badgeOf(view, model)}
                </a>
              </li>
            ),
          )}
        </ul>
      </nav>
    </header>
  );
}

const LANGUAGES: readonly Option<Language>[] = [
  ['en', 'EN', 'English'],
  ['zh', '中文', '中文'],
];

function stroke(path: string): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

const THEMES: readonly (readonly [Theme, TextKey, VNode])[] = [
  ['system', 'themeSystem', stroke('M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16')],
  [
    'light',
    'themeLight',
    stroke(
      'M12 8a4 4 0 1 0 0 8a4 4 0 0 0 0-8M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400',
    ),
  ],
  ['dark', 'themeDark', stroke('M19.500 14.500A8 8 0 1 1 9.500 4.500a6.500 6.500 0 0 0 10 10z')],
];

/** Value, what is shown, and its name for those who do not see it. */
type Option<T> = readonly [T, VNode | string, string];

interface SwitchProps<T> {
  readonly label: string;
  readonly options: readonly Option<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

function Switch<T extends string>({ label, options, value, onChange }: SwitchProps<T>): VNode {
  return (
    <fieldset class="switch" aria-label={label}>
      {options.map(([option, content, name]) => (
        <button
          key={option}
          type="button"
          title={name}
          aria-label={typeof content === 'string' ? undefined : name}
          aria-pressed={option === value}
          onClick={() => onChange(option)}
        >
          {content}
        </button>
      ))}
    </fieldset>
  );
}

function badgeOf(view: View, model: PageModel): VNode | null {
  if (view !== 'locks' || !model.hasLocks) return null;
  return <span class="badge">{numberText(model.locks.size)}</span>;
}

function ConnectionMark({ model }: { model: PageModel }): VNode {
  const [kind, key] = connectionOf(model);
  return (
    <span class={`connection ${kind}`}>
      <i aria-hidden="true" />
      {t(key)}
    </span>
  );
}

function connectionOf(model: PageModel): readonly ['good' | 'fault' | 'bad', TextKey] {
  if (model.connection === 'refused') return ['bad', 'stateRefused'];
  if (model.connection === 'reconnecting') return ['fault', 'stateReconnecting'];
  if (model.failed !== null) return ['bad', 'stateFailed'];
  if (model.connection === 'connecting') return ['fault', 'stateConnecting'];
  return ['good', 'stateOpen'];
}

function Anchor(): VNode {
  return (
    <svg class="anchor" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="4.600" r="2.600" />
      <path d="M12 7.200V21M7.500 11h9M3.500 13.500C3.500 18 7 21 12 21s8.500-3 8.500-7.500" />
    </svg>
  );
}
