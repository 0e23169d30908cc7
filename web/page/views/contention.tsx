import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ContentionFacts, ContentionGroup } from '../../../src/page/protocol.ts';
import { heatPaths, LEVELS } from '../heat.ts';
import { HistogramChart } from '../histogram-chart.tsx';
import { useWidth } from '../hooks.ts';
import { Empty, Head, Name } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { currentLanguage, t } from '../texts.ts';
import { measureText, minuteText } from '../time-text.ts';
import { visibleText } from '../visible-text.ts';

/** Where requests waited in the last hour, and for how long. */
export function ContentionView({ model }: { model: PageModel }): VNode {
  const language = currentLanguage();
  const { contention, source } = model;
  // It changes every few seconds only: frames between them draw nothing here.
  const content = useMemo(() => {
    if (source?.history === 'none') return null;
    if (contention === null) return <p class="connecting">{t('contentionWait')}</p>;
    return (
      <>
        <HeatMap contention={contention} />
        <div class="histograms">
          <HistogramChart title={t('waitTimes')} histogram={contention.wait} />
          <HistogramChart title={t('holdTimes')} histogram={contention.hold} />
        </div>
      </>
    );
  }, [contention, source, language]);
  return (
    <>
      <Head title={t('contention')} about={t('contentionAbout')} />
      {content}
    </>
  );
}

const FEW_GROUPS = 20;
const ROW_PX = 22;
const MINUTES = 60;
const MINUTE_MS = 60_000;

/** A minute of a group. */
interface Cell {
  readonly row: number;
  readonly minute: number;
}

function HeatMap({ contention }: { contention: ContentionFacts }): VNode {
  const [box, width] = useWidth(600);
  const [isWhole, setWhole] = useState(false);
  const [cell, setCell] = useState<Cell | null>(null);
  const all = contention.groups.filter(({ waits }) => sum(waits) > 0);
  const groups = isWhole ? all : all.slice(0, FEW_GROUPS);
  const max = Math.max(0, ...all.flatMap(({ waits }) => waits));
  if (groups.length === 0) return <Empty title={t('contentionEmpty')} />;
  const cellPx = width / MINUTES;
  const move = (event: KeyboardEvent) => {
    const to = nextCell(event.key, cell, groups.length);
    if (to === undefined) return;
    event.preventDefault();
    setCell(to);
  };
  return (
    <section class="panel heat" aria-labelledby="heat-title">
      <h2 id="heat-title">{t('heatMap')}</h2>
      <section
        class="heat-grid"
        aria-label={t('heatHint')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move over its minutes.
        tabIndex={0}
        onKeyDown={move}
        onPointerLeave={() => setCell(null)}
      >
        {groups.map((group, row) => (
          <div key={group.group} class="heat-row">
            <div class="heat-name" title={visibleText(group.group)}>
              <Name text={group.group} />
            </div>
            <div class="heat-minutes">
              <HeatRow
                contention={contention}
                group={group}
                max={max}
                cellPx={cellPx}
                marked={cell?.row === row ? cell.minute : null}
                onPoint={(minute) => setCell({ row, minute })}
              />
            </div>
          </div>
        ))}
        <div class="heat-row heat-axis" aria-hidden="true">
          <div class="heat-name" />
          <div ref={box} class="heat-minutes">
            {[0, 15, 30, 45, 59].map((minute) => (
              <span key={minute}>{minuteText(contention.fromMs + minute * MINUTE_MS)}</span>
            ))}
          </div>
        </div>
      </section>
      <div class="heat-foot">
        <p role="status">
          {cell === null || groups[cell.row] === undefined
            ? t('heatHint')
            : cellText(contention, groups[cell.row]!, cell.minute)}
        </p>
        <p class="scale" aria-hidden="true">
          {t('little')}
          {Array.from({ length: LEVELS }, (_, level) => (
            <i key={level} class={`level-${level + 1}`} />
          ))}
          {t('most')}
        </p>
      </div>
      {all.length > FEW_GROUPS && !isWhole && (
        <button type="button" class="plain-button" onClick={() => setWhole(true)}>
          {t('showAll', { n: all.length })}
        </button>
      )}
    </section>
  );
}

interface HeatRowProps {
  readonly contention: ContentionFacts;
  readonly group: ContentionGroup;
  readonly max: number;
  readonly cellPx: number;
  readonly marked: number | null;
  readonly onPoint: (minute: number) => void;
}

function HeatRow({ contention, group, max, cellPx, marked, onPoint }: HeatRowProps): VNode {
  const most = Math.max(...group.waits);
  const label = t('heatLabel', {
    group: visibleText(group.group),
    n: sum(group.waits),
    time: minuteText(contention.fromMs + group.waits.indexOf(most) * MINUTE_MS),
    max: most,
  });
  return (
    <svg
      width={cellPx * MINUTES}
      height={ROW_PX}
      role="img"
      aria-label={label}
      onPointerMove={({ offsetX }) =>
        onPoint(Math.min(MINUTES - 1, Math.max(0, Math.floor(offsetX / cellPx))))
      }
    >
      {heatPaths(group.waits, max, cellPx, ROW_PX - 2).map(
        (path, level) => path !== '' && <path key={level} class={`level-${level}`} d={path} />,
      )}
      {marked !== null && (
        <rect
          class="marked"
          x={marked * cellPx}
          y={0.75}
          width={Math.max(2, cellPx - 1)}
          height={ROW_PX - 3.5}
        />
      )}
    </svg>
  );
}

function nextCell(key: string, cell: Cell | null, rows: number): Cell | undefined {
  const { row, minute } = cell ?? { row: 0, minute: MINUTES - 1 };
  const targets = new Map<string, Cell>([
    ['ArrowLeft', { row, minute: Math.max(0, minute - 1) }],
    ['ArrowRight', { row, minute: Math.min(MINUTES - 1, minute + 1) }],
    ['ArrowUp', { row: Math.max(0, row - 1), minute }],
    ['ArrowDown', { row: Math.min(rows - 1, row + 1), minute }],
  ]);
  const to = targets.get(key);
  return to !== undefined && cell === null ? { row, minute } : to;
}

function cellText({ fromMs }: ContentionFacts, group: ContentionGroup, minute: number): string {
  return t('heatCell', {
    group: visibleText(group.group),
    time: minuteText(fromMs + minute * MINUTE_MS),
    waits: group.waits[minute] ?? 0,
    waited: measureText(group.waitedMs[minute] ?? 0),
    grants: group.grants[minute] ?? 0,
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
