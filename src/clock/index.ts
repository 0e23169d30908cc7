export type { Clock, Timer } from './clock.ts';
export { DURATION_BOUNDS_S, DurationHistogram } from './duration-histogram.ts';
export { processMs } from './process-time.ts';
export { type Random, seededRandom } from './random.ts';
export { systemClock, systemRandom } from './system.ts';
export { type VirtualClock, virtualClock } from './virtual.ts';
