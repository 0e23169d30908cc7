import { useEffect, useRef, useState } from 'preact/hooks';
import type { Text, Verdict } from '../../../src/lab/index.ts';
import {
  chanceText,
  countText,
  stepsText,
  UNPROMISED,
  worldText,
} from '../../../src/lab/report/words.ts';
import { CheckLabel } from '../parts/marks.tsx';
import { useText } from '../preferences.ts';
import { RecipeFault, type Search, startSearch } from './desk.ts';
import type { Fault, RecipeSource, SearchResult, WorldChange } from './messages.ts';

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly states: number; readonly seconds: number }
  | { readonly kind: 'found'; readonly result: SearchResult }
  | { readonly kind: 'failed'; readonly fault: Fault };

interface SearchPanelProps {
  readonly source: RecipeSource;
  readonly world: WorldChange;
  /** Called with the schedule of a failure: at the end of a search, and when the reader chooses one. */
  readonly onShow: (schedule: string) => void;
  /** True: the failure is shown as soon as the search has found it. */
  readonly showsFailure: boolean;
}

/** Searches all interleavings in a worker, and shows the verdict of each check. */
export function SearchPanel({ source, world, onShow, showsFailure }: SearchPanelProps) {
  const text = useText();
  const [state, setState] = useState<State>({ kind: 'idle' });
  const search = useRef<Search | undefined>(undefined);
  const stop = (): void => {
    search.current?.cancel();
    search.current = undefined;
  };
  const key = JSON.stringify([source, world]);
  useEffect(() => {
    stop();
    setState({ kind: 'idle' });
    return stop;
  }, [key]);

  const start = (): void => {
    stop();
    setState({ kind: 'running', states: 0, seconds: 0 });
    const own = startSearch(source, world, (states, seconds) =>
      setState({ kind: 'running', states, seconds }),
    );
    search.current = own;
    own.result.then(
      (result) => {
        if (search.current !== own) return;
        setState({ kind: 'found', result });
        if (showsFailure && result.failure !== null) onShow(result.failure.schedule);
      },
      (error: unknown) => {
        if (search.current === own && error instanceof RecipeFault)
          setState({ kind: 'failed', fault: error.fault });
      },
    );
  };
  const cancel = (): void => {
    stop();
    setState({ kind: 'idle' });
  };

  return (
    <section class="search" aria-labelledby="search-title">
      <div class="search-head">
        <h2 id="search-title">{text({ en: 'Every interleaving', zh: '所有交错' })}</h2>
        {state.kind === 'running' ? (
          <button type="button" onClick={cancel}>
            {text({ en: 'Cancel', zh: '取消' })}
          </button>
        ) : (
          <button type="button" class="primary" onClick={start}>
            {text({ en: 'Search now', zh: '现在搜索' })}
          </button>
        )}
      </div>
      <div aria-live="polite">
        {state.kind === 'idle' && <p class="hint">{text(HINT)}</p>}
        {state.kind === 'running' && (
          <p class="progress">
            <progress aria-label={text({ en: 'The search runs', zh: '搜索进行中' })} />{' '}
            {text({
              en: `${countText(state.states)} states, ${state.seconds.toFixed(1)} s`,
              zh: `${countText(state.states)} 个状态，${state.seconds.toFixed(1)} 秒`,
            })}
          </p>
        )}
        {state.kind === 'failed' && (
          <p class="fault-message">
            {state.fault.line !== null && <b>{text(lineText(state.fault.line))} </b>}
            {state.fault.message}
          </p>
        )}
        {state.kind === 'found' && <Result result={state.result} onShow={onShow} />}
      </div>
    </section>
  );
}

const HINT: Text = {
  en: 'Your browser runs the recipe through every order of steps, crashes and pauses of this world. Breadth-first: the first failure found is a shortest one.',
  zh: '浏览器会把算法放进这个环境的每一种步骤、崩溃与停顿的顺序里运行。广度优先：最先找到的失败就是最短的。',
};

export function lineText(line: number): Text {
  return { en: `Line ${line}:`, zh: `第 ${line} 行：` };
}

function Result({
  result,
  onShow,
}: {
  readonly result: SearchResult;
  readonly onShow: (schedule: string) => void;
}) {
  const text = useText();
  const { verdicts, states, interleavings, isComplete, seconds, world, keepsPromises } = result;
  const hasBeyond = verdicts.some(({ holds, isPromised }) => !holds && !isPromised);
  return (
    <>
      <p class={`headline ${keepsPromises ? 'good' : 'bad'}`}>{text(headline(result))}</p>
      <dl class="figures">
        <Figure title={{ en: 'interleavings', zh: '交错' }} value={countText(interleavings)} />
        <Figure title={{ en: 'states', zh: '状态' }} value={countText(states)} />
        {result.failingChance !== null && (
          <Figure
            title={{ en: 'random runs that fail', zh: '随机运行失败的比例' }}
            value={chanceText(result.failingChance)}
          />
        )}
        <Figure title={{ en: 'seconds', zh: '秒' }} value={seconds.toFixed(1)} />
        <Figure title={{ en: 'world', zh: '规模' }} value={text(worldText(world))} />
      </dl>
      {!isComplete && <p class="hint">{text(INCOMPLETE)}</p>}
      <ul class="verdict-list">
        {verdicts.map((verdict) => (
          <VerdictItem key={verdict.check} verdict={verdict} onShow={onShow} />
        ))}
      </ul>
      {hasBeyond && <p class="hint">~ {text(UNPROMISED)}</p>}
    </>
  );
}

const INCOMPLETE: Text = {
  en: 'The search stopped at its limit of states. What holds has held so far.',
  zh: '搜索到达状态数上限后停止，成立的检查只是目前成立。',
};

function headline({ keepsPromises, failure, isComplete }: SearchResult): Text {
  if (!keepsPromises) return { en: '✗ This lock fails.', zh: '✗ 这把锁会失败。' };
  if (!isComplete) return { en: '✓ Nothing fails so far.', zh: '✓ 目前没有发现问题。' };
  return failure === null
    ? { en: '✓ Nothing fails in any of them.', zh: '✓ 任何一种交错都没有问题。' }
    : { en: '✓ It keeps what a lease can promise.', zh: '✓ 租约能承诺的都做到了。' };
}

function Figure({ title, value }: { readonly title: Text; readonly value: string }) {
  const text = useText();
  return (
    <div>
      <dt>{text(title)}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function VerdictItem({
  verdict,
  onShow,
}: {
  readonly verdict: Verdict;
  readonly onShow: (schedule: string) => void;
}) {
  const text = useText();
  const { check, holds, isPromised, failure, failing } = verdict;
  const sign = holds ? '✓' : isPromised ? '✗' : '~';
  const kind = holds ? 'holds' : isPromised ? 'fails' : 'beyond';
  return (
    <li>
      <span class={`mark ${kind}`}>{sign}</span> <CheckLabel name={check} />
      {failure !== undefined && (
        <button type="button" class="link" onClick={() => onShow(failure.schedule)}>
          {text(stepsText(failure.steps))}
          {failing !== null && ` · ${chanceText(failing.chance)}`} ▸
        </button>
      )}
    </li>
  );
}
