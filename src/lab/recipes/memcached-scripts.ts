/**
 * memcached's commands as Redis scripts. Every stored value has a unique number, its "cas unique"; here it
 * follows the value. `cas` replaces only the value that `gets` returned, and deletes it if the expiry is in
 * the past.
 */
export const ADD = `-- add
if redis.call('exists', KEYS[1]) == 1 then return 'NOT_STORED' end
local unique = redis.call('incr', KEYS[2])
redis.call('set', KEYS[1], ARGV[1] .. ' ' .. unique, 'EX', ARGV[2])
return 'STORED'`;

/** The server counts time in whole seconds: a value with an expiry of 1 expires at the next full second. */
export const ADD_WHOLE_SECONDS = `-- add, ended by a clock of whole seconds
if redis.call('exists', KEYS[1]) == 1 then return 'NOT_STORED' end
local now = redis.call('time')
redis.call('set', KEYS[1], ARGV[1], 'PXAT', (now[1] + ARGV[2]) * 1000)
return 'STORED'`;

export const CAS_EXPIRED = `-- cas with an expiry in the past
local found = redis.call('get', KEYS[1])
if not found then return 'NOT_FOUND' end
if string.match(found, '%d+$') ~= ARGV[1] then return 'EXISTS' end
redis.call('del', KEYS[1])
return 'STORED'`;

export const CAS = `-- cas
local found = redis.call('get', KEYS[1])
if not found then return 'NOT_FOUND' end
if string.match(found, '%d+$') ~= ARGV[2] then return 'EXISTS' end
local unique = redis.call('incr', KEYS[2])
redis.call('set', KEYS[1], ARGV[1] .. ' ' .. unique, 'EX', ARGV[3])
return 'STORED'`;

/** Compares nothing, and changes neither the value nor its number. */
export const TOUCH = `-- touch
if redis.call('expire', KEYS[1], ARGV[1]) == 0 then return 'NOT_FOUND' end
return 'TOUCHED'`;

/** The memory is full: memcached evicts the oldest value, which is the lock, however much time it has left. */
export const SET_IN_FULL_MEMORY = `-- set of another key, in full memory
redis.call('del', KEYS[1])
return 'STORED'`;
