export { type Address, AddressError, parseAddress } from './address.ts';
export { Batcher } from './batcher.ts';
export { Client, type ClientOptions } from './client.ts';
export { Connection, ConnectionError, openConnection, type Receiver } from './connection.ts';
export {
  type ExitCommands,
  isWrongType,
  type Script,
  type ScriptRunner,
  scriptOf,
} from './script-runner.ts';
