import { LUA_KEYS } from '../redis/lock-keys.ts';

/** Keys that one call scans: a few milliseconds on Redis if all of them match. */
export const KEYS_PER_PAGE = 500;

/** Bytes of a value, or of a field of a hash, that a reply includes. */
export const MAX_VALUE_BYTES = 256;

/** Bytes of a key that a reply includes: more than a key of Holdfast has, with the prefix of a client. */
const MAX_KEY_BYTES = 4096;

/**
 * One step of a SCAN for keys that may be locks of other programs.
 *
 * ARGV  cursor; pattern; number of keys to scan; `all`, or `endless` for keys without a TTL
 * Reply { next cursor, server's time in ms, keys, number of unreadable keys, the first error or '' }, each key as
 *       { start of the key, its bytes, type, PTTL, idle time in s or '', size, '1' if the value is a token of
 *       Holdfast, value or up to three fields of a hash }, all strings
 *
 * The idle time is read before the value, which counts as use. Redis shares one object among all keys whose value is
 * the same small integer: the idle time of such a key would be that of another key, and is left out. A key that has moved
 * to another node of a cluster is skipped. A key with another error, such as missing rights, is unreadable.
 */
export const KEY_PAGE_SCRIPT = `${LUA_KEYS}
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return false, reply.err end
  return reply
end

local SIZES = { string = 'STRLEN', hash = 'HLEN', set = 'SCARD', zset = 'ZCARD', list = 'LLEN', stream = 'XLEN' }

-- The values, or nil and an error; and whether they are a token of Holdfast.
local function valuesOf(key, kind)
  if kind == 'hash' then return try('HRANDFIELD', key, '3') end
  if kind ~= 'string' then return {} end
  local mayBeOurs = string.sub(key, -1) == '}' and string.find(key, 'lock:{', 1, true)
  local value, failure = try('GETRANGE', key, '0', mayBeOurs and LAST_BYTE or '${MAX_VALUE_BYTES - 1}')
  if not value then return nil, failure end
  return { value }, nil, mayBeOurs and isToken(value)
end

local function isShared(key, value)
  if not string.find(value or '', '^%d%d?%d?%d?$') then return false end
  local count = try('OBJECT', 'REFCOUNT', key)
  return count and count > 1
end

-- An entry of the reply, or nil and an error.
local function readKey(key, left)
  local idle = try('OBJECT', 'IDLETIME', key)
  local kind, failure = try('TYPE', key)
  if not kind then return nil, failure end
  kind = kind.ok
  local size = SIZES[kind] and try(SIZES[kind], key) or 0
  local values, failure, isHoldfast = valuesOf(key, kind)
  if not values then return nil, failure end
  if kind == 'string' and isShared(key, values[1]) then idle = false end
  local entry = {
    string.sub(key, 1, ${MAX_KEY_BYTES}), tostring(#key), kind, tostring(left), idle and tostring(idle) or '',
    tostring(size), isHoldfast and '1' or '',
  }
  for _, value in ipairs(values) do entry[#entry + 1] = string.sub(value, 1, ${MAX_VALUE_BYTES}) end
  return entry
end

local keys, unreadable, firstFailure = {}, 0, ''

local function fail(failure)
  if string.find(failure, 'non local key', 1, true) then return end
  if unreadable == 0 then firstFailure = failure end
  unreadable = unreadable + 1
end

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local time = redis.call('TIME')
for _, key in ipairs(page[2]) do
  local left, failure = try('PTTL', key)
  local entry
  if left and left ~= -2 and (ARGV[4] == 'all' or left == -1) then entry, failure = readKey(key, left) end
  if failure then fail(failure) else keys[#keys + 1] = entry end
end
return { page[1], time[1] .. string.sub('00000' .. time[2], -6, -4), keys, tostring(unreadable), firstFailure }
`;
