import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Header } from './header.tsx';
import { Rich } from './marks.tsx';
import type { PageModel } from './model.ts';
import { type Route, readRoute } from './routes.ts';
import type { Settings } from './settings.ts';
import { type TextKey, t } from './texts.ts';
import { clockText } from './time-text.ts';
import { ClientsView } from './views/clients.tsx';
import { ContentionView } from './views/contention.tsx';
import { LockView } from './views/lock.tsx';
import { LocksView } from './views/locks.tsx';
import { LossesView } from './views/losses.tsx';
import { ServerView } from './views/server.tsx';
import { WaitsView } from './views/waits.tsx';
import { visibleText } from './visible-text.ts';

interface AppProps {
  readonly model: PageModel;
  readonly settings: Settings;
  readonly onSettings: (settings: Settings) => void;
}

/** The whole page, drawn anew with each frame in which something has changed. */
export function App({ model, settings, onSettings }: AppProps): VNode {
  const route = readRoute(location.hash);
  const main = useRef<HTMLElement>(null);
  const place = route.view === 'lock' ? `lock ${route.id}` : route.view;
  const shown = useRef(place);
  const locksTop = useRef(0);
  useEffect(() => {
    const note = () => {
      if (shown.current === 'locks') locksTop.current = scrollY;
    };
    addEventListener('scroll', note, { passive: true });
    return () => removeEventListener('scroll', note);
  }, []);
  // Before the browser notices that another view is shorter, and scrolls up.
  useLayoutEffect(() => {
    if (shown.current === place) return;
    shown.current = place;
    // A reader who looks at one lock after the other stays at the same place of the list.
    scrollTo(0, place === 'locks' ? locksTop.current : 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);
  const title = t(route.view === 'lock' ? 'locks' : route.view);
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {t('skip')}
      </button>
      <Header model={model} route={route} settings={settings} onSettings={onSettings} />
      <main ref={main} tabIndex={-1} class={model.isStale ? 'stale' : ''}>
        <Banners model={model} route={route} />
        <ViewOf model={model} route={route} />
      </main>
      <footer>
        {model.source !== null && t('foot', { version: visibleText(model.source.version) })}
      </footer>
    </>
  );
}

function ViewOf({ model, route }: { model: PageModel; route: Route }): VNode | null {
  if (!model.hasLocks) {
    if (model.failed !== null || model.connection === 'refused') return null;
    return <p class="connecting">{t('connecting')}</p>;
  }
  switch (route.view) {
    case 'locks':
      return <LocksView model={model} text={route.text} />;
    case 'lock':
      return <LockView key={route.id} model={model} id={route.id} />;
    case 'waits':
      return <WaitsView model={model} />;
    case 'contention':
      return <ContentionView model={model} />;
    case 'losses':
      return <LossesView model={model} />;
    case 'clients':
      return <ClientsView model={model} />;
    case 'server':
      return <ServerView model={model} />;
  }
}

/** Views that show events, and so depend on the history. */
const OF_HISTORY: ReadonlySet<Route['view']> = new Set(['lock', 'contention', 'losses']);

/** What the reader must know before reading the view. A screen reader speaks those about the connection. */
function Banners({ model, route }: { model: PageModel; route: Route }): VNode {
  const time = clockText(model.nowMs());
  const alerts: [TextKey, string][] = [];
  if (model.connection === 'refused') alerts.push(['refused', t('refused')]);
  else if (model.connection === 'reconnecting') {
    alerts.push(['reconnecting', t('reconnecting', { time })]);
  } else if (model.failed !== null) {
    const message = visibleText(model.failed.replace(/\.$/, ''));
    alerts.push(['failed', t('failed', { message, time })]);
  }
  const notes: string[] = [];
  if (model.isCut) notes.push(t('cut'));
  if (OF_HISTORY.has(route.view)) {
    if (model.source?.history === 'process') notes.push(t('historyProcess'));
    if (model.source?.history === 'none') notes.push(t('historyNone'));
    if (model.missed > 0) notes.push(t('missed', { n: model.missed }));
  }
  return (
    <>
      <div role="status">
        {alerts.map(([key, text]) => (
          <p key={key} class="banner alert">
            <Rich text={text} />
          </p>
        ))}
      </div>
      {notes.map((text) => (
        <p key={text} class="banner">
          <Rich text={text} />
        </p>
      ))}
    </>
  );
}
