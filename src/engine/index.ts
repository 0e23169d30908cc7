export { BLOCKED, type Blocked } from './blocking.ts';
export { CLIENT_BYTES, type ClientMemory, type ClientPool } from './client-memory.ts';
export type { Command, Outcome } from './command.ts';
export { type AclFile } from './acl/acl.ts';
export { COMMANDS } from './commands/index.ts';
export { createEngine, type Engine, type EngineOptions } from './engine.ts';
export { execute, executeNow, runsManyCommands } from './execute.ts';
export { argumentBytes } from './footprint.ts';
export type { Session, SessionListener } from './session.ts';
