import type { VNode } from 'preact';
import { placesOf } from '../graph-layout.ts';
import { useSettled } from '../hooks.ts';
import { Empty, Head, Name, Rich } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { lockHash } from '../routes.ts';
import { t } from '../texts.ts';
import { cutText, isolated, lockName, visibleText } from '../visible-text.ts';
import { type WaitEdge, type WaitGraph, type WaitNode, waitGraph } from '../wait-graph.ts';

/** Which task waits for which, across processes. */
export function WaitsView({ model }: { model: PageModel }): VNode {
  const graph = useSettled(model, '', () => waitGraph(model.locks.values()));
  if (model.source?.hasWaitGraph === false) {
    return (
      <>
        <Head title={t('waits')} about={t('waitsAbout')} />
        <Empty title={t('waitsUnsupported')}>
          <p class="soft">
            <Rich text={t('waitsSupported')} />
          </p>
        </Empty>
      </>
    );
  }
  return (
    <>
      <Head title={t('waits')} about={t('waitsAbout')} />
      {graph.nodes.length === 0 ? <NoWaits model={model} /> : <Graph graph={graph} />}
    </>
  );
}

function NoWaits({ model }: { model: PageModel }): VNode {
  const waiting = useSettled(model, '', () =>
    [...model.locks.values()].reduce((sum, { waiterCount }) => sum + waiterCount, 0),
  );
  return (
    <Empty title={t('waitsEmpty')}>
      <p class="soft">
        <Rich text={t('waitsEmptyWhy')} />
      </p>
      {waiting > 0 && <p class="soft">{t('waitsNow', { n: waiting })}</p>}
    </Empty>
  );
}

const MAX_HOST = 18;
/** Of a name in a sentence. */
const MAX_NAME = 60;
const NODE_WIDTH = 208;
const NODE_HEIGHT = 46;
const COLUMN = 292;
const ROW = 88;
const PAD = 40;
/** The radius of the corners of edges that lead back. */
const CORNER = 20;

function Graph({ graph }: { graph: WaitGraph }): VNode {
  const places = placesOf(graph.nodes.length, graph.edges);
  const x = (node: number) => PAD + places[node]!.layer * COLUMN;
  const y = (node: number) => PAD + places[node]!.row * ROW;
  const width = Math.max(...places.map(({ layer }) => layer)) * COLUMN + NODE_WIDTH + 2 * PAD;
  const height = Math.max(...places.map(({ row }) => row)) * ROW + NODE_HEIGHT + 2 * PAD;
  const tasks = graph.nodes.filter(({ type }) => type === 'task').length;
  return (
    <>
      <Cycles graph={graph} />
      <section
        class="panel scroll graph"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
        tabIndex={0}
        aria-label={t('graphLabel', { tasks, locks: graph.nodes.length - tasks })}
      >
        <svg width={width} height={height} aria-hidden="true">
          <defs>
            {['arrow', 'arrow-bad'].map((id) => (
              <marker
                key={id}
                id={id}
                viewBox="0 0 10 10"
                refX="9"
                refY="5"
                markerWidth="7"
                markerHeight="7"
                orient="auto"
              >
                <path d="M0 0L10 5L0 10z" />
              </marker>
            ))}
          </defs>
          {graph.edges.map((edge) => (
            <path
              key={`${edge.from} ${edge.to}`}
              class={`edge ${edge.type} ${edge.isInCycle ? 'in-cycle' : ''}`}
              d={edgePath(x(edge.from), y(edge.from), x(edge.to), y(edge.to))}
              marker-end={edge.isInCycle ? 'url(#arrow-bad)' : 'url(#arrow)'}
            />
          ))}
          {graph.nodes.map((node, index) => (
            <NodeMark
              key={keyOf(node)}
              node={node}
              x={x(index)}
              y={y(index)}
              isInCycle={graph.cycles.some((cycle) => cycle.includes(index))}
            />
          ))}
        </svg>
      </section>
      {graph.left > 0 && <p class="soft">{t('graphLeft', { n: graph.left })}</p>}
      <details class="edges">
        <summary>{t('edges')}</summary>
        <ul>
          {graph.edges.map((edge) => (
            <li key={`${edge.from} ${edge.to}`} class={edge.isInCycle ? 'bad' : ''}>
              {edgeText(edge, graph.nodes)}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** Forward as an S; an edge that leads back runs below its nodes. */
function edgePath(fromX: number, fromY: number, toX: number, toY: number): string {
  const half = NODE_HEIGHT / 2;
  if (toX > fromX) {
    const startX = fromX + NODE_WIDTH;
    const middleX = (startX + toX) / 2;
    const start = `${startX} ${fromY + half}`;
    const end = `${toX - 2} ${toY + half}`;
    return `M${start}C${middleX} ${fromY + half} ${middleX} ${toY + half} ${end}`;
  }
  const belowY = Math.max(fromY, toY) + NODE_HEIGHT + (ROW - NODE_HEIGHT) / 2;
  const startX = fromX + NODE_WIDTH / 2;
  const endX = toX + NODE_WIDTH / 2;
  return [
    `M${startX} ${fromY + NODE_HEIGHT}Q${startX} ${belowY} ${startX - CORNER} ${belowY}`,
    `L${endX + CORNER} ${belowY}Q${endX} ${belowY} ${endX} ${toY + NODE_HEIGHT + 2}`,
  ].join('');
}

interface NodeMarkProps {
  readonly node: WaitNode;
  readonly x: number;
  readonly y: number;
  readonly isInCycle: boolean;
}

function NodeMark({ node, x, y, isInCycle }: NodeMarkProps): VNode {
  const [title, detail] = linesOf(node);
  return (
    <g
      class={`node ${node.type} ${isInCycle ? 'in-cycle' : ''}`}
      transform={`translate(${x} ${y})`}
    >
      <title>{nameOf(node)}</title>
      <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx={node.type === 'lock' ? 8 : 23} />
      <text class="title" x={NODE_WIDTH / 2} y={detail === '' ? 28 : 20} text-anchor="middle">
        {cutText(title, 26)}
      </text>
      {detail !== '' && (
        <text class="detail" x={NODE_WIDTH / 2} y={36} text-anchor="middle">
          {cutText(detail, 32)}
        </text>
      )}
    </g>
  );
}

function Cycles({ graph }: { graph: WaitGraph }): VNode {
  if (graph.cycles.length === 0) return <p class="good">{t('noCycles')}</p>;
  return (
    <section class="panel danger">
      <h2>{t('cycles', { n: graph.cycles.length })}</h2>
      <ul>
        {graph.cycles.map((cycle) => (
          <li key={cycle.join()}>
            <CycleText cycle={cycle} nodes={graph.nodes} />
          </li>
        ))}
      </ul>
      <p class="soft">
        <Rich text={t('cycleAdvice')} />
      </p>
    </section>
  );
}

/** A cycle in words. It alternates between tasks and locks, and begins with a task. */
function CycleText({
  cycle,
  nodes,
}: {
  cycle: readonly number[];
  nodes: readonly WaitNode[];
}): VNode {
  const steps = cycle.filter((_, index) => index % 2 === 0);
  return (
    <>
      {steps.map((task, index) => {
        const lock = nodes[cycle[index * 2 + 1]!]!;
        const holder = nodes[cycle[(index * 2 + 2) % cycle.length]!]!;
        // Names have no line break: it is shown as an escape.
        const [before, after] = t('cycleStep', {
          task: nameOf(nodes[task]!),
          lock: '\n',
          holder: nameOf(holder),
        }).split('\n');
        return (
          <span key={task}>
            {before}
            {lock.type === 'lock' && (
              <a href={lockHash(lock.lock.id)}>
                <Name text={cutText(lockName(lock.lock.name), MAX_NAME)} />
              </a>
            )}
            {after}
            {index === steps.length - 1 ? '' : '; '}
          </span>
        );
      })}
    </>
  );
}

function edgeText({ from, to, type }: WaitEdge, nodes: readonly WaitNode[]): string {
  return type === 'waits'
    ? t('edgeWaits', { task: nameOf(nodes[from]!), lock: nameOf(nodes[to]!) })
    : t('edgeHeld', { lock: nameOf(nodes[from]!), task: nameOf(nodes[to]!) });
}

function linesOf(node: WaitNode): readonly [string, string] {
  if (node.type === 'lock') {
    const others = node.otherWaiters > 0 ? t('otherWaiters', { n: node.otherWaiters }) : '';
    return [visibleText(lockName(node.lock.name)), others];
  }
  if (node.client === null) return [t('foreign'), visibleText(node.owner)];
  const { host, pid, label } = node.client;
  return [`${cutText(visibleText(host), MAX_HOST)}:${pid}`, visibleText(label)];
}

function nameOf(node: WaitNode): string {
  const [title, detail] = linesOf(node).map((line) => isolated(cutText(line, MAX_NAME)));
  return node.type === 'lock' || detail === '' ? title! : `${title} (${detail})`;
}

function keyOf(node: WaitNode): string {
  return node.type === 'lock' ? `lock ${node.lock.id}` : `task ${node.owner}`;
}
