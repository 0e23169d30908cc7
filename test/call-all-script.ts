import type { Argv } from './differential/generators.ts';

/** Calls the commands in ARGV. Each is preceded by its number of arguments. */
export const CALL_ALL = `
  local at = 1
  while at <= #ARGV do
    local count = tonumber(ARGV[at])
    redis.pcall(unpack(ARGV, at + 1, at + count))
    at = at + count + 1
  end`;

/** The same, until its budget stops it. */
export const CALL_ALL_FOR_EVER = `${CALL_ALL} while true do end`;

/** EVAL of one of these scripts. */
export function evaluation(script: string, calls: readonly Argv[]): Argv {
  return ['EVAL', script, '0', ...calls.flatMap((argv) => [`${argv.length}`, ...argv])];
}
