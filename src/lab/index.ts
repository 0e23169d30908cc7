export type { Check, CheckName } from './checks/check.ts';
export { CHECKS } from './checks/index.ts';
export type { ChoiceKind } from './choice.ts';
export { DOCUMENTS, type DocumentName } from './documents.ts';
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
export {
  exploreLibrary,
  exploreLibraryAtRandom,
  type LibraryExploration,
  type LibraryFailure,
  type LibraryOptions,
  type LibraryProgress,
  type LibraryReplay,
  type RandomLibraryOptions,
  replayLibrary,
} from './library/explore-library.ts';
export type { LibraryStep } from './library/replay.ts';
export { SCENARIOS, type Scenario } from './library/scenario.ts';
export { LIBRARY_CHECKS, type LibraryCheck } from './library/watcher.ts';
export type { WorldOptions } from './options.ts';
export { QUORUM_VARIANTS, type QuorumVariant } from './quorum/quorum-variants.ts';
export { type QuorumSearch, searchQuorum } from './quorum/search-quorum.ts';
export type {
  Algorithm,
  Answer,
  Client,
  Doing,
  Lease,
  Outcome,
  ReceivedMessage,
  Recipe,
  Source,
  Text,
  Tools,
  Variant,
} from './recipe.ts';
export { RECIPES } from './recipes/index.ts';
export { type Replay, type ReplayOptions, replay, type Violation } from './replay.ts';
export type { Setting } from './setting.ts';
export { replayFound, type SoakOptions, soak } from './soak.ts';
export {
  type Stampede,
  type StampedeOptions,
  type StampedeRun,
  stampede,
  type TimelineEntry,
} from './stampede/stampede.ts';
export type { FailingRuns } from './strategies/exhaustive.ts';
export { parseRecipe } from './text/parse-recipe.ts';
export type { TraceClient, TraceKey, TraceStep } from './trace.ts';
export { isExpected } from './verdict.ts';
