import type { Stampede, StampedeRun, Text, TimelineEntry } from '../index.ts';

/** The setting of the comparison, in a sentence or two. */
export function stampedeText({ clients: count, loadMs, databaseSlots, laterMs }: Stampede): Text {
  const [load, later] = [loadMs / 1000, laterMs / 1000];
  return {
    en: `${clients(count)} an expired cache entry at the same moment, and one more ${later} s later. A load takes ${load} s; the database runs ${databaseSlots} at a time. Real engine, real cache, virtual time.`,
    zh: `${count} 个客户端同时请求一条刚过期的缓存，${later} 秒后再来一个。加载一次需 ${load} 秒，数据库同时只能执行 ${databaseSlots} 个。真实的引擎和缓存，虚拟时间；表中时间以秒计。`,
  };
}

interface Column {
  readonly title: Text;
  readonly isNumber: boolean;
  readonly cell: (run: StampedeRun) => Text;
}

/** The table, on the terminal and on the page. */
export const STAMPEDE_COLUMNS: readonly Column[] = [
  { title: { en: 'refreshed by', zh: '刷新方式' }, isNumber: false, cell: ({ about }) => about },
  { title: { en: 'loads', zh: '加载' }, isNumber: true, cell: ({ loads }) => same(String(loads)) },
  { title: { en: 'answers', zh: '得到的回答' }, isNumber: false, cell: answersText },
  {
    title: { en: 'last, s', zh: '最后' },
    isNumber: true,
    cell: ({ lastAnswerMs }) => timeText(lastAnswerMs),
  },
  {
    title: { en: 'new, s', zh: '新值' },
    isNumber: true,
    cell: ({ refreshedMs }) => timeText(refreshedMs),
  },
];

/** `0.000 s` or `1.003–20.003 s`. */
export function momentText({ fromMs, toMs }: TimelineEntry): string {
  const [from, to] = [seconds(fromMs), seconds(toMs)];
  return from === to ? `${from} s` : `${from}–${to} s`;
}

export function happeningText({ kind, count }: TimelineEntry): Text {
  return HAPPENINGS[kind](count);
}

const HAPPENINGS: Readonly<Record<TimelineEntry['kind'], (count: number) => Text>> = {
  ask: (count) => ({ en: `${clients(count)} the entry`, zh: `${count} 个客户端请求这条缓存` }),
  'ask-later': () => ({ en: 'one more client requests it', zh: '又一个客户端来请求' }),
  load: (count) => ({
    en: count === 1 ? '1 load begins' : `${count} loads begin`,
    zh: `开始 ${count} 次加载`,
  }),
  refreshed: () => ({ en: 'the new value is loaded', zh: '新值加载完成' }),
  crash: () => ({ en: 'the client that loads it crashes', zh: '正在加载的客户端崩溃' }),
  new: (count) => ({ en: `${have(count)} the new value`, zh: `${count} 个客户端得到新值` }),
  old: (count) => ({ en: `${have(count)} the old value`, zh: `${count} 个客户端得到旧值` }),
  none: (count) => ({ en: `${have(count)} no answer yet`, zh: `${count} 个客户端仍没有得到回答` }),
  locked: () => ({ en: 'the lock is still held, without expiry', zh: '锁还在，而且永不过期' }),
};

function clients(count: number): string {
  return count === 1 ? '1 client requests' : `${count} clients request`;
}

function have(count: number): string {
  return count === 1 ? '1 client has' : `${count} clients have`;
}

function answersText({ answers }: StampedeRun): Text {
  const parts = ANSWERS.filter(({ kind }) => answers[kind] > 0);
  return {
    en: parts.map(({ kind, en }) => `${answers[kind]} ${en}`).join(', '),
    zh: parts.map(({ kind, zh }) => `${answers[kind]} 个${zh}`).join('，'),
  };
}

const ANSWERS = [
  { kind: 'new', en: 'new', zh: '新值' },
  { kind: 'old', en: 'old', zh: '旧值' },
  { kind: 'none', en: 'none', zh: '无回答' },
  { kind: 'died', en: 'died', zh: '崩溃' },
] as const satisfies readonly ({ readonly kind: keyof StampedeRun['answers'] } & Text)[];

function timeText(ms: number | null): Text {
  return ms === null ? { en: 'never', zh: '从未' } : same(seconds(ms));
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function same(text: string): Text {
  return { en: text, zh: text };
}
