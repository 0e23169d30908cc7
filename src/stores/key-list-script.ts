/** Keys that one call looks through: a few milliseconds on Redis if all of them match. */
export const KEYS_PER_PAGE = 500;

/** Bytes of a value, or of a field of a hash, that are told. */
const MAX_BYTES = 256;

/**
 * One step of a walk through the keyspace, for keys that may be locks of other programs.
 *
 * ARGV  cursor; pattern; how many keys to look through; `all`, or `endless` for keys without a TTL
 * Reply { next cursor, server's time in ms, keys }, each key as
 *       { key, type, PTTL, idle time in s or '', size, value or up to three fields of a hash }, all strings
 *
 * The idle time is read before the value, which counts as use. A key that has moved to another node of a
 * cluster is not here: `ask` gives false for it.
 */
export const KEY_PAGE_SCRIPT = `
local function ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return false end
  return reply
end

local SIZES = { string = 'STRLEN', hash = 'HLEN', set = 'SCARD', zset = 'ZCARD', list = 'LLEN', stream = 'XLEN' }

local function valuesOf(key, kind)
  if kind == 'string' then return { ask('GETRANGE', key, '0', '${MAX_BYTES - 1}') or '' } end
  return kind == 'hash' and ask('HRANDFIELD', key, '3') or {}
end

local function look(key, left)
  local idle = ask('OBJECT', 'IDLETIME', key)
  local kind = redis.call('TYPE', key).ok
  local size = SIZES[kind] and ask(SIZES[kind], key) or 0
  local entry = { key, kind, tostring(left), idle and tostring(idle) or '', tostring(size) }
  for _, value in ipairs(valuesOf(key, kind)) do
    entry[#entry + 1] = string.sub(value, 1, ${MAX_BYTES})
  end
  return entry
end

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local time = redis.call('TIME')
local keys = {}
for _, key in ipairs(page[2]) do
  local left = ask('PTTL', key)
  if left and left ~= -2 and (ARGV[4] == 'all' or left == -1) then keys[#keys + 1] = look(key, left) end
end
return { page[1], time[1] .. string.sub('00000' .. time[2], -6, -4), keys }
`;
