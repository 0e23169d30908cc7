import type { VNode } from 'preact';
import type { Histogram } from '../../src/page/protocol.ts';
import { useWidth } from './hooks.ts';
import { numberText, t } from './texts.ts';
import { measureText } from './time-text.ts';

const CHART_PX = 140;
const AXIS_PX = 20;
/** Room of a label below the bars. */
const LABEL_PX = 60;

/** Counts by duration, with the median and the 99th percentile. Each bar has the same width, whatever its bounds. */
export function HistogramChart({
  title,
  histogram,
}: {
  title: string;
  histogram: Histogram;
}): VNode {
  const [box, width] = useWidth(500);
  const { counts, p50Ms, p99Ms } = histogram;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0 || p50Ms === null || p99Ms === null) {
    return (
      <section class="panel histogram">
        <h2>{title}</h2>
        <p class="soft">{t('histogramEmpty')}</p>
      </section>
    );
  }
  const p50 = measureText(p50Ms);
  const p99 = measureText(p99Ms);
  return (
    <section class="panel histogram">
      <h2>{title}</h2>
      <dl class="percentiles">
        <div>
          <dt>p50</dt>
          <dd>{p50}</dd>
        </div>
        <div>
          <dt>p99</dt>
          <dd>{p99}</dd>
        </div>
      </dl>
      <div ref={box}>
        <Bars
          histogram={histogram}
          width={width}
          label={t('histogramLabel', { n: total, p50, p99 })}
        />
      </div>
      <details>
        <summary>{t('asTable')}</summary>
        <table class="plain narrow">
          <thead>
            <tr>
              <th scope="col">{t('upTo')}</th>
              <th scope="col">{t('count')}</th>
            </tr>
          </thead>
          <tbody>
            {counts.map((count, index) => (
              <tr key={boundText(histogram, index)}>
                <td>{boundText(histogram, index)}</td>
                <td class="number">{numberText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

function Bars(props: { histogram: Histogram; width: number; label: string }): VNode {
  const { histogram, width, label } = props;
  const { counts, boundsMs, p50Ms, p99Ms } = histogram;
  const max = Math.max(...counts);
  const barPx = width / counts.length;
  const labelEvery = Math.max(1, Math.ceil(LABEL_PX / barPx));
  return (
    <svg width={width} height={CHART_PX + AXIS_PX} role="img" aria-label={label}>
      {counts.map((count, index) => {
        const height = count === 0 ? 0 : Math.max(2, (count / max) * (CHART_PX - 22));
        return (
          <g key={boundText(histogram, index)}>
            <title>{`${boundText(histogram, index)}: ${numberText(count)}`}</title>
            <rect
              class="bar"
              x={index * barPx + 1}
              y={CHART_PX - height}
              width={Math.max(1, barPx - 2)}
              height={height}
              rx={Math.min(2, barPx / 4)}
            />
            {index % labelEvery === 0 && boundsMs[index] !== undefined && (
              <text class="axis" x={(index + 1) * barPx} y={CHART_PX + 15} text-anchor="middle">
                {measureText(boundsMs[index]!)}
              </text>
            )}
          </g>
        );
      })}
      <line class="base" x1={0} x2={width} y1={CHART_PX + 0.5} y2={CHART_PX + 0.5} />
      {(
        [
          ['p50', p50Ms],
          ['p99', p99Ms],
        ] as const
      ).map(([name, ms]) => {
        const x = positionOf(ms ?? 0, boundsMs) * barPx;
        return (
          <g key={name} class={`percentile ${name}`}>
            <line x1={x} x2={x} y1={16} y2={CHART_PX} />
            <text x={Math.min(width - 12, Math.max(12, x))} y={11} text-anchor="middle">
              {name}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Where a value is on the axis, in bars: between the bounds of its bar in proportion. */
function positionOf(ms: number, boundsMs: readonly number[]): number {
  const index = boundsMs.findIndex((bound) => ms <= bound);
  if (index === -1) return boundsMs.length + 0.5;
  const from = index === 0 ? 0 : boundsMs[index - 1]!;
  return index + (ms - from) / (boundsMs[index]! - from);
}

function boundText({ boundsMs }: Histogram, index: number): string {
  const bound = boundsMs[index];
  return bound === undefined
    ? t('moreThan', { time: measureText(boundsMs.at(-1) ?? 0) })
    : t('atMost', { time: measureText(bound) });
}
