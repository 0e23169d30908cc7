/** The Lua that recipes send. The comment in the first line is how a trace names the script. */

export const COMPARE_AND_DELETE = `-- compare and delete
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end`;

export const COMPARE_AND_EXPIRE = `-- compare and expire
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end`;
