import { LUA_KEYS } from '../redis/lock-keys.ts';
import { LOCK_SCRIPT } from '../redis/lock-script.ts';

/**
 * What an operator sees of locks, read without changing anything. `look(holder, most)` gives for the holder
 * key of a lock
 *
 *   { key, server's time in microseconds, number of holders, holders, number of waiters, waiters }
 *
 * where lists have at most so many entries: { token, permits, fence, left, age, type } of a holder, all as strings,
 * with no age for a mutex, whose fence tells it; the members of the queue, those whose clients are alive. Only a mutex has a
 * type: if that is not `string`, another program holds it, and the token is empty.
 *
 * For other locks a key of another type is no lock, and a key that has moved to another node of a cluster is not
 * here: `ask` gives false for both.
 */
const LOOK = `${LUA_KEYS}
local function ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return false, reply.err end
  return reply
end

local function whole(number)
  return string.format('%.0f', number)
end

local time = redis.call('TIME')
time = time[1] .. string.sub('00000' .. time[2], -6)

local function mutexHolders(holder)
  local kind = ask('TYPE', holder)
  kind = kind and kind.ok or 'none'
  if kind == 'none' then return 0, {} end
  local token = kind == 'string' and shownToken(ask('GETRANGE', holder, '0', LAST_BYTE) or '') or ''
  local fence = ask('GET', holder .. FENCE) or ''
  return 1, { { token, '1', fence, whole(ask('PTTL', holder) or 0), '', kind } }
end

local function severalHolders(holder, most)
  local base, life = string.match(ask('GET', holder .. CLOCK) or '', '^(%d+) (%d+)$')
  local left = ask('PTTL', holder .. CLOCK)
  if not base or not left or left < 0 then return 0, {} end
  local now = base + life - left
  local live = '(' .. whole(now)
  local count = ask('ZCOUNT', holder, live, '+inf') or 0
  local found = ask('ZRANGEBYSCORE', holder, live, '+inf', 'WITHSCORES', 'LIMIT', '0', whole(most)) or {}
  local holders = {}
  for index = 1, #found, 2 do
    local record = ask('HGET', holder .. STATE, 'h:' .. found[index]) or ''
    local fence, permits, since = string.match(record, '^(%d+) (%d+) (%d+)$')
    local age = whole(math.max(0, now - (since or now)))
    holders[#holders + 1] = { found[index], permits or '0', fence or '', whole(found[index + 1] - now), age }
  end
  return count, holders
end

-- Whether a waiter lives is asked of so many in one call; of those beyond only the number is told.
local budget = 5000

local function waitersOf(holder, most)
  local queue, waiters = holder .. QUEUE, {}
  local standing = ask('ZCARD', queue) or 0
  local asked = math.min(standing, budget)
  if asked == 0 then return standing, waiters end
  budget = budget - asked
  local count = standing - asked
  for _, member in ipairs(ask('ZRANGE', queue, '0', whole(asked - 1)) or {}) do
    local _, _, token = parseQueued(member)
    local isAlive = token and ask('EXISTS', aliveKey(holder, token)) == 1
    if isAlive then count = count + 1 end
    if isAlive and #waiters < most then waiters[#waiters + 1] = member end
  end
  return count, waiters
end

local function look(holder, most)
  local isMutex = string.sub(holder, 1, 5) == 'lock:'
  local holderCount, holders = (isMutex and mutexHolders or severalHolders)(holder, most)
  local waiterCount, waiters = waitersOf(holder, most)
  return { holder, time, whole(holderCount), holders, whole(waiterCount), waiters }
end
`;

/**
 * One step of a walk through the keyspace.
 *
 * ARGV  cursor; pattern; how many keys to look through; most holders and waiters of each lock
 * Reply { next cursor, looks at those locks that are held or waited for, number of locks that cannot be read, the
 *       first error or '' }
 *
 * A holder key ends with the brace that closes the name; of the helpers only the queue can be there alone.
 */
export const PAGE_SCRIPT = `${LOOK}
local KINDS = { lock = true, semaphore = true, rw = true }
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local seen, locks, unreadable, firstFailure = {}, {}, 0, ''
for _, key in ipairs(page[2]) do
  local holder = string.sub(key, -7) == '}:queue' and string.sub(key, 1, -7) or key
  local isHolder = string.sub(holder, -1) == '}' and KINDS[string.match(holder, '^(%l+):{')]
  if isHolder and not seen[holder] then
    seen[holder] = true
    local _, failure = ask('TYPE', holder)
    if failure and not string.find(failure, 'non local key', 1, true) then
      if unreadable == 0 then firstFailure = failure end
      unreadable = unreadable + 1
    end
    local lock = look(holder, tonumber(ARGV[4]))
    if lock[3] ~= '0' or lock[5] ~= '0' then locks[#locks + 1] = lock end
  end
end
return { page[1], locks, tostring(unreadable), firstFailure }
`;

/**
 * KEYS  holder keys
 * ARGV  most holders and waiters of each
 * Reply for each { look, notes of forced releases, the last one first }
 */
export const LOOK_SCRIPT = `${LOOK}
local looks = {}
for index, holder in ipairs(KEYS) do
  looks[index] = { look(holder, tonumber(ARGV[1])), ask('LRANGE', holder .. FORCED, '0', '-1') or {} }
end
return looks
`;

/**
 * Forces a lock, by the lock's own script, and notes it in the list `:forced`.
 *
 * KEYS  the holder key, and a key that does not exist, so that a slot that moves is refused
 * ARGV  who and why as JSON; notes kept; their life in ms; most entries
 * Reply { look before, look after }; if nobody held it nothing was done
 */
export const FORCE_SCRIPT = `${LOOK}
local function locks()
${LOCK_SCRIPT}
end

local holder, note, kept, life, most = KEYS[1], unpack(ARGV)
local before = look(holder, tonumber(most))
if before[3] == '0' then return { before, before } end

-- The lock knows the number of its slots.
local operation = string.sub(holder, 1, 5) == 'lock:' and 'force' or 'force 1 1'
KEYS[2] = nil
ARGV[1], ARGV[2], ARGV[3], ARGV[4] = operation, '', '0', nil
locks()

local forced = holder .. FORCED
redis.call('LPUSH', forced, string.sub(time, 1, -4) .. ' ' .. before[3] .. ' ' .. note)
redis.call('LTRIM', forced, '0', whole(kept - 1))
redis.call('PEXPIRE', forced, life)
budget = 5000
return { before, look(holder, tonumber(most)) }
`;
