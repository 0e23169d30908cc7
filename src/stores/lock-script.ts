/**
 * Requests on locks, any number in one call, each answered in order.
 *
 * KEYS  for each request three: holder, state, queue. All of one call are in one slot of a cluster.
 * ARGV  for each request eight: verb, owner, slots, take, leaseMs, channel, info, reserveMs.
 *       verb: `ask` grants or says busy, `line` also stands in line, `extend`, `release`, `force`.
 * Reply for each request { status, fence, ms }: 1 with the fence when held, extended or released;
 *       0 when busy, with the milliseconds after which to ask again, or when not held.
 *
 * holder  a mutex (slots 1): a string, the owner's token, with the lease as its TTL, so that a program
 *         that uses SET key token NX PX and compare-and-delete takes part. Any other lock: a sorted set
 *         of owners by the end of their lease, on the lock's own clock (see `time`).
 * state   a hash: `fence`, the last one given; `ticket`, the last place in line; `ended`, the owner of
 *         the last release, so that a release whose reply was lost may be sent again; `h:<owner>` what
 *         is known of a holder; `used`, the sum of what holders have taken; `base` of the clock.
 * queue   a sorted set of waiting owners by ticket. Each has a key of its own, `queue:<owner>`, with what
 *         it asked for, which vanishes if the waiter does not ask again: so the dead are skipped.
 *
 * A release hands over inside this script: the first live waiter gets the lock for `reserveMs` and is
 * called by a message; it confirms by asking again, which starts its lease. Nobody else is woken.
 *
 * The fence is the server's time in microseconds or one more than the last, whichever is larger. So it
 * rises even if every key was lost, unless the server's clock was set back by more than the loss took.
 */
export const LOCK_SCRIPT = `
local DAY = 86400000
local PATIENCE = 10000

local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms + DAY) end
end

local function nextFence(state)
  local time = redis.call('TIME')
  local fence = time[1] * 1000000 + time[2]
  local last = tonumber(redis.call('HGET', state, 'fence') or 0)
  if fence <= last then fence = last + 1 end
  return fence
end

-- The lock's own clock runs with the TTL of a key, which no step of a wall clock moves.
local function time(lock, lease)
  local key = lock.state .. ':clock'
  local life = 2 * lease + DAY
  local left = redis.call('PTTL', key)
  local base = 0
  if left >= 0 then
    local stored = redis.call('GET', key)
    local colon = string.find(stored, ':', 1, true)
    base = tonumber(string.sub(stored, 1, colon - 1)) + tonumber(string.sub(stored, colon + 1)) - left
  end
  if left < life / 2 then
    redis.call('SET', key, string.format('%.0f:%.0f', base, life), 'PX', life)
  end
  return base
end

-- Ends what has run out of time, and says how much is taken.
local function used(lock, now)
  local ended = redis.call('ZRANGEBYSCORE', lock.holder, '-inf', now)
  local sum = tonumber(redis.call('HGET', lock.state, 'used') or 0)
  for _, owner in ipairs(ended) do
    local record = redis.call('HGET', lock.state, 'h:' .. owner)
    if record then sum = sum - tonumber(string.match(record, '^%d+')) end
    redis.call('ZREM', lock.holder, owner)
    redis.call('HDEL', lock.state, 'h:' .. owner)
  end
  if #ended > 0 then redis.call('HSET', lock.state, 'used', sum) end
  return sum
end
`;
