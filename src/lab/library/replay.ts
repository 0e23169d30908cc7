import { LabError } from '../lab-error.ts';
import { START_MS } from '../store.ts';
import type { Delivery } from './client.ts';
import { type Chosen, type Option, SIGNS } from './option.ts';
import { perform, type Run } from './perform.ts';
import type { Scenario } from './scenario.ts';
import { SharedStore } from './shared-store.ts';
import { type Faults, Stage } from './stage.ts';

/** One step of a run of the library, as text. */
export interface LibraryStep {
  readonly label: string;
  /** True for the usual step: the oldest thing in transit. */
  readonly isUsual: boolean;
  readonly seconds: number;
  readonly text: string;
}

export interface Played extends Run {
  readonly trace: readonly LibraryStep[];
  /** The choices taken, without impossible ones and without the usual steps at the end. */
  readonly chosen: readonly Chosen[];
}

/** No limit on faults: the schedule itself lists them. */
const ANY: Faults = { crashes: 99, pauses: 99, cuts: 99, losses: 99, breaks: 99 };

/** Replays a schedule on its own engine. Throws for an impossible choice, or skips it if `isLenient`. */
export async function playBack(
  scenario: Scenario,
  schedule: readonly Chosen[],
  isLenient = false,
  store = new SharedStore(scenario, false),
): Promise<Played> {
  const trace: LibraryStep[] = [];
  const chosen: Chosen[] = [];
  const run = await perform(new Stage(scenario, store, ANY), (stage, usual, step) => {
    const requested = schedule[step];
    const fits =
      requested === undefined || requested === usual || stage.others(usual).includes(requested);
    if (!fits && !isLenient) throw misfit(stage, usual, requested, step + 1);
    const taken = fits && requested !== undefined ? requested : usual;
    if (taken !== usual) chosen[step] = taken;
    trace.push(stepText(stage, taken, taken === usual));
    return taken;
  });
  return { ...run, trace, chosen: Array.from(chosen) };
}

function misfit(stage: Stage, usual: Option, requested: Option, step: number): LabError {
  const fits = [usual, ...stage.others(usual)];
  const nearest = fits.find(({ client }) => client === requested.client) ?? usual;
  return new LabError(
    `step ${step}, "${requested.label}", does not fit. What fits is ${fits.map(({ label }) => label).join(', ')}; ` +
      `the nearest is ${nearest.label}`,
  );
}

function stepText(stage: Stage, option: Option, isUsual: boolean): LibraryStep {
  const name = stage.clients[option.client]?.name ?? '';
  const subject = stage.subject(option);
  const what = subject === undefined ? '' : `: ${subjectText(subject)}`;
  const text = `${name === '' ? '' : `${name}, `}${SIGNS[option.sign]}${what}`;
  return { label: option.label, isUsual, seconds: (stage.nowMs - START_MS) / 1000, text };
}

function subjectText({ kind, request, value }: Delivery): string {
  if (kind === 'timer') return 'timer';
  if (kind === 'message') return short(String(value));
  if (request?.channel !== undefined) return `SUBSCRIBE ${request.channel}`;
  const sent = short(request!.args.join(' '));
  return kind === 'reply' ? `${sent} → ${short(JSON.stringify(value))}` : sent;
}

/** Removes the public info after each owner. */
function short(text: string): string {
  return text.replace(/ ?\[(?=["\\]).*?\]/g, '');
}
