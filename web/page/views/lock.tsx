import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PageEvent, PageHolder, PageLock, PageWaiter } from '../../../src/page/protocol.ts';
import { leftText } from '../lock-table.tsx';
import { Client, Empty, EventTable, Kind, Name } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { ReleaseDialog } from '../release-dialog.tsx';
import { fetchLock, type LockDetails } from '../requests.ts';
import { numberText, t } from '../texts.ts';
import { clockText, durationText } from '../time-text.ts';
import { timelineOf } from '../timeline.ts';
import { TimelineChart } from '../timeline-chart.tsx';
import { lockName, visibleText } from '../visible-text.ts';

const MAX_EVENTS_SHOWN = 100;
const LONG_NAME = 100;
/** A longer queue scrolls: see `.queue` in style-locks.css. */
const SHORT_QUEUE = 6;

/** One lock: its holders, its queue, and what happened to it. */
export function LockView({ model, id }: { model: PageModel; id: string }): VNode {
  const live = model.locks.get(id) ?? null;
  const events = useEventsOf(model, id);
  const { details, error } = useDetails(id, detailKey(model, live, events));
  const all = useMemo(() => mergeEvents(details?.events ?? [], events), [details, events]);
  const lock = wholeLock(live, details);
  const known = live ?? details?.lock ?? all.at(-1) ?? null;
  if (known === null) {
    return (
      <>
        <BackLink />
        {(details !== null || error !== null) && <Empty title={t('lockUnknown')} />}
      </>
    );
  }
  return (
    <>
      <BackLink />
      <div class="lock-head">
        <h1 class={known.name.length > LONG_NAME ? 'lock-name long' : 'lock-name'}>
          <Name text={lockName(known.name)} />
        </h1>
        <Kind kind={known.kind} />
        {model.source?.canRelease === true && lock !== null && (
          <ReleaseDialog id={id} name={lock.name} holders={lock.holders} />
        )}
      </div>
      {error !== null && (
        <p class="banner alert">{t('detailsFailed', { message: visibleText(error) })}</p>
      )}
      {lock === null ? (
        <p class="panel quiet">{t('lockFree')}</p>
      ) : (
        <Parties lock={lock} nowMs={model.nowMs()} />
      )}
      <section>
        <h2>{t('timeline')}</h2>
        <TimelineChart timeline={timelineOf(all, lock, model.nowMs())} nowMs={model.nowMs()} />
      </section>
      <Forced details={details} />
      <section>
        <h2>{t('events')}</h2>
        {all.length === 0 ? (
          <p class="soft">{t('eventsEmpty')}</p>
        ) : (
          <EventTable events={all.slice(-MAX_EVENTS_SHOWN)} hasLock={false} />
        )}
      </section>
    </>
  );
}

function BackLink(): VNode {
  return (
    <p class="back">
      <a href="#/locks">← {t('back')}</a>
    </p>
  );
}

function Parties({ lock, nowMs }: { lock: PageLock; nowMs: number }): VNode {
  return (
    <div class="parties">
      <section class="panel">
        <h2>
          {t(lock.holderCount === 1 ? 'holder' : 'holders')}
          {lock.holderCount > 1 && <span class="badge">{numberText(lock.holderCount)}</span>}
        </h2>
        {lock.holders.map((holder) => (
          <HolderCard key={holder.owner} holder={holder} kind={lock.kind} nowMs={nowMs} />
        ))}
        {lock.holderCount === 0 && <p class="soft">{t('keptWithout')}</p>}
        {lock.holderCount > lock.holders.length && (
          <p class="soft">{t('holdersLeft', { n: lock.holderCount - lock.holders.length })}</p>
        )}
      </section>
      <section class="panel">
        <h2>
          {t('queue')}
          {lock.waiterCount > 0 && <span class="badge">{numberText(lock.waiterCount)}</span>}
        </h2>
        {lock.waiterCount === 0 ? (
          <p class="soft">{t('queueEmpty')}</p>
        ) : (
          <ol class="queue" tabIndex={lock.waiters.length > SHORT_QUEUE ? 0 : undefined}>
            {lock.waiters.map((waiter, index) => (
              <QueueItem key={waiter.owner} waiter={waiter} place={index + 1} nowMs={nowMs} />
            ))}
          </ol>
        )}
        {lock.waiterCount > lock.waiters.length && (
          <p class="soft">{t('queueLeft', { n: lock.waiterCount - lock.waiters.length })}</p>
        )}
      </section>
    </div>
  );
}

interface HolderCardProps {
  readonly holder: PageHolder;
  readonly kind: PageLock['kind'];
  readonly nowMs: number;
}

function HolderCard({ holder, kind, nowMs }: HolderCardProps): VNode {
  return (
    <dl class="facts">
      <div class="wide">
        <dt>{t('client')}</dt>
        <dd>
          <Client client={holder.client} />
        </dd>
      </div>
      <div>
        <dt>{t('columnHeld')}</dt>
        <dd>{holder.sinceMs === null ? t('unknown') : durationText(nowMs - holder.sinceMs)}</dd>
      </div>
      <div>
        <dt>{t('columnLeft')}</dt>
        <dd>{leftText(holder, nowMs)}</dd>
      </div>
      {holder.fence !== null && (
        <div>
          <dt>{t('columnFence')}</dt>
          <dd>
            <code>{holder.fence}</code>
          </dd>
        </div>
      )}
      {kind !== 'mutex' && (
        <div>
          <dt>{t('permits')}</dt>
          <dd>{numberText(holder.permits)}</dd>
        </div>
      )}
      <div>
        <dt>{t('owner')}</dt>
        <dd>
          <code>
            <Name text={holder.owner} />
          </code>
        </dd>
      </div>
    </dl>
  );
}

interface QueueItemProps {
  readonly waiter: PageWaiter;
  readonly place: number;
  readonly nowMs: number;
}

function QueueItem({ waiter, place, nowMs }: QueueItemProps): VNode {
  return (
    <li>
      <span class="place">
        <span class="aside">{t('place')} </span>
        {place}
      </span>
      <span class="who">
        <Client client={waiter.client} />
        {waiter.holds.length > 0 && (
          <a class="meanwhile" href="#/waits">
            {t('holdsMeanwhile', { n: waiter.holds.length })}
          </a>
        )}
      </span>
      <span class="number">
        <span class="aside">{t('waitingFor')} </span>
        {waiter.sinceMs === null ? '' : durationText(nowMs - waiter.sinceMs)}
      </span>
    </li>
  );
}

function Forced({ details }: { details: LockDetails | null }): VNode | null {
  if (details === null || details.forced.length === 0) return null;
  return (
    <section>
      <h2>{t('forcedReleases')}</h2>
      <ul class="forced">
        {details.forced.map(({ atMs, by, reason, holders }) => (
          <li key={atMs}>
            <span class="number soft">{clockText(atMs)}</span>
            <span>
              {t('forcedBy', { by: visibleText(by), n: holders })}:{' '}
              <q>
                <Name text={reason} />
              </q>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The events of one lock in the model. The same array until there is a new one. */
function useEventsOf(model: PageModel, id: string): readonly PageEvent[] {
  const last = useRef<readonly PageEvent[]>([]);
  return useMemo(() => {
    const events = model.events.filter(({ lockId }) => lockId === id);
    if (events.at(-1) !== last.current.at(-1)) last.current = events;
    return last.current;
  }, [model.events, id]);
}

/**
 * What the stream cuts is read anew when the lists have changed; forced releases, when there was one; all, when the
 * history begins again.
 */
function detailKey(model: PageModel, live: PageLock | null, events: readonly PageEvent[]): string {
  const forced = events.findLast(({ type }) => type === 'forced')?.id ?? 0;
  const key = `${model.source?.historyEpoch} ${forced}`;
  if (live === null) return key;
  const isCut = live.waiterCount > live.waiters.length || live.holderCount > live.holders.length;
  if (!isCut) return key;
  const owners = [...live.holders, ...live.waiters].map(({ owner }) => owner);
  return `${key} ${live.holderCount} ${live.waiterCount} ${owners.join(' ')}`;
}

const MIN_BETWEEN_MS = 1000;
const RETRY_MS = 3000;

/** Reads the lock from the server when `key` has changed, at most once in a second, and again after a failure. */
function useDetails(
  id: string,
  key: string,
): { details: LockDetails | null; error: string | null } {
  const [state, setState] = useState<{ details: LockDetails | null; error: string | null }>({
    details: null,
    error: null,
  });
  const lastMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const cancel = new AbortController();
    const delayMs = Math.max(0, lastMs.current + MIN_BETWEEN_MS - performance.now());
    let timer = setTimeout(read, delayMs);
    async function read(): Promise<void> {
      lastMs.current = performance.now();
      try {
        setState({ details: await fetchLock(id, cancel.signal), error: null });
      } catch (error) {
        if (cancel.signal.aborted) return;
        setState((before) => ({ ...before, error: String((error as Error).message) }));
        timer = setTimeout(read, RETRY_MS);
      }
    }
    return () => {
      clearTimeout(timer);
      cancel.abort();
    };
  }, [id, key]);
  return state;
}

/** The stream is newer, but its lists are cut to ten: then the longer lists of the server are shown. */
function wholeLock(live: PageLock | null, details: LockDetails | null): PageLock | null {
  if (live === null) return null;
  const whole = details?.lock ?? null;
  if (whole === null) return live;
  return {
    ...live,
    holders: live.holderCount > live.holders.length ? whole.holders : live.holders,
    waiters: live.waiterCount > live.waiters.length ? whole.waiters : live.waiters,
  };
}

function mergeEvents(
  older: readonly PageEvent[],
  newer: readonly PageEvent[],
): readonly PageEvent[] {
  const known = new Set(older.map(({ id }) => id));
  return [...older, ...newer.filter(({ id }) => !known.has(id))].sort((a, b) => a.id - b.id);
}
