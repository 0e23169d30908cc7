import catalog from 'virtual:catalog';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Text } from '../../../src/lab/index.ts';
import type { LineMarks } from '../parts/listing.tsx';
import { useText } from '../preferences.ts';
import { moveTo, type Route } from '../route.ts';
import type { Fault, RecipeSource, Run, WorldChange } from './messages.ts';
import { RunView } from './run-view.tsx';
import { lineText, SearchPanel } from './search-panel.tsx';
import { useRun } from './use-run.ts';

type EditRoute = Extract<Route, { view: 'edit' }>;

/** The reader's own recipe: its text, its world, the search, and a run step by step. All of it is in the URL. */
export function EditView({ route }: { readonly route: EditRoute }) {
  const text = useText();
  const code = route.text ?? catalog.recipes.find(({ name }) => name === FIRST)!.variants[0]!.text;
  const world = useMemo(() => worldOf(route.world), [route.world.join()]);
  const settled = useSettled(code);
  const source = useMemo<RecipeSource>(() => ({ kind: 'text', text: settled }), [settled]);
  const { run, fault } = useRun(source, world, route.schedule);
  const change = (changes: Partial<EditRoute>): void =>
    moveTo({ ...route, text: code, ...changes });
  const isPlaced = fault?.line != null;
  const step = Math.min(route.step ?? run?.trace.length ?? 0, run?.trace.length ?? 0);
  const editor = (marks: LineMarks) => (
    <Editor
      code={code}
      marks={marks}
      fault={fault}
      onChange={(next) => change({ text: next, schedule: '', step: null })}
    />
  );
  return (
    <article class="page wide edit-page">
      <h1>{text({ en: 'Break it yourself', zh: '亲手弄坏它' })}</h1>
      <p class="lead">{text(LEAD)}</p>
      <div class="edit-tools">
        <Templates onChoose={(next) => change({ text: next, schedule: '', step: null })} />
        <World
          world={route.world}
          onChange={(next) => change({ world: next, schedule: '', step: null })}
        />
        <ShareButton />
      </div>
      {fault !== undefined && (
        <p class="fault-message" role="alert">
          {isPlaced && <b>{text(lineText(fault.line!))} </b>}
          {fault.message}
          {!isPlaced && route.schedule !== '' && (
            <button type="button" onClick={() => change({ schedule: '', step: null })}>
              {text({ en: 'Start the run again', zh: '重新开始运行' })}
            </button>
          )}
        </p>
      )}
      <RunView
        source={source}
        world={world}
        run={run ?? NO_RUN}
        step={step}
        code=""
        onMove={(to) => change({ step: to })}
        onSchedule={(schedule, to) => change({ schedule, step: to })}
      >
        {editor}
      </RunView>
      <SearchPanel
        source={{ kind: 'text', text: code }}
        world={world}
        showsFailure
        onShow={(schedule) => change({ schedule, step: null })}
      />
      <p class="hint">{text(LANGUAGE)}</p>
    </article>
  );
}

const FIRST = 'set-nx-px-lua-del';
/** Shown until the first run, so that the editor stays the same element. */
const NO_RUN: Run = {
  names: [],
  variants: [],
  schedule: '',
  labels: [],
  trace: [],
  lines: [],
  violations: [],
  next: [],
};

const LEAD: Text = {
  en: 'Remove a line, swap two, or write a lock of your own. Then search, or choose yourself who moves next: the store and the checks answer at every step.',
  zh: '删掉一行、交换两行，或者写一把自己的锁。然后搜索，或者自己决定下一步轮到谁：每一步都能看到存储的内容和检查的结论。',
};
const LANGUAGE: Text = {
  en: 'The language is that of holdfast lab run ./my-recipe.txt; “A recipe as plain text” in docs/lab.md has all of it.',
  zh: '这里的语言与 holdfast lab run ./my-recipe.txt 相同，完整说明见 docs/lab.md 的 “A recipe as plain text”。',
};

/** The text when the reader has stopped typing for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

interface EditorProps {
  readonly code: string;
  readonly marks: LineMarks;
  readonly fault: Fault | undefined;
  readonly onChange: (code: string) => void;
}

const MAX_LENGTH = 16_384;

function Editor({ code, marks, fault, onChange }: EditorProps) {
  const text = useText();
  const lines = code.split('\n');
  return (
    <div class="editor">
      <ol class="gutter" aria-hidden="true">
        {lines.map((_, at) => (
          <li key={at} class={gutterClass(at + 1, marks, fault)}>
            {(marks.clients.get(at + 1) ?? []).map((client) => (
              <b key={client} class={`c${client}`}>
                {String.fromCharCode(65 + client)}
              </b>
            ))}
            {at + 1}
          </li>
        ))}
      </ol>
      <textarea
        aria-label={text({ en: 'The recipe', zh: '算法文本' })}
        aria-invalid={fault?.line != null}
        spellcheck={false}
        wrap="off"
        maxLength={MAX_LENGTH}
        rows={lines.length}
        value={code}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

function gutterClass(line: number, marks: LineMarks, fault: Fault | undefined): string | undefined {
  if (fault?.line === line) return 'wrong';
  return marks.current === line ? `now c${marks.client}` : undefined;
}

function Templates({ onChoose }: { readonly onChoose: (code: string) => void }) {
  const text = useText();
  const all = catalog.recipes
    .filter(({ isRunnable }) => isRunnable)
    .flatMap(({ name, variants }) =>
      variants
        .filter(
          (variant, at) => variants.findIndex(({ text: other }) => other === variant.text) === at,
        )
        .map((variant, at) => ({
          title: at === 0 ? name : `${name} ${variant.name}`,
          code: variant.text,
        })),
    );
  return (
    <label>
      {text({ en: 'Start from', zh: '起点' })}{' '}
      <select
        onChange={(event) => {
          const chosen = all[Number(event.currentTarget.value)];
          if (chosen !== undefined) onChoose(chosen.code);
        }}
      >
        <option value="">{text({ en: 'a recipe…', zh: '某个算法……' })}</option>
        {all.map(({ title }, at) => (
          <option key={title} value={at}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The sizes of the world, in the order of the URL. */
const SIZES = [
  { name: 'clients', usual: 2, from: 1, to: 4, title: { en: 'clients', zh: '客户端' } },
  { name: 'ticks', usual: 6, from: 0, to: 10, title: { en: 'seconds', zh: '秒' } },
  { name: 'crashes', usual: 1, from: 0, to: 2, title: { en: 'crashes', zh: '崩溃' } },
  { name: 'pauses', usual: 0, from: 0, to: 2, title: { en: 'pauses', zh: '停顿' } },
  { name: 'lostReplies', usual: 0, from: 0, to: 2, title: { en: 'lost replies', zh: '回复丢失' } },
] as const;

function worldOf(numbers: readonly number[]): WorldChange {
  return Object.fromEntries(
    SIZES.map(({ name, usual, from, to }, at) => [
      name,
      Math.min(Math.max(numbers[at] ?? usual, from), to),
    ]),
  );
}

function World({
  world,
  onChange,
}: {
  readonly world: readonly number[];
  readonly onChange: (world: readonly number[]) => void;
}) {
  const text = useText();
  const values = Object.values(worldOf(world));
  return (
    <fieldset class="world-sizes">
      <legend>{text({ en: 'World', zh: '环境' })}</legend>
      {SIZES.map(({ name, from, to, title }, at) => (
        <label key={name}>
          {text(title)}{' '}
          <input
            type="number"
            min={from}
            max={to}
            value={values[at]}
            onChange={(event) =>
              onChange(values.with(at, Math.round(Number(event.currentTarget.value))))
            }
          />
        </label>
      ))}
    </fieldset>
  );
}

function ShareButton() {
  const text = useText();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    void navigator.clipboard?.writeText(location.href).then(() => setCopied(true));
  };
  return (
    <button type="button" onClick={copy}>
      {text(isCopied ? { en: 'Copied', zh: '已复制' } : { en: 'Copy the link', zh: '复制链接' })}
    </button>
  );
}
