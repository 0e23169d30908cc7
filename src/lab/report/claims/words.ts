import { DOCUMENTS, type Text, type WorldOptions } from '../../index.ts';
import type { Claim, ClaimVerdict, ReplayEvidence, SearchEvidence } from './claim.ts';

/** Signs and names of the verdicts, for the Markdown pages and the web page. */
export const VERDICTS: Readonly<
  Record<ClaimVerdict, { readonly sign: string; readonly text: Text }>
> = {
  right: { sign: '✓', text: { en: 'right', zh: '正确' } },
  conditional: { sign: '~', text: { en: 'right with a condition', zh: '有条件地正确' } },
  wrong: { sign: '✗', text: { en: 'wrong', zh: '错误' } },
};

export const CLAIMS_TITLE: Text = {
  en: 'Five documents on SETNX, claim by claim',
  zh: '五篇 SETNX 文档，逐条检验',
};

export const CLAIMS_LEAD: Text = {
  en: 'Each statement of the documents in our own words, with the verdict, the reason, the right form, and evidence that can be repeated. A test repeats all of it: the dialogues on the engine and on redis-server 7.0.15, the schedules and searches in the lab, the figures.',
  zh: '逐条列出文档的说法（用我们自己的话转述），给出结论、理由、正确写法和可以复现的证据。所有证据都由测试执行：对话同时在引擎和 redis-server 7.0.15 上运行，执行顺序和搜索在实验室里重放，数字重新计算。',
};

export const QUESTIONS_TITLE: Text = { en: 'Questions answered', zh: '问题与回答' };

/** The column heads, in the order of the columns. */
export const COLUMNS = {
  number: { en: 'No.', zh: '编号' },
  claim: { en: 'Claim', zh: '说法' },
  verdict: { en: 'Verdict', zh: '结论' },
  reason: { en: 'Why', zh: '理由' },
  rightForm: { en: 'Right form', zh: '正确写法' },
  evidence: { en: 'Evidence', zh: '证据' },
} as const satisfies Record<string, Text>;

/** The name, title and description of a document. */
export function documentText(document: Claim['document']): DocumentText {
  const name = NAMES[document];
  if (document === 'implied') return { name, title: name, about: IMPLIED };
  const { title, about } = DOCUMENTS[document];
  return { name, title: { en: `${name.en}: ${title}`, zh: `${name.zh}：${title}` }, about };
}

interface DocumentText {
  readonly name: Text;
  /** The name, and the document's own title. */
  readonly title: Text;
  readonly about: Text;
}

const NAMES: Readonly<Record<Claim['document'], Text>> = {
  notes: { en: 'Notes', zh: '笔记' },
  interview: { en: 'Interview', zh: '面试题' },
  reference: { en: 'Reference', zh: '命令参考' },
  article: { en: 'Article', zh: '文章' },
  manual: { en: 'Manual', zh: '手册' },
  implied: { en: 'Not said, but needed', zh: '没有明说的前提' },
};

const IMPLIED: Text = {
  en: 'What recipes of several documents depend on',
  zh: '多篇文档的写法都依赖的前提',
};

/** `claims 1 and 2`, `第 1、2 条`: where a text names other claims. */
export const CLAIM_REFERENCE = /\b[Cc]laims? [\d, and]*\d|第 [\d、]+ 条/g;

/** The command line that repeats a replay or a search. */
export function commandOf(evidence: ReplayEvidence | SearchEvidence): string {
  const { recipe, variant, world } = evidence;
  const task =
    evidence.kind === 'replay' ? `replay ${recipe} ${evidence.schedule}` : `run ${recipe}`;
  const options = Object.entries(world).map(
    ([name, value]) => ` ${FLAGS[name as WorldOption]} ${value}`,
  );
  return `holdfast lab ${task} --variant ${variant}${options.join('')}`;
}

type WorldOption = keyof WorldOptions;

const FLAGS: Readonly<Record<WorldOption, string>> = {
  clients: '--clients',
  rounds: '--rounds',
  ticks: '--ticks',
  tickMs: '--tick-ms',
  stepTicks: '--step-ticks',
  crashes: '--crashes',
  pauses: '--pauses',
  lostReplies: '--lost-replies',
  skews: '--skews',
};

/** The result of the replay or the search. */
export function findingOf({ fails }: ReplayEvidence | SearchEvidence): Text {
  const checks = typeof fails === 'string' ? [fails] : (fails ?? []);
  if (checks.length === 0) return { en: 'nothing fails', zh: '没有失败' };
  return { en: `fails: ${checks.join(', ')}`, zh: `失败：${checks.join('、')}` };
}
