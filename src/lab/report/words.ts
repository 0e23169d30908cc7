import type { ChoiceKind, Text, TraceClient, TraceStep, WorldOptions } from '../index.ts';

export type Language = keyof Text;

/** The action of a step: a command as it was sent, everything else in both languages. */
export function actionText(step: TraceStep): Text {
  if (step.kind !== 'step' && step.kind !== 'lose') return HAPPENINGS[step.kind](step);
  if (step.lines !== null) return same(step.action);
  const [, fence] = /^write with fence (\d+)$/.exec(step.action) ?? [];
  if (fence !== undefined) return { en: step.action, zh: `写入资源，防护令牌 ${fence}` };
  return known(step.action);
}

/** A command without EVAL and the number of keys. */
export function shortCommand(action: string): string {
  return action.replace(/^EVAL(?:SHA)? (<[^>]*>) \d+/, '$1');
}

export function replyText({ reply }: TraceStep): Text | null {
  return reply === null ? null : known(reply);
}

/** `3 clients, 6 s, at most 1 crash, 1 pause`. */
export function worldText(world: WorldOptions): Text {
  const parts = SIZES.filter(({ name, least }) => world[name] >= least).map(({ name, text }) =>
    text(world[name], world),
  );
  return {
    en: parts.map(({ en }) => en).join(', '),
    zh: parts.map(({ zh }) => zh).join('，'),
  };
}

export function statusText({ status, inside }: TraceClient): Text {
  const { en, zh } = STATUSES[status];
  if (!inside) return { en, zh };
  if (status === 'crashed') return { en: `${en}, its lock remains`, zh: `${zh}，锁还在` };
  return { en: `${en}, inside`, zh: `${zh}，持有锁` };
}

/** The remaining TTL of a key. */
export function ttlText(ttlMs: number | null): Text {
  return ttlMs === null ? { en: 'no expiry', zh: '不过期' } : same(`${ttlMs / 1000} s`);
}

/** The TTL in short, in the largest fitting unit. */
export function lifeText(ttlMs: number): string {
  return ttlMs < 3_600_000 ? `${ttlMs / 1000} s` : `${Math.round(ttlMs / 3_600_000)} h`;
}

export function durationText(durationMs: number): string {
  return durationMs % 1000 === 0 || durationMs > 1000
    ? `${durationMs / 1000} s`
    : `${durationMs} ms`;
}

function inBoth(duration: string): Text {
  return { en: duration, zh: inChinese(duration) };
}

function inChinese(duration: string): string {
  return duration.replace(/ms$/, '毫秒').replace(/s$/, '秒');
}

/** A probability with two digits. A value above zero is never shown as zero. */
export function chanceText(chance: number): string {
  const percent = chance * 100;
  if (chance > 0 && percent < 0.001) return '< 0.001 %';
  return `${Number(percent.toPrecision(2))} %`;
}

export const GONE: Text = { en: 'is gone', zh: '已删除' };

/** The note on a failure that the recipe does not promise to prevent. */
export const UNPROMISED: Text = {
  en: 'is not promised: a lease cannot stop a paused holder from resuming. A fence makes that harmless if the resource checks it.',
  zh: '不在承诺之内：任何租约都拦不住停顿过的持有者继续操作；若资源检查防护令牌，就不会造成损害。',
};

export function countText(count: number | bigint): string {
  return count.toLocaleString('en');
}

export function stepsText(count: number): Text {
  return { en: count === 1 ? '1 step' : `${count} steps`, zh: `${count} 步` };
}

function same(text: string): Text {
  return { en: text, zh: text };
}

function known(text: string): Text {
  return { en: text, zh: IN_CHINESE.get(text) ?? text };
}

const IN_CHINESE: ReadonlyMap<string, string> = new Map([
  ['unix time', '读取本机时间'],
  ['unix time in ms', '读取本机时间（毫秒）'],
  ['write', '写入资源'],
  ['taken', '接受'],
  ['refused', '拒绝'],
  ['message', '收到消息'],
  ['(the reply is lost)', '（回复丢失）'],
  ['(the message is lost)', '（消息丢失）'],
]);

type Happening = (step: TraceStep) => Text;

const HAPPENINGS: Readonly<Record<Exclude<ChoiceKind, 'step' | 'lose'>, Happening>> = {
  tick: ({ action }) => ({ en: action, zh: `过了 ${inChinese(action.replace(' passes', ''))}` }),
  crash: ({ client }) => ({ en: `${client} crashes`, zh: `${client} 崩溃` }),
  pause: ({ client }) => ({ en: `${client} is paused`, zh: `${client} 停顿` }),
  resume: ({ client }) => ({ en: `${client} resumes`, zh: `${client} 继续运行` }),
  ahead: ({ client, action }) => ({
    en: `${client}’s clock is ${skew(action)} s ahead`,
    zh: `${client} 的时钟快 ${skew(action)} 秒`,
  }),
  behind: ({ client, action }) => ({
    en: `${client}’s clock is ${skew(action)} s behind`,
    zh: `${client} 的时钟慢 ${skew(action)} 秒`,
  }),
};

function skew(action: string): string {
  return /\d+/.exec(action)?.[0] ?? '';
}

const STATUSES: Readonly<Record<TraceClient['status'], Text>> = {
  ready: { en: 'ready', zh: '就绪' },
  asleep: { en: 'asleep', zh: '等待' },
  paused: { en: 'paused', zh: '停顿' },
  crashed: { en: 'crashed', zh: '崩溃' },
  finished: { en: 'finished', zh: '结束' },
};

interface Size {
  readonly name: keyof WorldOptions;
  /** Counts below this are left out. */
  readonly least: number;
  readonly text: (count: number, world: WorldOptions) => Text;
}

const SIZES: readonly Size[] = [
  { name: 'clients', least: 1, text: counted('client', 'clients', '个客户端') },
  { name: 'rounds', least: 2, text: counted('round each', 'rounds each', '轮') },
  { name: 'ticks', least: 0, text: (count, { tickMs }) => inBoth(durationText(count * tickMs)) },
  {
    name: 'stepTicks',
    least: 1,
    text: (count, { tickMs }) => {
      const { en, zh } = inBoth(durationText(count * tickMs));
      return { en: `${en} a command`, zh: `每条命令 ${zh}` };
    },
  },
  { name: 'crashes', least: 1, text: counted('crash', 'crashes', '次崩溃') },
  { name: 'pauses', least: 1, text: counted('pause', 'pauses', '次停顿') },
  { name: 'lostReplies', least: 1, text: counted('lost reply', 'lost replies', '次回复丢失') },
  { name: 'skews', least: 1, text: counted('skewed clock', 'skewed clocks', '个时钟偏差') },
];

function counted(one: string, many: string, zh: string): (count: number) => Text {
  return (count) => ({ en: `${count} ${count === 1 ? one : many}`, zh: `${count} ${zh}` });
}
