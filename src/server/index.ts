export { ServerError, type ServerErrorCode } from './errors.ts';
export { type Server, type ServerOptions, startServer } from './server.ts';
