import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageLock, PageLockKind, SourceFacts } from '../../../src/page/protocol.ts';
import { useSettled } from '../hooks.ts';
import { countKinds, type LockColumn, type LockQuery, rowsOf } from '../lock-rows.ts';
import { LockTable } from '../lock-table.tsx';
import { Empty, Head } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { locksHash } from '../routes.ts';
import { numberText, type TextKey, t } from '../texts.ts';
import { durationText } from '../time-text.ts';
import { visibleText } from '../visible-text.ts';

/** The live list of all locks. */
export function LocksView({ model, text }: { model: PageModel; text: string }): VNode {
  const [kind, setKind] = useState<PageLockKind | null>(null);
  const [order, setOrder] = useState(DEFAULT_ORDER);
  const query: LockQuery = { text, kind, ...order };
  const rows = useSettled<PageLock[]>(model, JSON.stringify(query), (before) =>
    rowsOf(model.locks, query, before),
  );
  const setText = (to: string) => {
    history.replaceState(null, '', locksHash(to));
    dispatchEvent(new HashChangeEvent('hashchange'));
  };
  const sort = (column: LockColumn) =>
    setOrder((before) => ({
      column,
      isDescending: before.column === column ? !before.isDescending : DESCENDS.has(column),
    }));
  return (
    <>
      <Head title={t('locks')} />
      <Figures model={model} />
      <Filters model={model} text={text} kind={kind} onText={setText} onKind={setKind} />
      {model.locks.size === 0 && rows.length === 0 ? (
        <NoLocks source={model.source} />
      ) : rows.length === 0 ? (
        <Empty title={t('noMatch')}>
          <button
            type="button"
            class="plain-button"
            onClick={() => {
              setKind(null);
              setText('');
            }}
          >
            {t('clearFilter')}
          </button>
        </Empty>
      ) : (
        <LockTable model={model} rows={rows} order={order} onSort={sort} />
      )}
    </>
  );
}

const DEFAULT_ORDER: Pick<LockQuery, 'column' | 'isDescending'> = {
  column: 'waiters',
  isDescending: true,
};
/** Columns whose large values come first at the first click. */
const DESCENDS: ReadonlySet<LockColumn> = new Set(['waiters', 'held', 'fence']);
const KINDS: readonly PageLockKind[] = ['mutex', 'semaphore', 'rw'];

function NoLocks({ source }: { source: SourceFacts | null }): VNode {
  // No command reaches the locks of a program that shows its own.
  if (source === null || source.history === 'process') return <Empty title={t('emptyLocks')} />;
  return (
    <Empty title={t('emptyLocks')}>
      <p>{t('emptyLocksHow')}</p>
      <pre>
        <code>npx holdfast run {storeOption(source.label)}demo -- sleep 30</code>
      </pre>
      <p class="soft">{t('emptyLocksThen')}</p>
    </Empty>
  );
}

/** Without the option, `run` uses the local server of the user, whose label is `local`. */
function storeOption(label: string): string {
  if (label === 'local') return '';
  if (label.includes('://')) return `--store ${visibleText(label)} `;
  return `--store ${label.startsWith('/') ? 'unix:' : 'redis://'}${visibleText(label)} `;
}

/** Four figures about all locks. */
function Figures({ model }: { model: PageModel }): VNode {
  const { waiting, oldestMs } = useSettled(model, '', () => summaryOf(model));
  const longest =
    waiting === 0
      ? t('figureNone')
      : oldestMs === null
        ? t('unknown')
        : durationText(model.nowMs() - oldestMs);
  const figures: [TextKey, string, string][] = [
    ['figureHeld', numberText(model.locks.size), ''],
    ['figureWaiting', numberText(waiting), ''],
    ['figureLongest', longest, ''],
  ];
  if (model.contention !== null) {
    const lost = Object.values(model.contention.losses).reduce((sum, count) => sum + count, 0);
    figures.push(['figureLost', numberText(lost), lost > 0 ? 'bad' : '']);
  }
  return (
    <dl class="figures">
      {figures.map(([key, value, className]) => (
        <div key={key}>
          <dt>{t(key)}</dt>
          <dd class={className}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function summaryOf(model: PageModel): { waiting: number; oldestMs: number | null } {
  let waiting = 0;
  let oldestMs: number | null = null;
  for (const { waiterCount, waiters } of model.locks.values()) {
    waiting += waiterCount;
    for (const { sinceMs } of waiters) {
      if (sinceMs !== null && (oldestMs === null || sinceMs < oldestMs)) oldestMs = sinceMs;
    }
  }
  return { waiting, oldestMs };
}

interface FiltersProps {
  readonly model: PageModel;
  readonly text: string;
  readonly kind: PageLockKind | null;
  readonly onText: (text: string) => void;
  readonly onKind: (kind: PageLockKind | null) => void;
}

function Filters({ model, text, kind, onText, onKind }: FiltersProps): VNode {
  const input = useRef<HTMLInputElement>(null);
  const counts = useSettled(model, '', () => countKinds(model.locks.values()));
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement;
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isTyping) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  return (
    <search class="filters">
      <input
        ref={input}
        type="search"
        value={text}
        placeholder={t('filter')}
        aria-label={t('filter')}
        title={t('filterHint')}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <fieldset class="chips" aria-label={t('kinds')}>
        {[null, ...KINDS].map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={kind === each}
            onClick={() => onKind(each)}
          >
            {t(each ?? 'kindAll')}{' '}
            <span class="count">{numberText(each === null ? model.locks.size : counts[each])}</span>
          </button>
        ))}
      </fieldset>
    </search>
  );
}
