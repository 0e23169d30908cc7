import { LUA_KEYS, MAX_HELD_BYTES } from '../redis/lock-keys.ts';
import { LOCK_SCRIPT } from '../redis/lock-script.ts';

/**
 * Reads locks for an operator, without writing. `readLock(holder, max)` returns for a holder key
 *
 *   { key, server's time in microseconds, number of holders, holders, number of waiters, waiters, leases }
 *
 * The lists have at max `max` entries. A holder is { token, permits, fence, left, age, type }, all strings. The age of a
 * mutex is empty: its fence shows it. Only a mutex has a type: if that is not `string`, another program holds it, and the
 * token is empty. Waiters are the members of the queue whose clients are alive. Leases are those that their callbacks hold,
 * as text, one for each waiter (`` if it has none); the list is empty if no waiter has any.
 *
 * `try` returns false for a key of another type, and for a key that has moved to another node of a cluster.
 */
const READ_LOCK = `${LUA_KEYS}
local function try(...)
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
  local kind = try('TYPE', holder)
  kind = kind and kind.ok or 'none'
  if kind == 'none' then return 0, {} end
  local token = kind == 'string' and shownToken(try('GETRANGE', holder, '0', LAST_BYTE) or '') or ''
  local fence = try('GET', holder .. FENCE) or ''
  return 1, { { token, '1', fence, whole(try('PTTL', holder) or 0), '', kind } }
end

local function sharedHolders(holder, max)
  local base, life = string.match(try('GET', holder .. CLOCK) or '', '^(%d+) (%d+)$')
  local left = try('PTTL', holder .. CLOCK)
  if not base or not left or left < 0 then return 0, {} end
  local now = base + life - left
  local live = '(' .. whole(now)
  local count = try('ZCOUNT', holder, live, '+inf') or 0
  local found = try('ZRANGEBYSCORE', holder, live, '+inf', 'WITHSCORES', 'LIMIT', '0', whole(max)) or {}
  local holders = {}
  for index = 1, #found, 2 do
    local record = try('HGET', holder .. STATE, 'h:' .. found[index]) or ''
    local fence, permits, since = string.match(record, '^(%d+) (%d+) (%d+)$')
    local age = whole(math.max(0, now - (since or now)))
    holders[#holders + 1] = { found[index], permits or '0', fence or '', whole(found[index + 1] - now), age }
  end
  return count, holders
end

-- Maximum number of waiters whose clients are checked in one call. Waiters beyond are counted as alive.
local budget = 5000

local function waitersOf(holder, max)
  local queue, waiters = holder .. QUEUE, {}
  local total = try('ZCARD', queue) or 0
  local checked = math.min(total, budget)
  if checked == 0 then return total, waiters end
  budget = budget - checked
  local count = total - checked
  for _, member in ipairs(try('ZRANGE', queue, '0', whole(checked - 1)) or {}) do
    local _, _, token = parseQueued(member)
    local isAlive = token and try('EXISTS', aliveKey(holder, token)) == 1
    if isAlive then count = count + 1 end
    if isAlive and #waiters < max then waiters[#waiters + 1] = member end
  end
  return count, waiters
end

local function leasesOf(holder, waiters)
  if #waiters == 0 or try('EXISTS', holder .. HOLDS) ~= 1 then return {} end
  local leases = {}
  for index, member in ipairs(waiters) do
    local size = try('HSTRLEN', holder .. HOLDS, member) or 0
    leases[index] = size > 0 and size <= ${MAX_HELD_BYTES} and try('HGET', holder .. HOLDS, member) or ''
  end
  return leases
end

-- The prefix of a key has no brace.
local function isMutex(holder)
  return string.find(holder, '^[^{]*lock:{') ~= nil
end

local function readLock(holder, max)
  local holderCount, holders = (isMutex(holder) and mutexHolders or sharedHolders)(holder, max)
  local waiterCount, waiters = waitersOf(holder, max)
  return { holder, time, whole(holderCount), holders, whole(waiterCount), waiters, leasesOf(holder, waiters) }
end
`;

/**
 * One step of a SCAN.
 *
 * ARGV  cursor; pattern; number of keys to scan; maximum number of holders and of waiters of each lock; prefix of keys
 * Reply { next cursor, the locks that have holders or waiters (see readLock), number of locks that cannot be read, the
 *       first error or '' }
 *
 * A holder key ends with the brace that closes the name. A lock with waiters and without a holder has only its queue.
 */
export const PAGE_SCRIPT = `${READ_LOCK}
local KINDS = { lock = true, semaphore = true, rw = true }
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local prefix = ARGV[5]
local seen, locks, unreadable, firstFailure = {}, {}, 0, ''
for _, key in ipairs(page[2]) do
  local holder = string.sub(key, -7) == '}:queue' and string.sub(key, 1, -7) or key
  local rest = string.sub(holder, 1, #prefix) == prefix and string.sub(holder, #prefix + 1) or ''
  local isHolder = string.sub(rest, -1) == '}' and KINDS[string.match(rest, '^(%l+):{')]
  if isHolder and not seen[holder] then
    seen[holder] = true
    local _, failure = try('TYPE', holder)
    if failure and not string.find(failure, 'non local key', 1, true) then
      if unreadable == 0 then firstFailure = failure end
      unreadable = unreadable + 1
    end
    local lock = readLock(holder, tonumber(ARGV[4]))
    if lock[3] ~= '0' or lock[5] ~= '0' then locks[#locks + 1] = lock end
  end
end
return { page[1], locks, tostring(unreadable), firstFailure }
`;

/**
 * KEYS  holder keys
 * ARGV  maximum number of holders and of waiters of each
 * Reply for each { lock (see readLock), notes of forced releases, newest first }
 */
export const READ_SCRIPT = `${READ_LOCK}
local locks = {}
for index, holder in ipairs(KEYS) do
  locks[index] = { readLock(holder, tonumber(ARGV[1])), try('LRANGE', holder .. FORCED, '0', '-1') or {} }
end
return locks
`;

/**
 * Forces the release of a lock by the lock script, and adds a note to the list `:forced`.
 *
 * KEYS  the holder key, and a key that does not exist, so that a cluster refuses the call while the slot moves
 * ARGV  operator and reason as JSON; maximum number of notes; their TTL in ms; maximum number of entries; owners, if any
 * Reply { lock before, lock after } (see readLock). Without a holder, nothing is changed. Nil, and nothing is changed, if
 *       owners are given and others hold the lock.
 */
export const FORCE_SCRIPT = `${READ_LOCK}
local function runLockScript()
${LOCK_SCRIPT}
end

local holder, note, kept, ttl, max = KEYS[1], unpack(ARGV, 1, 4)
local before = readLock(holder, tonumber(max))
if before[3] == '0' then return { before, before } end

local owners, isSeen = {}, #ARGV == 4
for index = #ARGV, 5, -1 do owners[ARGV[index]], ARGV[index] = true, nil end
for _, each in ipairs(before[4]) do
  local token = each[1]
  isSeen = isSeen or owners[token] or owners[string.match(token, '^(%S+) ') or ''] or false
end
if not isSeen then return false end

-- Slots and permits of the operation are ignored: the lock has its own number of slots.
local operation = isMutex(holder) and 'force' or 'force 1 1'
KEYS[2] = nil
ARGV[1], ARGV[2], ARGV[3], ARGV[4] = operation, '', '0', nil
runLockScript()

local forced = holder .. FORCED
redis.call('LPUSH', forced, string.sub(time, 1, -4) .. ' ' .. before[3] .. ' ' .. note)
redis.call('LTRIM', forced, '0', whole(kept - 1))
redis.call('PEXPIRE', forced, ttl)
budget = 5000
return { before, readLock(holder, tonumber(max)) }
`;
