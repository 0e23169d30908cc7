/**
 * Requests on locks, any number in one call, each answered in order.
 *
 * KEYS  for each request one, the lock's holder key. The others are made from it and share its hash tag:
 *       `:state`, `:queue`, `:queue:<owner>`, `:clock`. All of one call are in one slot of a cluster.
 * ARGV  the channel of who calls; then for each request five: verb, owner, size, leaseMs, info.
 *       verb: `ask` grants or says busy, `line` also stands in line, `extend`, `release`, `force`, `show`,
 *       `adopt <owner>` takes over from that owner, `all <count> <fence>` takes so many mutexes or none,
 *       with one fence that is not below the one given; the requests after it say `also`.
 *       size: `mutex`, or `<slots> <take>`.
 * Reply for each request a number. Asking: the fence, or when busy minus the milliseconds after which to
 *       ask again. Extending and releasing: 1, or 0 when not held. `force` counts holders. `show` gives
 *       { holders, waiters }, lists of { fence, take, leftMs, ageMs, info } and of { take, info }.
 *       After these, if other waiters of the caller were served, the list { owner, fence, owner, … }.
 *
 * holder  a mutex: a string, the owner's token, with the lease as its TTL, so that a program that uses
 *         SET key token NX PX and compare-and-delete takes part. Any other lock: a sorted set of owners
 *         by the end of their lease, on the lock's own clock (see `elapsed`).
 * state   a mutex: the last fence in 16 digits, `?` if somebody may wait, else a space, and the last owner
 *         and its info. Any other lock: a hash of `fence`; `ended`, the owner of the last release; `used`,
 *         the sum of what is taken; and `h:<owner>`, the holder's fence, take and info. Either way a
 *         release whose reply was lost may be sent again, and the state outlives the lease by a day.
 * queue   a sorted set of waiting owners by ticket. Each has a key of its own with its lease, take,
 *         channel and info, which vanishes if the waiter does not ask again in time: the dead are skipped.
 *
 * A release hands over inside this script, to the first live waiter. If that is the caller's own, the
 * reply tells it. Another's is called by a message; it gets the lock for RESERVE milliseconds and confirms
 * by asking again, which starts its lease: it cannot know how long the message took. Nobody else is woken.
 *
 * The fence is the server's time in microseconds or one more than the last, whichever is larger. So it
 * rises even if every key was lost, unless the server's clock was set back by more than the loss took.
 *
 * A free mutex is by far the most frequent case, and making closures costs more than its commands: so it
 * is handled in the loop at the end, and all else is made by `general` when it is first needed. There
 * numbers stay the strings that they came as: Redis takes a microsecond to write a number of Lua's.
 */
export const LOCK_SCRIPT = `
local DAY = 86400000
local RESERVE = '5000'
local PATIENCE = 10000
-- Longer than a lease of less than nine digits, and a day.
local TWO_DAYS = '186400000'

local WAITED = string.byte('?')

local CHANNEL = ARGV[1]
local call = redis.call

-- The server's time in microseconds, in 16 digits. It stands still while a script runs: one look is enough.
local time
local function now()
  if not time then
    local parts = call('TIME')
    time = parts[1] .. string.sub('00000' .. parts[2], -6)
    if #time < 16 then time = string.rep('0', 16 - #time) .. time end
  end
  return time
end

-- Notes who holds a mutex, and whether others wait. Says with which fence, and what was noted before.
local function note(holder, owner, info, lease, mark)
  local fence, ttl = now(), TWO_DAYS
  if #lease > 8 then ttl = lease + DAY end
  local rest = mark .. owner .. ' ' .. info
  local before = call('SET', holder .. ':state', fence .. rest, 'PX', ttl, 'GET')
  local last = before and tonumber(string.sub(before, 1, 16))
  if last and last >= tonumber(fence) then
    fence = string.format('%016.0f', last + 1)
    call('SET', holder .. ':state', fence .. rest, 'PX', ttl)
  end
  return fence, before
end

-- The caller's own waiters that were served.
local served

local function general()
  local function whole(number)
    return string.format('%.0f', number)
  end

  -- What helps the lock must outlive it, but not for ever.
  local function keep(key, ms)
    if call('PTTL', key) < ms then call('PEXPIRE', key, ms + DAY) end
  end

  -- The clock of a lock with several holders runs with the TTL of a key, which no step of a wall clock
  -- moves on our own server. The key holds what the clock showed when it was set, and its life.
  local function elapsed(lock, lease)
    local key = lock.holder .. ':clock'
    local left = call('PTTL', key)
    local shown = 0
    if left >= 0 then
      local base, life = string.match(call('GET', key), '(%d+) (%d+)')
      shown = base + life - left
    end
    local needed = 2 * lease + DAY
    if left < needed / 2 then
      call('SET', key, whole(shown) .. ' ' .. whole(needed), 'PX', needed)
    end
    return shown
  end

  local mutex = {}

  function mutex.open() end

  function mutex.owns(lock, owner)
    return call('GET', lock.holder) == owner
  end

  function mutex.fits(lock)
    return call('EXISTS', lock.holder) == 0
  end

  -- Fence, take and info, if the owner is the last that was noted.
  function mutex.record(lock, owner)
    local state = call('GET', lock.state) or ''
    local fence, whose, info = string.match(state, '^(%d+)[ ?](%S+) (.*)$')
    if whose == owner then return tonumber(fence), 1, info end
  end

  function mutex.mark(lock)
    return call('EXISTS', lock.queue) == 1 and '?' or ' '
  end

  function mutex.put(lock, owner, take, info, lease)
    call('SET', lock.holder, owner, 'PX', lease)
    local fence = note(lock.holder, owner, info, lease, mutex.mark(lock))
    return fence
  end

  function mutex.renew(lock, owner, ms)
    call('PEXPIRE', lock.holder, ms)
    keep(lock.state, ms)
  end

  function mutex.drop(lock)
    call('DEL', lock.holder)
  end

  function mutex.ended() end

  -- So that who finds the lock free looks whether others came first.
  function mutex.await(lock)
    call('SETRANGE', lock.state, 16, '?')
  end

  -- It was the last, and nobody has the lock now.
  function mutex.hasEnded(lock, owner)
    return mutex.fits(lock) and mutex.record(lock, owner) ~= nil
  end

  function mutex.raise(lock)
    note(lock.holder, '-', '', '0', mutex.mark(lock))
  end

  function mutex.owners(lock)
    local owner = call('GET', lock.holder)
    return owner and { owner } or {}
  end

  function mutex.leftOf(lock)
    return call('PTTL', lock.holder)
  end

  -- A holder that we do not know calls nobody when it is done, and may have no end: look every second.
  function mutex.left(lock)
    local left = call('PTTL', lock.holder)
    local owner = call('GET', lock.holder)
    if owner and not mutex.record(lock, owner) and (left < 0 or left > 1000) then return 1000 end
    return left
  end

  local several = {}

  -- Ends what has run out of time.
  function several.open(lock, lease)
    lock.now = elapsed(lock, lease)
    local ended = call('ZRANGEBYSCORE', lock.holder, '-inf', lock.now)
    for _, owner in ipairs(ended) do several.drop(lock, owner) end
  end

  function several.owns(lock, owner)
    return call('ZSCORE', lock.holder, owner) ~= false
  end

  function several.fits(lock, take)
    local used = tonumber(call('HGET', lock.state, 'used') or '0')
    return used + take <= lock.slots
  end

  function several.record(lock, owner)
    local record = call('HGET', lock.state, 'h:' .. owner)
    if not record then return nil end
    local fence, take, info = string.match(record, '^(%d+) (%d+) (.*)$')
    return tonumber(fence), tonumber(take), info
  end

  function several.nextFence(lock)
    local last = tonumber(call('HGET', lock.state, 'fence') or '0')
    return whole(math.max(last + 1, tonumber(now())))
  end

  function several.put(lock, owner, take, info, lease)
    local fence, ms = several.nextFence(lock), tonumber(lease)
    local record = fence .. ' ' .. take .. ' ' .. info
    call('HSET', lock.state, 'fence', fence, 'h:' .. owner, record)
    call('HINCRBY', lock.state, 'used', take)
    call('ZADD', lock.holder, lock.now + ms, owner)
    keep(lock.holder, ms)
    keep(lock.state, ms)
    return fence
  end

  function several.renew(lock, owner, ms)
    call('ZADD', lock.holder, 'XX', lock.now + ms, owner)
    keep(lock.holder, ms)
    keep(lock.state, ms)
  end

  function several.drop(lock, owner)
    local _, take = several.record(lock, owner)
    call('ZREM', lock.holder, owner)
    call('HDEL', lock.state, 'h:' .. owner)
    if take then call('HINCRBY', lock.state, 'used', -take) end
  end

  function several.await() end

  function several.ended(lock, owner)
    call('HSET', lock.state, 'ended', owner)
  end

  function several.hasEnded(lock, owner)
    return call('HGET', lock.state, 'ended') == owner
  end

  function several.raise(lock)
    call('HSET', lock.state, 'fence', several.nextFence(lock))
    keep(lock.state, 0)
  end

  function several.owners(lock)
    return call('ZRANGE', lock.holder, 0, -1)
  end

  function several.leftOf(lock, owner)
    return call('ZSCORE', lock.holder, owner) - lock.now
  end

  function several.left(lock)
    local first = call('ZRANGE', lock.holder, 0, 0, 'WITHSCORES')
    return first[2] and first[2] - lock.now or 1000
  end

  local function leave(lock, owner)
    call('ZREM', lock.queue, owner)
    call('DEL', lock.queue .. ':' .. owner)
  end

  -- The caller's own waiter learns of its grant from the reply; another's is called to confirm.
  local function serveOne(lock, owner, record, asking)
    local lease, take, channel, info = string.match(record, '^(%d+) (%d+) (%S+) (.*)$')
    if not lock.kind.fits(lock, tonumber(take)) then return false end
    leave(lock, owner)
    local isOwn = channel == CHANNEL
    local fence = lock.kind.put(lock, owner, tonumber(take), info, isOwn and lease or RESERVE)
    if not isOwn then
      call('PUBLISH', channel, owner)
    elseif owner ~= asking then
      served = served or {}
      served[#served + 1] = owner
      served[#served + 1] = fence
    end
    return true
  end

  -- Hands what is free to the first in line, and to those behind it for as long as they fit.
  local function serve(lock, asking)
    while true do
      local owner = call('ZRANGE', lock.queue, 0, 0)[1]
      if not owner then return end
      local record = call('GET', lock.queue .. ':' .. owner)
      if not record then
        leave(lock, owner)
      elseif not serveOne(lock, owner, record, asking) then
        return
      end
    end
  end

  local function stand(lock, request, left)
    if not call('ZSCORE', lock.queue, request.owner) then
      local last = call('ZRANGE', lock.queue, -1, -1, 'WITHSCORES')
      call('ZADD', lock.queue, (last[2] or 0) + 1, request.owner)
    end
    local patience = math.max(left, 0) + PATIENCE
    local record = request.lease .. ' ' .. request.take .. ' ' .. CHANNEL .. ' ' .. request.info
    call('SET', lock.queue .. ':' .. request.owner, record, 'PX', patience)
    keep(lock.queue, patience)
    lock.kind.await(lock)
    keep(lock.state, patience)
  end

  local verbs = {}

  function verbs.ask(lock, request, _, stands)
    local kind, owner = lock.kind, request.owner
    if not kind.owns(lock, owner) then
      serve(lock, owner)
      if not kind.owns(lock, owner) then
        if call('EXISTS', lock.queue) == 0 and kind.fits(lock, request.take) then
          return kind.put(lock, owner, request.take, request.info, request.lease)
        end
        local left = kind.left(lock)
        if stands then stand(lock, request, left) end
        return -math.max(left, 0)
      end
    end
    kind.renew(lock, owner, tonumber(request.lease))
    return kind.record(lock, owner) or 0
  end

  function verbs.line(lock, request)
    return verbs.ask(lock, request, nil, true)
  end

  function verbs.extend(lock, request)
    if not lock.kind.owns(lock, request.owner) then return 0 end
    lock.kind.renew(lock, request.owner, tonumber(request.lease))
    return 1
  end

  function verbs.release(lock, request)
    local isOurs = lock.kind.owns(lock, request.owner)
    if isOurs then
      lock.kind.drop(lock, request.owner)
      lock.kind.ended(lock, request.owner)
    else
      leave(lock, request.owner)
      isOurs = lock.kind.hasEnded(lock, request.owner)
    end
    serve(lock)
    return isOurs and 1 or 0
  end

  function verbs.adopt(lock, request, from)
    local kind = lock.kind
    if not kind.owns(lock, request.owner) then
      if not kind.owns(lock, from) then return 0 end
      kind.drop(lock, from)
      return kind.put(lock, request.owner, request.take, request.info, request.lease)
    end
    kind.renew(lock, request.owner, tonumber(request.lease))
    return kind.record(lock, request.owner) or 0
  end

  function verbs.force(lock)
    local owners = lock.kind.owners(lock)
    for _, owner in ipairs(owners) do lock.kind.drop(lock, owner) end
    lock.kind.raise(lock)
    serve(lock)
    return #owners
  end

  function verbs.show(lock)
    local holders, waiters = {}, {}
    for _, owner in ipairs(lock.kind.owners(lock)) do
      local fence, take, info = lock.kind.record(lock, owner)
      local age = fence and math.max(0, tonumber(now()) - fence) / 1000 or 0
      holders[#holders + 1] = { fence or 0, take or 1, lock.kind.leftOf(lock, owner), age, info or '' }
    end
    for _, owner in ipairs(call('ZRANGE', lock.queue, 0, -1)) do
      local record = call('GET', lock.queue .. ':' .. owner)
      if record then
        local take, info = string.match(record, '^%d+ (%d+) %S+ (.*)$')
        waiters[#waiters + 1] = { tonumber(take), info }
      end
    end
    return { holders, waiters }
  end

  -- Takes the mutexes from the index on, or none; what is already the owner's stays so.
  local function all(index, count, fence, owner, lease, info)
    local last = index + count - 1
    for each = index, last do
      local holder, state = call('GET', KEYS[each]), call('GET', KEYS[each] .. ':state')
      local isOurs = holder == owner
      if not isOurs and (holder or call('EXISTS', KEYS[each] .. ':queue') == 1) then return -1 end
      local known = state and tonumber(string.sub(state, 1, 16)) or 0
      fence = math.max(fence, isOurs and known or math.max(known + 1, tonumber(now())))
    end
    local text = string.format('%016.0f', fence)
    for each = index, last do
      call('SET', KEYS[each], owner, 'PX', lease)
      call('SET', KEYS[each] .. ':state', text .. ' ' .. owner .. ' ' .. info, 'PX', lease + DAY)
    end
    return text
  end

  return function(index, verb, owner, size, lease, info)
    local word, more = string.match(verb, '^(%a+) ?(.*)$')
    if word == 'all' then
      local count, fence = string.match(more, '^(%d+) (%d+)$')
      return all(index, tonumber(count), tonumber(fence), owner, lease, info)
    end
    local holder = KEYS[index]
    local slots, take = string.match(size, '^(%d+) (%d+)$')
    local lock = {
      holder = holder, state = holder .. ':state', queue = holder .. ':queue',
      slots = tonumber(slots), kind = slots and several or mutex,
    }
    local request = { owner = owner, take = tonumber(take) or 1, lease = lease, info = info }
    lock.kind.open(lock, tonumber(lease))
    return verbs[word](lock, request, more)
  end
end

local replies, act = {}, nil
for index = 1, #KEYS do
  local holder, at = KEYS[index], index * 5 - 3
  local verb, owner, size, lease, info = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local reply
  if size == 'mutex' then
    if verb == 'line' or verb == 'ask' then
      if call('SET', holder, owner, 'NX', 'PX', lease) then
        local before
        reply, before = note(holder, owner, info, lease, ' ')
        if before and string.byte(before, 17) == WAITED then
          call('DEL', holder)
          reply = nil
        end
      end
    elseif verb == 'release' then
      if call('GET', holder) == owner and call('EXISTS', holder .. ':queue') == 0 then
        call('DEL', holder)
        reply = 1
      end
    elseif verb == 'also' then
      reply = 0
    end
  end
  if not reply then
    act = act or general()
    reply = act(index, verb, owner, size, lease, info)
  end
  replies[index] = reply
end
replies[#KEYS + 1] = served
return replies
`;
