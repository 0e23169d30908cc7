/**
 * Requests on locks, any number in one call, each answered in order.
 *
 * KEYS  for each request three: holder, state, queue. All of one call are in one slot of a cluster.
 * ARGV  for each request seven: verb, owner, slots, take, leaseMs, channel, info.
 *       verb: `ask` grants or says busy, `line` also stands in line, `extend`, `release`, `force`, `show`.
 * Reply for each request { status, fence, ms }: 1 with the fence when held, extended or released; 0 when
 *       busy, with the milliseconds after which to ask again, or when not held. `force` counts holders;
 *       `show` gives { holders, waiters }, lists of { record, leftMs, ageMs } and of records.
 *
 * holder  a mutex (slots 1): a string, the owner's token, with the lease as its TTL, so that a program
 *         that uses SET key token NX PX and compare-and-delete takes part. Any other lock: a sorted set
 *         of owners by the end of their lease, on the lock's own clock (see `now`).
 * state   a hash: `fence`, the last one given; `ticket`, the last place in line; `ended`, the owner of
 *         the last release, so that a release whose reply was lost may be sent again; `used`, the sum of
 *         what holders have taken; `h:<owner>`, the record of a holder, or `holder` for that of a mutex.
 * queue   a sorted set of waiting owners by ticket. Each has a key of its own, `<queue>:<owner>`, with
 *         its record, which vanishes if the waiter does not ask again in time: so the dead are skipped.
 * record  `take leaseMs channel info`, for a holder preceded by `fence since`.
 *
 * A release hands over inside this script: the first live waiter gets the lock for RESERVE milliseconds
 * and is called by a message; it confirms by asking again, which starts its lease. Nobody else is woken.
 *
 * The fence is the server's time in microseconds or one more than the last, whichever is larger. So it
 * rises even if every key was lost, unless the server's clock was set back by more than the loss took.
 */
export const LOCK_SCRIPT = `
local DAY = 86400000
local RESERVE = 5000
local PATIENCE = 10000
local FIELDS = 7

-- Time stands still while a script runs: one look is enough.
local time
local function microseconds()
  if not time then
    local parts = redis.call('TIME')
    time = parts[1] * 1000000 + parts[2]
  end
  return time
end

local function whole(number)
  return string.format('%.0f', number)
end

-- What helps the lock must outlive it, but not for ever.
local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, whole(ms + DAY)) end
end

-- The clock of a lock with several holders runs with the TTL of a key, which no step of a wall clock
-- moves on our own server. The key holds what the clock showed when it was set, and its life.
local function now(lock, lease)
  local key = lock.state .. ':clock'
  local left = redis.call('PTTL', key)
  local shown = 0
  if left >= 0 then
    local base, life = string.match(redis.call('GET', key), '(%d+) (%d+)')
    shown = base + life - left
  end
  local needed = 2 * lease + DAY
  if left < needed / 2 then
    redis.call('SET', key, whole(shown) .. ' ' .. whole(needed), 'PX', whole(needed))
  end
  return shown
end

local mutex = {}

function mutex.open() end

-- A mutex has one holder, so that its record has one field, and begins with whose it is.
function mutex.record(lock, owner)
  local record = redis.call('HGET', lock.state, 'holder')
  local length = #owner
  if record and string.sub(record, 1, length) == owner then return string.sub(record, length + 2) end
  return false
end

function mutex.note(lock, owner, fence, record)
  redis.call('HSET', lock.state, 'fence', fence, 'holder', owner .. ' ' .. record)
end

function mutex.owns(lock, owner)
  return redis.call('GET', lock.holder) == owner
end

function mutex.fits(lock)
  return redis.call('EXISTS', lock.holder) == 0
end

function mutex.put(lock, owner, take, ms)
  redis.call('SET', lock.holder, owner, 'PX', whole(ms))
end

function mutex.renew(lock, owner, ms)
  redis.call('PEXPIRE', lock.holder, whole(ms))
end

function mutex.drop(lock)
  redis.call('DEL', lock.holder)
end

function mutex.owners(lock)
  local owner = redis.call('GET', lock.holder)
  return owner and { owner } or {}
end

-- A holder that we do not know calls nobody when it is done, and may have no end: look every second.
function mutex.left(lock)
  local left = redis.call('PTTL', lock.holder)
  local owner = redis.call('GET', lock.holder)
  if owner and not mutex.record(lock, owner) and (left < 0 or left > 1000) then return 1000 end
  return left
end

local several = {}

function several.record(lock, owner)
  return redis.call('HGET', lock.state, 'h:' .. owner)
end

function several.note(lock, owner, fence, record)
  redis.call('HSET', lock.state, 'fence', fence, 'h:' .. owner, record)
end

-- Ends what has run out of time.
function several.open(lock, lease)
  lock.now = now(lock, lease)
  local ended = redis.call('ZRANGEBYSCORE', lock.holder, '-inf', whole(lock.now))
  for _, owner in ipairs(ended) do several.drop(lock, owner) end
end

function several.owns(lock, owner)
  return redis.call('ZSCORE', lock.holder, owner) ~= false
end

function several.fits(lock, take)
  local used = tonumber(redis.call('HGET', lock.state, 'used') or '0')
  return used + take <= lock.slots
end

function several.put(lock, owner, take, ms)
  redis.call('ZADD', lock.holder, whole(lock.now + ms), owner)
  redis.call('HINCRBY', lock.state, 'used', take)
  keep(lock.holder, ms)
end

function several.renew(lock, owner, ms)
  redis.call('ZADD', lock.holder, 'XX', whole(lock.now + ms), owner)
  keep(lock.holder, ms)
end

function several.drop(lock, owner)
  local record = several.record(lock, owner)
  local take = record and string.match(record, '^%d+ %d+ (%d+)') or 0
  redis.call('ZREM', lock.holder, owner)
  redis.call('HDEL', lock.state, 'h:' .. owner)
  redis.call('HINCRBY', lock.state, 'used', -take)
end

function several.owners(lock)
  return redis.call('ZRANGE', lock.holder, 0, -1)
end

function several.left(lock)
  local first = redis.call('ZRANGE', lock.holder, 0, 0, 'WITHSCORES')
  return first[2] and first[2] - lock.now or 1000
end

local function nextFence(lock)
  local last = tonumber(redis.call('HGET', lock.state, 'fence') or '0')
  return math.max(last + 1, microseconds())
end

-- Gives the lock to an owner and says with which fence.
local function give(lock, owner, take, record, ms)
  local fence = nextFence(lock)
  local since = whole(microseconds() / 1000)
  lock.kind.note(lock, owner, whole(fence), whole(fence) .. ' ' .. since .. ' ' .. record)
  redis.call('PEXPIRE', lock.state, whole(ms + DAY))
  lock.kind.put(lock, owner, take, ms)
  return fence
end

local function leave(lock, owner)
  redis.call('ZREM', lock.queue, owner)
  redis.call('DEL', lock.queue .. ':' .. owner)
end

-- Hands what is free to the first in line, and to those behind it for as long as they fit.
local function serve(lock, asking)
  while true do
    local owner = redis.call('ZRANGE', lock.queue, 0, 0)[1]
    if not owner then return end
    local record = redis.call('GET', lock.queue .. ':' .. owner)
    if record then
      local take, _, channel = string.match(record, '^(%d+) (%d+) (%S+)')
      if not lock.kind.fits(lock, tonumber(take)) then return end
      leave(lock, owner)
      give(lock, owner, tonumber(take), record, RESERVE)
      if owner ~= asking then redis.call('PUBLISH', channel, owner) end
    else
      leave(lock, owner)
    end
  end
end

local function held(lock, owner)
  return { 1, tonumber(string.match(lock.kind.record(lock, owner) or '0', '^%d+')), 0 }
end

local function stand(lock, request, left)
  if not redis.call('ZSCORE', lock.queue, request.owner) then
    redis.call('ZADD', lock.queue, redis.call('HINCRBY', lock.state, 'ticket', 1), request.owner)
  end
  local patience = math.max(left, 0) + PATIENCE
  redis.call('SET', lock.queue .. ':' .. request.owner, request.record, 'PX', whole(patience))
  keep(lock.queue, patience)
  keep(lock.state, patience)
end

local verbs = {}

function verbs.ask(lock, request, stands)
  local kind, owner = lock.kind, request.owner
  if not kind.owns(lock, owner) then
    local isFirst = redis.call('EXISTS', lock.queue) == 0
    if not isFirst then
      serve(lock, owner)
      isFirst = redis.call('EXISTS', lock.queue) == 0 and not kind.owns(lock, owner)
    end
    if isFirst and kind.fits(lock, request.take) then
      return { 1, give(lock, owner, request.take, request.record, request.lease), 0 }
    end
    if isFirst or not kind.owns(lock, owner) then
      local left = kind.left(lock)
      if stands then stand(lock, request, left) end
      return { 0, 0, left }
    end
  end
  kind.renew(lock, owner, request.lease)
  return held(lock, owner)
end

function verbs.line(lock, request)
  return verbs.ask(lock, request, true)
end

function verbs.extend(lock, request)
  if not lock.kind.owns(lock, request.owner) then return { 0, 0, 0 } end
  lock.kind.renew(lock, request.owner, request.lease)
  keep(lock.state, request.lease)
  return held(lock, request.owner)
end

function verbs.release(lock, request)
  if lock.kind.owns(lock, request.owner) then
    lock.kind.drop(lock, request.owner)
    redis.call('HSET', lock.state, 'ended', request.owner)
    serve(lock)
    return { 1, 0, 0 }
  end
  leave(lock, request.owner)
  serve(lock)
  local ended = redis.call('HGET', lock.state, 'ended') == request.owner
  return { ended and 1 or 0, 0, 0 }
end

function verbs.force(lock)
  local owners = lock.kind.owners(lock)
  for _, owner in ipairs(owners) do lock.kind.drop(lock, owner) end
  redis.call('HSET', lock.state, 'fence', whole(nextFence(lock)))
  keep(lock.state, DAY)
  serve(lock)
  return { #owners, 0, 0 }
end

function verbs.show(lock)
  local holders, waiters = {}, {}
  local milliseconds = microseconds() / 1000
  for _, owner in ipairs(lock.kind.owners(lock)) do
    local record = lock.kind.record(lock, owner) or '0 0 1 0 - '
    local since = string.match(record, '^%d+ (%d+)')
    local left = lock.slots == 1 and redis.call('PTTL', lock.holder)
      or redis.call('ZSCORE', lock.holder, owner) - lock.now
    holders[#holders + 1] = { record, left, math.max(0, milliseconds - since) }
  end
  for _, owner in ipairs(redis.call('ZRANGE', lock.queue, 0, -1)) do
    local record = redis.call('GET', lock.queue .. ':' .. owner)
    if record then waiters[#waiters + 1] = record end
  end
  return { holders, waiters }
end

local replies = {}
for index = 1, #KEYS / 3 do
  local at = (index - 1) * FIELDS
  local slots = tonumber(ARGV[at + 3])
  local lock = {
    holder = KEYS[3 * index - 2], state = KEYS[3 * index - 1], queue = KEYS[3 * index],
    slots = slots, kind = slots == 1 and mutex or several,
  }
  local request = {
    owner = ARGV[at + 2], take = tonumber(ARGV[at + 4]), lease = tonumber(ARGV[at + 5]),
    record = ARGV[at + 4] .. ' ' .. ARGV[at + 5] .. ' ' .. ARGV[at + 6] .. ' ' .. ARGV[at + 7],
  }
  lock.kind.open(lock, request.lease)
  replies[index] = verbs[ARGV[at + 1]](lock, request)
end
return replies
`;
