import type { Check, CheckName } from './checks/check.ts';
import { CHECKS } from './checks/index.ts';
import { type Choice, clientName, parseSchedule, scheduleText } from './choice.ts';
import { LabError } from './lab-error.ts';
import type { WorldOptions } from './options.ts';
import type { Algorithm, Text } from './recipe.ts';
import { type Setting, settingOf } from './setting.ts';
import type { State } from './state.ts';
import { violationIn } from './strategies/violation.ts';
import { type TraceStep, traceStep } from './trace.ts';
import { isPromised } from './verdict.ts';
import { type Move, World } from './world.ts';

export interface ReplayOptions extends Partial<WorldOptions> {
  readonly variant?: string;
}

export interface Replay extends Setting {
  readonly schedule: string;
  readonly trace: readonly TraceStep[];
  /** The first failure of each check that failed, in the order of the steps. */
  readonly violations: readonly Violation[];
  /** The line of the recipe for each step; null if the recipe is not a text, or the step is not one of a client. */
  readonly lines: readonly (number | null)[];
  /** The choices that are possible after the schedule. */
  readonly next: readonly string[];
}

export interface Violation {
  readonly check: CheckName;
  /** The step after which the check fails, from 1; 0 if it fails before the first step. */
  readonly step: number;
  readonly sentence: Text;
  /** False if the variant lists the check as `unpromised`. */
  readonly isPromised: boolean;
}

/** Runs a schedule step by step on one engine that is never restored to an earlier state. */
export function replay(
  recipe: Algorithm | string,
  schedule: string,
  options: ReplayOptions = {},
): Replay {
  const setting = settingOf(recipe, options);
  const world = new World(setting.recipe, setting.variant.name, setting.world, false);
  const choices = parseSchedule(schedule);
  const moves = follow(world, choices);
  const last = moves.at(-1)?.after ?? world.initial;
  return {
    ...setting,
    schedule: scheduleText(choices),
    trace: moves.map((move, index) => traceStep(index + 1, move)),
    violations: firstViolations(world, moves, setting),
    lines: moves.map(({ step }) => step?.line ?? null),
    next: world.choices(last).map(({ label }) => label),
  };
}

function follow(world: World, choices: readonly Choice[]): Move[] {
  const moves: Move[] = [];
  let state = world.initial;
  for (const [index, choice] of choices.entries()) {
    if (!world.choices(state).includes(choice)) throw misfit(world, state, choice, index + 1);
    const move = world.step(state, choice);
    moves.push(move);
    state = move.after;
  }
  return moves;
}

/** A check may fail at step 0, before the first step, if clients enter without a command. */
function firstViolations(world: World, moves: readonly Move[], setting: Setting): Violation[] {
  const violations = CHECKS.flatMap((check): Violation[] => {
    const [step, sentence] = firstViolation(world, check, moves) ?? [];
    if (step === undefined || sentence === undefined) return [];
    const { name } = check;
    const isKept = isPromised(setting, name);
    return [{ check: name, step, sentence: atStep(step, sentence), isPromised: isKept }];
  });
  return violations.sort((a, b) => a.step - b.step);
}

function firstViolation(
  world: World,
  check: Check,
  moves: readonly Move[],
): [step: number, sentence: Text] | undefined {
  const atOnce = check.ofState?.(world.initial, world);
  if (atOnce !== undefined) return [0, atOnce];
  for (const [index, move] of moves.entries()) {
    const sentence = violationIn(world, check, move);
    if (sentence !== undefined) return [index + 1, sentence];
  }
  return undefined;
}

function atStep(step: number, { en, zh }: Text): Text {
  return { en: `Step ${step}: ${en}.`, zh: `第 ${step} 步：${zh}。` };
}

function misfit(world: World, state: State, choice: Choice, step: number): LabError {
  const choices = world.choices(state);
  const labels = choices.map(({ label }) => label);
  if (labels.length === 0) {
    return new LabError(`step ${step}, "${choice.label}", does not fit: the run is over before it`);
  }
  const nearest = choices.find(({ client }) => client === choice.client) ?? choices[0]!;
  return new LabError(
    `step ${step}, "${choice.label}", does not fit: ${reason(world, state, choice)}. ` +
      `What fits is ${labels.join(', ')}; the nearest is ${nearest.label}`,
  );
}

function reason(world: World, { clients, left, nowMs }: State, { kind, client }: Choice): string {
  const state = clients[client];
  const name = clientName(client);
  if (kind === 'tick')
    return `the clock stands still, or its ${world.options.ticks} ticks are over`;
  if (state === undefined) {
    const [first, last] = [clientName(0), clientName(clients.length - 1)];
    return `there is no ${name}, only ${first === last ? first : `${first} to ${last}`}`;
  }
  if (kind === 'crash' && left.crashes === 0) return 'no crash is left';
  if (kind === 'pause' && left.pauses === 0) return 'no pause is left';
  if (kind === 'lose' && left.lostReplies === 0) return 'no lost reply is left';
  if (kind === 'ahead' || kind === 'behind') return 'clocks are skewed at the start or not at all';
  const wakes = `, for ${(state.wakeMs - nowMs) / 1000} s more`;
  return `${name} is ${state.status}${state.status === 'asleep' ? wakes : ''}`;
}
