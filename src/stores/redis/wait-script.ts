import { scriptOf } from '../../client/index.ts';
import { LUA_BASE, LUA_KEYS, MAX_HELD_BYTES } from './lock-keys.ts';
import { DEAD_MS, PASSED_OVER_MS } from './lock-script.ts';

/** Maximum number of waiters of a lock whose leases are recorded, and of old records that are checked to make room. */
const MAX_RECORDS = 128;
const MAX_CHECKED = 16;
/** Maximum number of waiters, from the first on, and of holders that are read. */
const MAX_READ = 256;

/**
 * Records and reads the wait-for graph. Not a part of the lock script, since each function there makes every contended
 * request slower.
 *
 * KEYS, ARGV  as for the lock script: operation, token and number (the lease) for each key; no session.
 *         holds     records, beside a token in the queue, the leases that its callback holds: text, after a ':'.
 *         nested    returns holders, and those waiters whose leases are recorded.
 *         check     makes the client of another owner, which follows the verb and a ':', look for a deadlock.
 * Reply a list with one entry for each; not a list for a single one.
 *         holds: 1, or 0 if the token is not in the queue, or MAX_RECORDS others are recorded.
 *         nested: { holders, waiters, slots }, lists of { token, permits } and of { token, permits, the largest permits
 *           of a waiter in front, text }. Expired holders and waiters of silent clients are left out.
 *         check: 1.
 *
 * The key `…:holds` is a hash of waiters, as in the queue, and their texts. A field counts only while its waiter is in the
 * queue. The key expires DEAD_MS after the last `holds`.
 */
const WAIT_SCRIPT_TEXT = `
local call = redis.call
${LUA_BASE}
${LUA_KEYS}
local function makeRoom(key, queue)
  for _, each in ipairs(call('HRANDFIELD', key, '${MAX_CHECKED}')) do
    if not call('ZSCORE', queue, each) then call('HDEL', key, each) end
  end
  return call('HLEN', key) < ${MAX_RECORDS}
end

local operations = {}

function operations.holds(lock, token, lease, text)
  local key, queue = lock.base .. HOLDS, lock.base .. QUEUE
  local member = lock.permits .. ' ' .. lease .. ' ' .. token
  if not call('ZSCORE', queue, member) then return 0 end
  local isNew = call('HLEN', key) >= ${MAX_RECORDS} and call('HEXISTS', key, member) == 0
  if isNew and not makeRoom(key, queue) then return 0 end
  call('HSET', key, member, text)
  call('PEXPIRE', key, '${DEAD_MS}')
  return 1
end

-- The clock of a lock with several holders is derived from the TTL of a key: see the lock script.
local function sharedHolders(lock)
  local base, life = string.match(call('GET', lock.base .. CLOCK) or '', '^(%d+) (%d+)$')
  local left = call('PTTL', lock.base .. CLOCK)
  if not base or left < 0 then return {} end
  local now = string.format('(%.0f', base + life - left)
  local holders = {}
  for _, token in ipairs(call('ZRANGEBYSCORE', lock.holder, now, '+inf', 'LIMIT', '0', '${MAX_READ}')) do
    local permits = string.match(call('HGET', lock.base .. STATE, 'h:' .. token) or '', '^%d+ (%d+) ')
    holders[#holders + 1] = { token, tonumber(permits or '0') }
  end
  return holders
end

local function mutexHolders(lock)
  if call('TYPE', lock.holder).ok ~= 'string' then return {} end
  return { { shownToken(call('GETRANGE', lock.holder, '0', LAST_BYTE)), 1 } }
end

-- Another program may have written more records, or longer ones, than holds() does: leaves them out.
local function textOf(key, member)
  if call('HSTRLEN', key, member) <= ${MAX_HELD_BYTES} then return call('HGET', key, member) end
end

local function nestedWaiters(base)
  local key, isRecorded = base .. HOLDS, {}
  local waiters, leftOf, ahead = {}, {}, 0
  local count = call('HLEN', key)
  if count == 0 or count > ${MAX_RECORDS} then return waiters end
  for _, member in ipairs(call('HKEYS', key)) do isRecorded[member] = true end
  for _, member in ipairs(call('ZRANGE', base .. QUEUE, '0', '${MAX_READ - 1}')) do
    local permits, _, token = parseQueued(member)
    local alive = aliveKey(base, token)
    leftOf[alive] = leftOf[alive] or call('PTTL', alive)
    if leftOf[alive] > ${PASSED_OVER_MS} then
      local text = isRecorded[member] and textOf(key, member)
      if text then waiters[#waiters + 1] = { token, tonumber(permits), ahead, text } end
      ahead = math.max(ahead, tonumber(permits))
    end
  end
  return waiters
end

function operations.nested(lock)
  local waiters = nestedWaiters(lock.base)
  if not lock.isShared then return { mutexHolders(lock), waiters, 1 } end
  local slots = call('HGET', lock.base .. STATE, 'slots') or '0'
  return { sharedHolders(lock), waiters, tonumber(slots) }
end

function operations.check(lock, token, lease, owner)
  call('PUBLISH', 'holdfast:' .. clientOf(owner), 'check\\n' .. owner)
  return 1
end

local replies = {}
for index, holder in ipairs(KEYS) do
  local verb, more = string.match(ARGV[3 * index - 2], '^(%a+) ?(.*)$')
  local slots, permits = string.match(more, '^(%d+) (%d+)')
  local lock = { holder = holder, base = baseOf(holder), isShared = slots ~= nil, permits = permits or '1' }
  replies[index] = operations[verb](lock, ARGV[3 * index - 1], ARGV[3 * index], string.match(more, ':(.*)$'))
end
return #replies == 1 and replies[1] or replies
`;

export const WAIT_SCRIPT = scriptOf(WAIT_SCRIPT_TEXT);
