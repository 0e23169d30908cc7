import { useEffect, useRef, useState } from 'preact/hooks';
import { clearStore, runCommand, waitFor } from '../lab/desk.ts';
import type { ConsoleReply } from '../lab/messages.ts';
import { useText } from '../preferences.ts';

/** A line of the console: what was typed, a reply, or time that passed. */
interface Entry {
  readonly kind: 'command' | 'reply' | 'wait';
  readonly client: string | null;
  readonly text: string;
}

export interface ConsoleState {
  readonly entries: readonly Entry[];
  readonly seconds: number;
  run(client: string, line: string): Promise<void>;
  wait(seconds: number): Promise<void>;
  clear(): Promise<void>;
}

const MAX_ENTRIES = 500;
const MAX_LINE = 4096;

/** A store in the browser, empty at first. */
export function useConsole(): ConsoleState {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [seconds, setSeconds] = useState(0);
  const add = (more: readonly Entry[]): void =>
    setEntries((before) => [...before, ...more].slice(-MAX_ENTRIES));
  const clear = async (): Promise<void> => {
    await clearStore();
    setEntries([]);
    setSeconds(0);
  };
  useEffect(() => {
    void clear();
  }, []);
  return {
    entries,
    seconds,
    clear,
    async run(client, line) {
      const command: Entry = { kind: 'command', client, text: line };
      const replies = await runCommand(client, line.slice(0, MAX_LINE));
      add([command, ...replies.map(replyEntry)]);
    },
    async wait(more) {
      const replies = await waitFor(more * 1000);
      setSeconds((before) => before + more);
      add([{ kind: 'wait', client: null, text: `${more} s` }, ...replies.map(replyEntry)]);
    },
  };
}

function replyEntry({ client, text }: ConsoleReply): Entry {
  return { kind: 'reply', client, text };
}

const CLIENTS = ['A', 'B', 'C'];

/** Commands of several clients and their replies, with a clock that moves by a button. */
export function Console({ console }: { readonly console: ConsoleState }) {
  const text = useText();
  const [client, setClient] = useState('A');
  const [line, setLine] = useState('');
  const output = useRef<HTMLDivElement>(null);
  useEffect(() => {
    output.current?.scrollTo({ top: output.current.scrollHeight });
  }, [console.entries]);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (line.trim() === '') return;
    void console.run(client, line);
    setLine('');
  };
  return (
    <section class="console" aria-label={text({ en: 'Console', zh: '控制台' })}>
      <div class="console-head">
        <span>{text({ en: 'a store in this page', zh: '页面里的存储' })}</span>
        <span class="clock">
          ◷ {console.seconds} {text({ en: 's', zh: '秒' })}
        </span>
      </div>
      <div
        class="console-output"
        role="log"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        tabIndex={0}
        ref={output}
        aria-label={text({ en: 'Replies', zh: '回复' })}
      >
        {console.entries.length === 0 && <p class="empty">{text(EMPTY)}</p>}
        {console.entries.map((entry, at) => (
          <EntryLine key={at} entry={entry} />
        ))}
      </div>
      <form class="console-input" onSubmit={submit}>
        <select
          class={`c${CLIENTS.indexOf(client)}`}
          aria-label={text({ en: 'Client', zh: '客户端' })}
          value={client}
          onChange={(event) => setClient(event.currentTarget.value)}
        >
          {CLIENTS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          type="text"
          aria-label={text({ en: 'Command', zh: '命令' })}
          placeholder="SETNX lock 1"
          maxLength={MAX_LINE}
          spellcheck={false}
          autocomplete="off"
          value={line}
          onInput={(event) => setLine(event.currentTarget.value)}
        />
        <button type="submit">{text({ en: 'Send', zh: '发送' })}</button>
      </form>
      <div class="console-buttons">
        {[1, 30].map((seconds) => (
          <button key={seconds} type="button" onClick={() => void console.wait(seconds)}>
            {text({ en: `wait ${seconds} s`, zh: `等待 ${seconds} 秒` })}
          </button>
        ))}
        <button type="button" onClick={() => void console.clear()}>
          {text({ en: 'Empty the store', zh: '清空存储' })}
        </button>
      </div>
    </section>
  );
}

const EMPTY = {
  en: 'Click a command of the text, or type one below. Time stands still until you let it pass.',
  zh: '点击正文里的命令，或在下面输入。时间静止不动，直到你让它流逝。',
};

function EntryLine({ entry }: { readonly entry: Entry }) {
  const name = entry.client === null ? '' : `c${entry.client.charCodeAt(0) - 65}`;
  if (entry.kind === 'wait') return <p class="entry passed">◷ + {entry.text}</p>;
  return (
    <p class={`entry ${entry.kind === 'command' ? 'sent' : 'answer'} ${name}`}>
      <b>{entry.client}</b>
      <span>{entry.text}</span>
    </p>
  );
}
