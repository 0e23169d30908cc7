import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PageEvent } from '../../../src/page/protocol.ts';
import { Empty, EventTable, Head, Rich } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { currentLanguage, numberText, type TextKey, t } from '../texts.ts';
import { LOSSES } from '../timeline.ts';
import { visibleText } from '../visible-text.ts';

const MAX_RECENT = 8;

interface Loss {
  readonly reason: string;
  readonly count: number;
  readonly events: readonly PageEvent[];
}

/** Leases that ended before their release, by reason, with what to do. */
export function LossesView({ model }: { model: PageModel }): VNode {
  const language = currentLanguage();
  const content = useMemo(() => {
    const losses = lossesOf(model);
    if (model.source?.history === 'none') return null;
    if (losses.length === 0) return <Empty title={t('lossesEmpty')} />;
    return (
      <>
        {losses.map((loss) => (
          <LossPanel key={loss.reason} loss={loss} />
        ))}
      </>
    );
  }, [model.source, model.contention, model.events, language]);
  return (
    <>
      <Head title={t('losses')} about={t('lossesAbout')} />
      {content}
    </>
  );
}

/** The server's list has those that a busy server has pushed out of the history; the history is newer. */
function recentLosses({ contention, events }: PageModel): PageEvent[] {
  const losses = [
    ...(contention?.recentLosses ?? []),
    ...events.filter(({ type }) => LOSSES.has(type)),
  ];
  return [...new Map(losses.map((event) => [event.id, event])).values()].sort(
    (one, other) => one.id - other.id,
  );
}

function lossesOf(model: PageModel): Loss[] {
  const events = new Map<string, PageEvent[]>();
  for (const event of recentLosses(model)) {
    const list = events.get(event.type);
    if (list === undefined) events.set(event.type, [event]);
    else list.push(event);
  }
  const counts = new Map(Object.entries(model.contention?.losses ?? {}));
  return [...new Set([...counts.keys(), ...events.keys()])]
    .map((reason) => ({
      reason,
      count: counts.get(reason) ?? events.get(reason)?.length ?? 0,
      events: events.get(reason)?.slice(-MAX_RECENT) ?? [],
    }))
    .filter(({ count, events: recent }) => count > 0 || recent.length > 0)
    .sort((a, b) => b.count - a.count);
}

/** Heading, cause and advice for each reason. */
const REASONS: ReadonlyMap<string, readonly [TextKey, TextKey, TextKey]> = new Map([
  ['expired', ['lossExpired', 'lossExpiredWhy', 'lossExpiredDo']],
  ['stolen', ['lossStolen', 'lossStolenWhy', 'lossStolenDo']],
  ['forced', ['lossForced', 'lossForcedWhy', 'lossForcedDo']],
  ['session-ended', ['lossSession', 'lossSessionWhy', 'lossSessionDo']],
]);

function LossPanel({ loss: { reason, count, events } }: { loss: Loss }): VNode {
  const texts = REASONS.get(reason);
  return (
    <section class="panel loss">
      <div class="loss-head">
        <h2>
          {texts === undefined ? t('lossOther', { reason: visibleText(reason) }) : t(texts[0])}
        </h2>
        <p class="big bad">
          {numberText(count)}
          <span class="aside">: {t('lossCount', { n: count })}</span>
        </p>
      </div>
      {texts !== undefined && (
        <p>
          <Rich text={t(texts[1])} />
        </p>
      )}
      <p class="advice">
        <b>{t('whatToDo')}</b> <Rich text={t(texts === undefined ? 'lossOtherDo' : texts[2])} />
      </p>
      {events.length > 0 && (
        <>
          <h3>{t('recent')}</h3>
          <EventTable events={events} hasLock={true} />
        </>
      )}
    </section>
  );
}
