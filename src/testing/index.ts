export { type VirtualClock, virtualClock } from '../clock/index.ts';
export {
  type Faults,
  type FaultyStore,
  type FaultyStoreOptions,
  faultyStore,
} from './faulty-store.ts';
export { type OtherProcess, type OtherProcessOptions, otherProcess } from './other-process.ts';
