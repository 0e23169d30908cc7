import type { Protocol, Reply } from '../resp/index.ts';

/** What a script needs from its host. */
export interface LuaHost {
  /** Runs one Redis command. Errors are returned as ErrorReply, not thrown. */
  call(argv: string[]): Reply;
  /** redis.log, with one of redis.LOG_DEBUG (0) to redis.LOG_WARNING (3). */
  log(level: number, message: string): void;
  /** The clock that the budget's deadline is given in. */
  monotonicMs(): number;
  /** redis.setresp: the protocol of the replies to the script's later commands. */
  setProtocol(protocol: Protocol): void;
  /** redis.set_repl, with redis.REPL_NONE (0) to redis.REPL_ALL (3). */
  setReplication(flags: number): void;
  /** redis.acl_check_cmd: undefined when there is no such command. */
  mayCall(argv: string[]): boolean | undefined;
  /** redis.holdfast_event: the lock script reports what happened to a lock. Left out: events are ignored. */
  event?(type: string, key: string, token: string, fence: number): void;
}
