export type { Check, CheckName } from './checks/check.ts';
export { CHECKS } from './checks/index.ts';
export type { ChoiceKind } from './choice.ts';
export {
  type Exploration,
  type ExploreOptions,
  explore,
  type Failure,
  type Progress,
  type Verdict,
} from './explore.ts';
export {
  exploreAtRandom,
  type RandomExploration,
  type RandomFailure,
  type RandomOptions,
  type RandomProgress,
} from './explore-at-random.ts';
export { LabError } from './lab-error.ts';
export type { WorldOptions } from './options.ts';
export type {
  Algorithm,
  Answer,
  Client,
  Doing,
  Lease,
  Outcome,
  Recipe,
  Source,
  Text,
  Tools,
  Variant,
} from './recipe.ts';
export { RECIPES } from './recipes/index.ts';
export { type Replay, type ReplayOptions, replay, type Violation } from './replay.ts';
export type { Setting } from './setting.ts';
export type { TraceClient, TraceKey, TraceStep } from './trace.ts';
export { isExpected } from './verdict.ts';
