import type { ComponentChildren, VNode } from 'preact';
import type { ServerFigures } from '../../../src/page/protocol.ts';
import { useWidth } from '../hooks.ts';
import { Empty, Head, Name } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { numberText, type TextKey, t } from '../texts.ts';
import { bytesText, clockText, durationText, measureText } from '../time-text.ts';

/** The figures of `holdfast serve`. */
export function ServerView({ model }: { model: PageModel }): VNode {
  const now = model.figures.at(-1);
  return (
    <>
      <Head title={t('server')} />
      {model.source?.hasServer === false ? (
        <Empty title={t('serverNone').replaceAll('`', '')} />
      ) : now === undefined ? (
        <p class="connecting">{t('serverWait')}</p>
      ) : (
        <>
          <div class="tiles">
            <MemoryTile now={now} />
            <LogTile log={now.log} />
            <Tile title="connections" value={numberText(now.clients)}>
              <p class="soft">{t('blocked', { n: now.blockedClients })}</p>
            </Tile>
            <Tile title="keys" value={numberText(now.keys)}>
              <p class="soft">
                {t('uptime')}: {durationText(now.uptimeS * 1000)}
              </p>
            </Tile>
            <CommandsTile figures={model.figures} />
          </div>
          <SlowCommands slowest={now.slowest} />
        </>
      )}
    </>
  );
}

interface TileProps {
  readonly title: TextKey;
  readonly value: string;
  readonly tone?: string;
  readonly className?: string;
  readonly children?: ComponentChildren;
}

function Tile({ title, value, tone = '', className = '', children }: TileProps): VNode {
  return (
    <section class={`panel tile ${className}`}>
      <h2>{t(title)}</h2>
      <p class={`big ${tone}`}>{value}</p>
      {children}
    </section>
  );
}

const MUCH = 0.8;

function MemoryTile({ now: { memoryBytes, maxMemoryBytes } }: { now: ServerFigures }): VNode {
  if (maxMemoryBytes === 0) {
    return (
      <Tile title="memory" value={bytesText(memoryBytes)}>
        <p class="soft">{t('memoryNoLimit')}</p>
      </Tile>
    );
  }
  const share = Math.min(1, memoryBytes / maxMemoryBytes);
  const text = t('memoryOf', { used: bytesText(memoryBytes), max: bytesText(maxMemoryBytes) });
  return (
    <Tile title="memory" value={`${Math.round(share * 100)} %`} tone={share >= MUCH ? 'bad' : ''}>
      <div class="meter" aria-hidden="true">
        <i class={share >= MUCH ? 'much' : ''} style={{ width: `${share * 100}%` }} />
      </div>
      <p class="soft">{text}</p>
    </Tile>
  );
}

function LogTile({ log }: { log: ServerFigures['log'] }): VNode {
  if (log === null) {
    return (
      <Tile title="log" value="–">
        <p class="soft">{t('logNone')}</p>
      </Tile>
    );
  }
  return (
    <Tile title="log" value={bytesText(log.fileBytes)} tone={log.isFailing ? 'bad' : ''}>
      <p class={log.isFailing ? 'bad' : 'soft'}>{t(log.isFailing ? 'logBad' : 'logGood')}</p>
      <p class="soft">
        {bytesText(log.pendingBytes)} {t('logPending')}
      </p>
    </Tile>
  );
}

const SPARK_PX = 72;

function CommandsTile({ figures }: { figures: readonly ServerFigures[] }): VNode {
  const [box, width] = useWidth(600);
  const values = figures.map(({ commandsPerS }) => commandsPerS);
  const now = values.at(-1)!;
  const max = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)} ${(SPARK_PX - 2 - (value / max) * (SPARK_PX - 6)).toFixed(1)}`,
  );
  const line =
    values.length === 1 ? `M0 ${points[0]!.split(' ')[1]}H${width}` : `M${points.join('L')}`;
  return (
    <Tile title="commands" value={numberText(now)} className="full">
      <div ref={box}>
        <svg
          class="spark"
          width={width}
          height={SPARK_PX}
          role="img"
          aria-label={t('commandsLabel', { now: Math.round(now), max: Math.round(max) })}
        >
          <path class="area" d={`${line}V${SPARK_PX}H0z`} />
          <path class="line" d={line} />
        </svg>
      </div>
    </Tile>
  );
}

function SlowCommands({ slowest }: { slowest: ServerFigures['slowest'] }): VNode {
  return (
    <section>
      <h2>{t('slow')}</h2>
      {slowest.length === 0 ? (
        <p class="soft">{t('slowEmpty')}</p>
      ) : (
        <div class="scroll">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">{t('time')}</th>
                <th scope="col">{t('took')}</th>
                <th scope="col">{t('command')}</th>
              </tr>
            </thead>
            <tbody>
              {slowest.map(({ atMs, tookUs, command }) => (
                <tr key={`${atMs} ${tookUs} ${command}`}>
                  <td class="number">{clockText(atMs)}</td>
                  <td class="number">{measureText(tookUs / 1000)}</td>
                  <td>
                    <code>
                      <Name text={command} />
                    </code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
