/** `holdfast/local`: the lock server of one user on one machine, which starts on demand. */
export {
  findLocalAddress,
  LocalError,
  type LocalErrorCode,
  type LocalOptions,
  localAddress,
  localFolder,
  openLocalSession,
} from '../local/index.ts';
