import type { VNode } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import type { PageHolder, PageLock } from '../../src/page/protocol.ts';
import { useMedia } from './hooks.ts';
import type { LockColumn, LockQuery } from './lock-rows.ts';
import { Client, Kind, LockLink } from './marks.tsx';
import type { PageModel } from './model.ts';
import { numberText, type TextKey, t } from './texts.ts';
import { durationText } from './time-text.ts';
import { windowOfRows } from './window-of-rows.ts';

interface LockTableProps {
  readonly model: PageModel;
  /** In order. They may be older than the model: each row shows the present state of its lock. */
  readonly rows: readonly PageLock[];
  readonly order: Pick<LockQuery, 'column' | 'isDescending'>;
  readonly onSort: (column: LockColumn) => void;
}

/** The heights of style.css: `.row`, and the same on a narrow screen. */
const ROW_PX = 44;
const NARROW_ROW_PX = 76;
const NARROW = '(max-width: 47.99rem)';

/**
 * A table of any number of rows: only those on the screen are elements. It scrolls with the page. It is made of `div`
 * with roles, as its rows are placed one by one and become cards on a narrow screen: table elements would lose theirs.
 */
export function LockTable({ model, rows, order, onSort }: LockTableProps): VNode {
  const body = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const wanted = useRef<number | undefined>(undefined);
  const rowPx = useMedia(NARROW) ? NARROW_ROW_PX : ROW_PX;
  useEffect(() => {
    // The first drawing had no place on the screen yet.
    redraw(0);
    const onMove = () => redraw(0);
    addEventListener('scroll', onMove, { passive: true });
    addEventListener('resize', onMove);
    return () => {
      removeEventListener('scroll', onMove);
      removeEventListener('resize', onMove);
    };
  }, []);
  useEffect(() => {
    if (wanted.current === undefined) return;
    const link = body.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"] a`);
    if (link == null) return;
    wanted.current = undefined;
    link.focus();
  });
  const topPx = body.current?.getBoundingClientRect().top ?? 0;
  const { first, end } = windowOfRows(rows.length, rowPx, topPx, innerHeight);
  const move = (event: KeyboardEvent) => {
    const row = (event.target as HTMLElement).closest('[data-row]');
    const at = Number(row?.getAttribute('data-row') ?? Number.NaN);
    const to = nextRow(event.key, at, rows.length);
    if (to === undefined) return;
    event.preventDefault();
    wanted.current = to;
    const rowTop = (body.current?.getBoundingClientRect().top ?? 0) + to * rowPx;
    const headPx = ROW_PX;
    if (rowTop < headPx) scrollBy(0, rowTop - headPx);
    else if (rowTop + rowPx > innerHeight) scrollBy(0, rowTop + rowPx - innerHeight);
    redraw(0);
  };
  return (
    <div class="locks" role="table" aria-label={t('locks')} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" class="row-head">
        <div role="row" class="row" aria-rowindex={1} data-label={t('sortBy')}>
          {COLUMNS.map(([column, key]) => (
            <ColumnHead key={column} column={column} text={t(key)} order={order} onSort={onSort} />
          ))}
        </div>
      </div>
      <div
        role="rowgroup"
        ref={body}
        class="row-body"
        style={{ height: `${rows.length * rowPx}px` }}
        onKeyDown={move}
      >
        {rows.slice(first, end).map((row, index) => (
          <LockRow
            key={row.id}
            model={model}
            lock={model.locks.get(row.id) ?? row}
            isFree={!model.locks.has(row.id)}
            index={first + index}
            topPx={(first + index) * rowPx}
          />
        ))}
      </div>
      <p class="aside">{t('shownLocks', { n: rows.length })}</p>
    </div>
  );
}

const COLUMNS: readonly (readonly [LockColumn, TextKey])[] = [
  ['name', 'columnName'],
  ['kind', 'columnKind'],
  ['holder', 'columnHolder'],
  ['held', 'columnHeld'],
  ['left', 'columnLeft'],
  ['fence', 'columnFence'],
  ['waiters', 'columnWaiters'],
];

const PAGE_ROWS = 12;

function nextRow(key: string, at: number, count: number): number | undefined {
  const targets = new Map([
    ['ArrowDown', at + 1],
    ['ArrowUp', at - 1],
    ['PageDown', at + PAGE_ROWS],
    ['PageUp', at - PAGE_ROWS],
    ['Home', 0],
    ['End', count - 1],
  ]);
  const to = targets.get(key);
  return to === undefined || Number.isNaN(to) ? undefined : Math.min(Math.max(to, 0), count - 1);
}

interface ColumnHeadProps {
  readonly column: LockColumn;
  readonly text: string;
  readonly order: LockTableProps['order'];
  readonly onSort: (column: LockColumn) => void;
}

function ColumnHead({ column, text, order, onSort }: ColumnHeadProps): VNode {
  const isSorted = order.column === column;
  const direction = order.isDescending ? 'descending' : 'ascending';
  return (
    <div role="columnheader" class={`cell ${column}`} aria-sort={isSorted ? direction : 'none'}>
      <button type="button" onClick={() => onSort(column)}>
        {text}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (order.isDescending ? '↓' : '↑') : ''}
        </span>
      </button>
    </div>
  );
}

interface LockRowProps {
  readonly model: PageModel;
  readonly lock: PageLock;
  readonly isFree: boolean;
  readonly index: number;
  readonly topPx: number;
}

function LockRow({ model, lock, isFree, index, topPx }: LockRowProps): VNode {
  const holder = lock.holders[0];
  const nowMs = model.nowMs();
  return (
    <div
      role="row"
      class={isFree ? 'row gone' : 'row'}
      aria-rowindex={index + 2}
      data-row={index}
      style={{ transform: `translateY(${topPx}px)` }}
    >
      <div role="cell" class="cell name">
        <LockLink id={lock.id} name={lock.name} />
      </div>
      <div role="cell" class="cell kind">
        <Kind kind={lock.kind} />
      </div>
      <div role="cell" class="cell holder">
        {isFree ? (
          <span class="soft">{t('free')}</span>
        ) : (
          <HolderCell holder={holder} others={lock.holderCount - 1} />
        )}
      </div>
      <div role="cell" class="cell held number" data-label={t('heldShort')}>
        {!isFree && holder?.sinceMs != null ? durationText(nowMs - holder.sinceMs) : ''}
      </div>
      <div
        role="cell"
        class={`cell left number ${isSoon(holder, nowMs) ? 'fault' : ''}`}
        data-label={isRunning(holder, nowMs) ? t('leftShort') : undefined}
      >
        {!isFree && holder !== undefined ? leftText(holder, nowMs) : ''}
      </div>
      <div role="cell" class="cell fence number">
        {holder?.fence ?? ''}
      </div>
      <div role="cell" class="cell waiters number">
        {lock.waiterCount > 0 && (
          <span class="load" aria-hidden="true">
            <i style={{ width: `${loadOf(lock.waiterCount)}%` }} />
          </span>
        )}
        <span class={lock.waiterCount > 0 ? 'strong' : 'soft'}>{numberText(lock.waiterCount)}</span>
      </div>
    </div>
  );
}

function HolderCell({ holder, others }: { holder: PageHolder | undefined; others: number }): VNode {
  if (holder === undefined) return <span class="soft">{t('keptWithout')}</span>;
  return (
    <>
      <Client client={holder.client} />
      {others > 0 && <span class="others"> {t('more', { n: others })}</span>}
    </>
  );
}

const SOON_MS = 2000;

function isRunning(holder: PageHolder | undefined, nowMs: number): boolean {
  return holder?.endsMs != null && holder.endsMs > nowMs;
}

function isSoon(holder: PageHolder | undefined, nowMs: number): boolean {
  return holder?.endsMs != null && holder.endsMs - nowMs < SOON_MS;
}

export function leftText({ endsMs }: PageHolder, nowMs: number): string {
  if (endsMs === null) return t('noEnd');
  return endsMs <= nowMs ? t('ended') : durationText(endsMs - nowMs);
}

/** The bar beside the number: full at a hundred waiters, by the logarithm. */
function loadOf(count: number): number {
  return Math.min(100, Math.round((Math.log10(count + 1) / 2) * 100));
}
