import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { diagram, moments } from '../../../src/lab/report/page-run.ts';
import type { LineMarks } from '../parts/listing.tsx';
import { CheckLabel } from '../parts/marks.tsx';
import { useText } from '../preferences.ts';
import { choiceClient, choiceText, isFault } from './choices.ts';
import { lineMarks } from './line-marks.ts';
import type { RecipeSource, Run, WorldChange } from './messages.ts';
import { useRun } from './use-run.ts';

interface RunViewProps {
  readonly source: RecipeSource;
  readonly world: WorldChange;
  readonly run: Run;
  readonly step: number;
  /** The pseudo-code, to find the lines of the library. */
  readonly code: string;
  readonly onMove: (step: number) => void;
  /** The reader chose what happens after the current step. */
  readonly onSchedule: (schedule: string, step: number) => void;
  readonly children: (marks: LineMarks) => ComponentChildren;
}

/** A run: the code with its current line, the diagram, and the panel with the store, the controls and the choices. */
export function RunView({
  source,
  world,
  run,
  step,
  code,
  onMove,
  onSchedule,
  children,
}: RunViewProps) {
  const last = run.trace.length;
  useKeys(step, last, onMove);
  const moment = moments(run.names, run.trace)[step]?.markup.replace(/ hidden>/, '>') ?? '';
  return (
    <div class={`run desk n${run.names.length}`}>
      <div class="desk-code">{children(lineMarks(run, step, code))}</div>
      <Diagram run={run} step={step} />
      <div class="panel">
        <Controls step={step} last={last} onMove={onMove} />
        <div aria-live="polite" dangerouslySetInnerHTML={{ __html: moment }} />
        <Choices source={source} world={world} run={run} step={step} onSchedule={onSchedule} />
      </div>
    </div>
  );
}

function Diagram({ run, step }: { readonly run: Run; readonly step: number }) {
  const text = useText();
  const box = useRef<HTMLDivElement>(null);
  const wasShown = useRef(false);
  const { markup } = diagram(run.names, run.trace);
  useEffect(() => {
    const rows = [...(box.current?.querySelectorAll('.step') ?? [])];
    for (const [at, row] of rows.entries()) {
      row.classList.toggle('now', at + 1 === step);
      row.classList.toggle('later', at + 1 > step);
    }
    const shown = rows[Math.max(step - 1, 0)];
    // A page begins at its top.
    if (shown !== undefined && wasShown.current && !isVisible(shown))
      shown.scrollIntoView({ block: 'center' });
    wasShown.current = true;
  }, [markup, step]);
  const failed = run.violations.filter((each) => each.step <= step);
  return (
    <div class="diagram">
      <div ref={box} dangerouslySetInnerHTML={{ __html: markup }} />
      {run.trace.length === 0 && (
        <p class="nothing-yet">
          {text({
            en: 'Choose the first step, or search: the run is drawn here, with time running down.',
            zh: '选择第一步，或者搜索：运行会画在这里，时间自上而下。',
          })}
        </p>
      )}
      <div aria-live="polite">
        {failed.map(({ check, sentence, isPromised }) => (
          <p key={check} class={isPromised ? 'violation' : 'violation beyond'}>
            {isPromised ? '✗' : '~'} {text(sentence)} <CheckLabel name={check} />
          </p>
        ))}
        {failed.length === 0 && step === run.trace.length && step > 0 && (
          <p class="violation kept">
            {text({ en: '✓ No check fails in this run.', zh: '✓ 这次运行中没有检查失败。' })}
          </p>
        )}
      </div>
    </div>
  );
}

function isVisible(row: Element): boolean {
  const { top, bottom } = row.getBoundingClientRect();
  return top >= 64 && bottom <= innerHeight - 48;
}

/** Milliseconds for each step of Play. */
const PLAY_MS = 900;

function Controls({
  step,
  last,
  onMove,
}: {
  readonly step: number;
  readonly last: number;
  readonly onMove: (step: number) => void;
}) {
  const text = useText();
  const [plays, setPlays] = useState(false);
  useEffect(() => {
    if (!plays) return undefined;
    if (step >= last) {
      setPlays(false);
      return undefined;
    }
    const timer = setTimeout(() => onMove(step + 1), PLAY_MS);
    return () => clearTimeout(timer);
  }, [plays, step, last]);
  const play = (): void => {
    if (!plays && step >= last) onMove(0);
    setPlays(!plays);
  };
  return (
    <div class="player">
      <button type="button" class="play" disabled={last === 0} onClick={play}>
        <span aria-hidden="true">{plays ? '❚❚' : '▶'}</span>{' '}
        {text(plays ? { en: 'Stop', zh: '停止' } : { en: 'Play', zh: '播放' })}
      </button>
      <button
        type="button"
        disabled={step === 0}
        aria-label={text({ en: 'one step back', zh: '上一步' })}
        onClick={() => onMove(step - 1)}
      >
        ◂
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={step}
        aria-label={text({ en: 'Step', zh: '步' })}
        onInput={(event) => onMove(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        disabled={step >= last}
        aria-label={text({ en: 'one step forward', zh: '下一步' })}
        onClick={() => onMove(step + 1)}
      >
        ▸
      </button>
      <output class="step-count">
        {step} / {last}
      </output>
    </div>
  );
}

/** The arrow keys step, unless a control that uses them has the focus. */
function useKeys(step: number, last: number, onMove: (step: number) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.role === 'tab') return;
      const to = KEYS[event.key]?.(step, last);
      if (to === undefined || to < 0 || to > last) return;
      event.preventDefault();
      onMove(to);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [step, last, onMove]);
}

const KEYS: Readonly<Record<string, (step: number, last: number) => number>> = {
  ArrowRight: (step) => step + 1,
  ArrowLeft: (step) => step - 1,
};

type ChoicesProps = Pick<RunViewProps, 'source' | 'world' | 'run' | 'step' | 'onSchedule'>;

/** What can happen after the current step. A choice cuts the run there, and goes on with it. */
function Choices({ source, world, run, step, onSchedule }: ChoicesProps) {
  const text = useText();
  const prefix = run.labels.slice(0, step).join('');
  const { run: here } = useRun(source, world, prefix);
  if (here === undefined || here.schedule !== prefix) return <div class="choices" />;
  const taken = run.labels[step];
  return (
    <div class="choices">
      <h2>{text({ en: 'What happens next? You choose', zh: '接下来发生什么？由你选择' })}</h2>
      {here.next.length === 0 && <p>{text({ en: 'The run is over.', zh: '运行结束。' })}</p>}
      <div class="choice-buttons">
        {here.next.map((label) => (
          <button
            key={label}
            type="button"
            class={`choice c${choiceClient(label)}${isFault(label) ? ' trouble' : ''}`}
            aria-pressed={label === taken}
            onClick={() => onSchedule(label === taken ? run.schedule : prefix + label, step + 1)}
          >
            {text(choiceText(label))}
          </button>
        ))}
      </div>
    </div>
  );
}
