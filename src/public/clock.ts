/** `holdfast/clock`: time and randomness as values, for tests that run on virtual time. */
export {
  type Clock,
  type Random,
  seededRandom,
  systemClock,
  systemRandom,
  type Timer,
  type VirtualClock,
  virtualClock,
} from '../clock/index.ts';
