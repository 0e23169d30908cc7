import type { VNode } from 'preact';
import { useWidth } from './hooks.ts';
import { t } from './texts.ts';
import { clockText, measureText } from './time-text.ts';
import { LOSSES, type Span, type Timeline } from './timeline.ts';
import { cutText, visibleText } from './visible-text.ts';

const LANE_PX = 34;
const BAR_PX = 16;
const TOP_PX = 26;
/** Room at the right for the word that says where now is. */
const RIGHT_PX = 12;
const MAX_LANES = 12;
const MAX_LABEL = 28;

/** A lane for each client; time runs to the right. A thin line waits, a bar holds. */
export function TimelineChart({ timeline, nowMs }: { timeline: Timeline; nowMs: number }): VNode {
  const [box, width] = useWidth(800);
  const lanes = timeline.lanes.slice(0, MAX_LANES);
  const leftPx = width < 560 ? 12 : 190;
  const rowPx = width < 560 ? LANE_PX + 18 : LANE_PX;
  const spanMs = Math.max(1000, nowMs - timeline.fromMs);
  const x = (atMs: number) =>
    leftPx + ((atMs - timeline.fromMs) / spanMs) * (width - leftPx - RIGHT_PX);
  const y = (lane: number) => TOP_PX + lane * rowPx + (rowPx - BAR_PX) - 8;
  const spans = timeline.spans.filter(({ lane }) => lane < MAX_LANES);
  const height = TOP_PX + lanes.length * rowPx + 8;
  return (
    <div class="panel chart">
      <div ref={box}>
        {spans.length === 0 ? (
          <p class="soft">{t('timelineEmpty')}</p>
        ) : (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={t('timelineLabel', { n: spans.length })}
          >
            {ticksOf(timeline.fromMs, spanMs, (width - leftPx) / 110).map((atMs) => (
              <g key={atMs} class="tick">
                <line x1={x(atMs)} x2={x(atMs)} y1={TOP_PX - 6} y2={height} />
                <text x={x(atMs)} y={12} text-anchor="middle">
                  {clockText(atMs)}
                </text>
              </g>
            ))}
            {lanes.map((lane, index) => (
              <text
                key={lane}
                class={`lane-name c${index % 8}`}
                x={width < 560 ? leftPx : 0}
                y={width < 560 ? y(index) - 5 : y(index) + BAR_PX - 3.5}
              >
                {labelOf(lane)}
              </text>
            ))}
            {spans.map((span, index) => (
              <SpanMark
                key={`${span.owner} ${span.fromMs}`}
                span={span}
                before={span.isHandOver ? previousOf(spans, index) : undefined}
                x={x}
                y={y}
                nowMs={nowMs}
              />
            ))}
          </svg>
        )}
      </div>{' '}
      {spans.length > 0 && <Legend />}
    </div>
  );
}

interface SpanMarkProps {
  readonly span: Span;
  /** The lease that was handed over to this one. */
  readonly before: Span | undefined;
  readonly x: (atMs: number) => number;
  readonly y: (lane: number) => number;
  readonly nowMs: number;
}

function SpanMark({ span, before, x, y, nowMs }: SpanMarkProps): VNode {
  const from = x(span.fromMs);
  const to = Math.max(from + 2, x(span.toMs ?? nowMs));
  const top = y(span.lane);
  const middle = top + BAR_PX / 2;
  return (
    <g class={`span c${span.lane % 8}`}>
      <title>{spanText(span, nowMs)}</title>
      {span.waitedMs > 0 && (
        <line class="wait" x1={x(span.fromMs - span.waitedMs)} x2={from} y1={middle} y2={middle} />
      )}
      {before !== undefined && before.lane !== span.lane && (
        <path class="hand-over" d={handOver(from, y(before.lane), top)} />
      )}
      <rect
        class={span.toMs === null ? 'hold open' : 'hold'}
        x={from}
        y={top}
        width={to - from}
        height={BAR_PX}
        rx={Math.min(3, (to - from) / 2)}
      />
      {span.fence !== null && to - from > 64 && (
        <text class="fence" x={from + 6} y={top + BAR_PX - 4}>
          {fenceText(span.fence, to - from)}
        </text>
      )}
      {span.end !== null && LOSSES.has(span.end) && (
        <path class="loss" d={span.end === 'forced' ? diamond(to, middle) : cross(to, middle)} />
      )}
    </g>
  );
}

function Legend(): VNode {
  return (
    <ul class="legend" aria-hidden="true">
      <li>
        <svg width="28" height="16" class="span c0" aria-hidden="true">
          <line class="wait" x1="0" x2="28" y1="8" y2="8" />
        </svg>
        {t('legendWaits')}
      </li>
      <li>
        <svg width="28" height="16" class="span c0" aria-hidden="true">
          <rect class="hold" y="2" width="28" height="12" rx="3" />
        </svg>
        {t('legendHolds')}
      </li>
      <li>
        <svg width="16" height="16" class="span c0" aria-hidden="true">
          <path class="hand-over" d="M8 0V16" />
        </svg>
        {t('legendHandOver')}
      </li>
      <li>
        <svg width="16" height="16" class="span" aria-hidden="true">
          <path class="loss" d={cross(8, 8)} />
        </svg>
        {t('legendLoss')}
      </li>
      <li>
        <svg width="16" height="16" class="span" aria-hidden="true">
          <path class="loss" d={diamond(8, 8)} />
        </svg>
        {t('legendForced')}
      </li>
    </ul>
  );
}

/** From one bar to the other, above or below it. */
function handOver(x: number, fromTop: number, toTop: number): string {
  return fromTop < toTop
    ? `M${x} ${fromTop + BAR_PX}V${toTop}`
    : `M${x} ${fromTop}V${toTop + BAR_PX}`;
}

function cross(x: number, y: number): string {
  const circle = `M${x - 7} ${y}a7 7 0 1 0 14 0a7 7 0 1 0-14 0z`;
  return `${circle}M${x - 2.5} ${y - 2.5}l5 5m0-5l-5 5`;
}

function diamond(x: number, y: number): string {
  return `M${x} ${y - 7}l7 7l-7 7l-7-7zM${x} ${y - 3}v3M${x} ${y + 3}v.1`;
}

function labelOf(lane: string): string {
  return cutText(lane === '' ? t('foreign') : visibleText(lane), MAX_LABEL);
}

/** A fence has sixteen digits, of which the last ones differ. */
function fenceText(fence: number, widthPx: number): string {
  const text = String(fence);
  return text.length * 7 + 12 <= widthPx ? text : `…${text.slice(-6)}`;
}

function spanText(span: Span, nowMs: number): string {
  const held = t('heldFor', { time: measureText((span.toMs ?? nowMs) - span.fromMs) });
  const fence = span.fence === null ? [] : [t('fenceIs', { fence: String(span.fence) })];
  const end = span.end === null || span.end === 'released' ? [] : [t(span.end)];
  return [clockText(span.fromMs), ...fence, held, ...end].join(' · ');
}

function previousOf(spans: readonly Span[], index: number): Span | undefined {
  return spans
    .slice(0, index)
    .findLast(({ toMs }) => toMs !== null && toMs <= spans[index]!.fromMs);
}

const STEPS_MS = [
  1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000,
  3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** Round times inside of the chart, at most `max` of them. */
function ticksOf(fromMs: number, spanMs: number, max: number): number[] {
  const stepMs = STEPS_MS.find((step) => spanMs / step <= max) ?? spanMs;
  const ticks: number[] = [];
  for (let at = Math.ceil(fromMs / stepMs) * stepMs; at <= fromMs + spanMs; at += stepMs) {
    ticks.push(at);
  }
  return ticks;
}
