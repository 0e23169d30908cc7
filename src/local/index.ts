export { LocalError, type LocalErrorCode } from './errors.ts';
export {
  findLocalAddress,
  type LocalOptions,
  localAddress,
  openLocalSession,
} from './local-server.ts';
export { LOST_GRACE_MS } from './lost-grace.ts';
