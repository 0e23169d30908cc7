export { LocalError, type LocalErrorCode } from './errors.ts';
export { type LocalEnvironment, prepareFolder } from './folder.ts';
export { localFolder } from './local-folder.ts';
export {
  findLocalAddress,
  type LocalOptions,
  localAddress,
  openLocalSession,
} from './local-server.ts';
export { LOST_GRACE_MS } from './lost-grace.ts';
