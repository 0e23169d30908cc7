import type {
  Algorithm,
  Exploration,
  FailingRuns,
  Failure,
  Recipe,
  Replay,
  Text,
  Variant,
  Verdict,
} from '../../lab/index.ts';
import { chanceText, countText, stepsText, UNPROMISED, worldText } from '../../lab/report/index.ts';
import type { Look } from './diagram.ts';
import { type Conclusion, isSurprise } from './session.ts';
import { widthOf, wrap } from './text-width.ts';

/** Verdicts and counts as lines of text. */
export class Findings {
  readonly #look: Look;

  constructor(look: Look) {
    this.#look = look;
  }

  /** The name of a recipe and its description, if it has one. */
  recipe({ name, about }: Algorithm & Partial<Pick<Recipe, 'about'>>): string {
    const text = about === undefined ? [] : wrap(this.say(about), this.#look.width - 2);
    return [this.#look.paint('strong', name), ...text.map((line) => `  ${line}`)].join('\n');
  }

  /**
   * A variant in one line: `crash   ✗ held-for-ever, 2 steps   axa`. A variant that keeps its promises has a second line
   * for a failure that no lease can prevent.
   */
  variantLines(found: Exploration): string {
    const { variant, verdicts, failure, keepsPromises, isComplete } = found;
    const { paint } = this.#look;
    const name = `  ${variant.name.padEnd(NAME_WIDTH)} `;
    const surprise = verdicts.some((verdict) => isSurprise(verdict, isComplete))
      ? this.#surprise
      : '';
    const good = `${name}${paint('good', `✓ ${this.say(holdsIn(found))}`)}`;
    if (failure === undefined) return `${good}${surprise}`;
    if (!keepsPromises) return `${name}${this.#failure('✗', failure)}${surprise}`;
    return `${good}\n${' '.repeat(name.length)}${this.#failure('~', failure)}${surprise}`;
  }

  #failure(sign: '✗' | '~', { check, steps, schedule }: Failure): string {
    const { paint } = this.#look;
    const mark = `${sign} ${check}, ${this.say(stepsText(steps))}`;
    const gap = ' '.repeat(Math.max(VERDICT_WIDTH - widthOf(mark), 1));
    return `${paint(STYLES[sign], mark)}${gap}${paint('faint', schedule)}`;
  }

  /** The meaning of `~`, if it was printed. */
  legend(all: readonly Exploration[]): string {
    const isNeeded = all.some(({ verdicts }) => verdicts.some(isBeyond));
    return isNeeded ? `${wrap(`~ ${this.say(UNPROMISED)}`, this.#look.width).join('\n')}\n` : '';
  }

  /** The world of a search, and how many interleavings and states it covered. */
  search(found: Exploration): string {
    const { variant, world, states, interleavings, failing, isComplete, seconds } = found;
    const counts = {
      interleavings: countText(interleavings),
      states: countText(states),
      seconds: seconds.toFixed(1),
      rate: countText(Math.round(states / Math.max(seconds, 0.001))),
    };
    const lines = [
      ...(found.recipe.variants === undefined ? [] : [this.say(variantText(variant))]),
      this.say({ en: `World: ${worldText(world).en}`, zh: `规模：${worldText(world).zh}` }),
      this.say({
        en: `Covered: ${counts.interleavings} interleavings in ${counts.states} states, ${isComplete ? 'all there are' : 'then the search was stopped'} (${counts.seconds} s, ${counts.rate} states a second)`,
        zh: `覆盖：${counts.interleavings} 种交错，${counts.states} 个状态，${isComplete ? '全部走遍' : '搜索中止'}（${counts.seconds} 秒，每秒 ${counts.rate} 个状态）`,
      }),
      ...(failing === null ? [] : [this.say(failingText(failing))]),
    ];
    return lines.flatMap((line) => wrap(line, this.#look.width)).join('\n');
  }

  verdicts(found: Exploration): string {
    return found.verdicts.map((verdict) => this.#verdict(verdict, found)).join('\n');
  }

  get #surprise(): string {
    return this.#look.paint('error', `  (${this.say(SURPRISE)})`);
  }

  #verdict(verdict: Verdict, { isComplete }: Exploration): string {
    const { check, holds, failure, failing } = verdict;
    const { paint } = this.#look;
    const surprise = isSurprise(verdict, isComplete) ? this.#surprise : '';
    if (holds) return `  ${paint('good', `✓ ${check}`)}${surprise}`;
    const steps = this.say(stepsText(failure!.steps));
    const gap = ' '.repeat(Math.max(10 - widthOf(steps), 1));
    const sign = isBeyond(verdict) ? '~' : '✗';
    const mark = paint(STYLES[sign], `${sign} ${check.padEnd(NAME_WIDTH)}`);
    const chance = (failing === null ? '' : chanceText(failing.chance)).padStart(CHANCE_WIDTH);
    return `  ${mark} ${gap}${steps} ${chance}  ${paint('faint', failure!.schedule)}${surprise}`;
  }

  /** Whether all verdicts are as expected, as a sentence. */
  conclusion(conclusion: Conclusion): string {
    const style = conclusion === 'unexpected' ? 'error' : 'strong';
    return this.#look.paint(style, this.say(CONCLUSIONS[conclusion]));
  }

  /** After a replay: the checks that failed, and the possible next steps. */
  replayEnd({ violations, next }: Replay, conclusion: Conclusion): string {
    const choices = next.join(' ');
    const lines = [
      ...(violations.length === 0 ? [this.say(NO_VIOLATION)] : []),
      ...(choices === ''
        ? []
        : [this.say({ en: `Next could be: ${choices}`, zh: `接下来可以是：${choices}` })]),
      ...(conclusion === 'unexpected' ? [this.conclusion(conclusion)] : []),
    ];
    return lines.join('\n');
  }

  say(text: Text): string {
    return text[this.#look.language];
  }
}

const NAME_WIDTH = 18;
const VERDICT_WIDTH = 32;
const CHANCE_WIDTH = 9;

const SURPRISE: Text = { en: 'not expected', zh: '出乎意料' };
const NO_VIOLATION: Text = { en: 'No check fails in this run.', zh: '这次运行没有违反任何检查。' };

const STYLES = { '✗': 'error', '~': 'fault' } as const;

const CONCLUSIONS: Readonly<Record<Conclusion, Text>> = {
  expected: { en: 'Every verdict is the expected one.', zh: '所有结论都与预期一致。' },
  unexpected: { en: 'Not every verdict is the expected one.', zh: '有的结论出乎意料。' },
  stopped: {
    en: 'The search was stopped before it had seen everything.',
    zh: '搜索在走遍之前中止。',
  },
};

function failingText({ interleavings, chance }: FailingRuns): Text {
  if (interleavings === 0n) {
    return { en: 'Failing: none of the interleavings', zh: '失败：没有一种交错失败' };
  }
  const [count, share] = [countText(interleavings), chanceText(chance)];
  return {
    en: `Failing: ${count} of the interleavings; ${share} of the runs whose next step is drawn at random`,
    zh: `失败：其中 ${count} 种交错；若每一步随机选取，${share} 的运行会失败`,
  };
}

/** A failure that the recipe does not promise to prevent. */
function isBeyond({ holds, isPromised }: Verdict): boolean {
  return !holds && !isPromised;
}

/** The variants of a recipe file have names, but no descriptions. */
function variantText({ name, about }: Variant): Text {
  if (about.en === '') return { en: `Variant ${name}`, zh: `变体 ${name}` };
  return { en: `Variant ${name}: ${about.en}`, zh: `变体 ${name}：${about.zh}` };
}

function holdsIn({ interleavings, failure, isComplete }: Exploration): Text {
  const count = countText(interleavings);
  const [en, zh] = failure === undefined ? ['nothing', '问题'] : ['nothing promised', '违背承诺'];
  return isComplete
    ? { en: `${en} fails in ${count} interleavings`, zh: `${count} 种交错中没有${zh}` }
    : { en: `${en} failed in ${count} interleavings`, zh: `已走过的 ${count} 种交错没有${zh}` };
}
