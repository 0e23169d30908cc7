export { ServerError, type ServerErrorCode } from './errors.ts';
export { makeFolder } from './make-folder.ts';
export { type Server, type ServerOptions, startServer } from './server.ts';
