import { SHOWN_TOKEN } from './lock-script-line.ts';

/**
 * The part of the lock script that can do everything, for locks of every kind, by the long way: what has no
 * shorter one (see lock-script.ts). It uses `call`, `DAY` and the `line` of the other part.
 */
export const GENERAL_PART = `
local function general(line)
  local whole, keep, placeOf, nextFence = line.whole, line.keep, line.placeOf, line.nextFence
  local isOurs, valueOf = line.isOurs, line.valueOf

  local function shownToken(held)${SHOWN_TOKEN}
  end

  local function microseconds()
    local parts = call('TIME')
    return parts[1] * 1000000 + parts[2]
  end

  local function lastFence(lock)
    return string.match(call('GET', lock.fence) or '0', '%d+')
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
    -- It outlives every lease by half a day: if it has ended, so have they. A key of another type is no lock.
    if left < 0 and call('TYPE', lock.holder).ok == 'zset' then call('DEL', lock.holder, lock.state) end
    local needed = 2 * lease + DAY
    if left < needed / 2 then
      call('SET', key, whole(shown) .. ' ' .. whole(needed), 'PX', whole(needed))
    end
    return shown
  end

  local mutex = {}

  function mutex.open() end

  function mutex.owns(lock, token)
    return line.isOf(valueOf(lock.holder), token)
  end

  function mutex.fits(lock)
    return call('EXISTS', lock.holder) == 0
  end

  function mutex.put(lock, token, take, lease)
    call('SET', lock.holder, line.markOf(lock.queue) .. token, 'PX', lease)
    return mutex.raise(lock)
  end

  function mutex.raise(lock)
    return nextFence(lock.fence, line.markOf(lock.queue))
  end

  function mutex.renew(lock, token, lease)
    call('PEXPIRE', lock.holder, lease)
    line.keepFence(lock.fence, lease)
  end

  function mutex.drop(lock)
    call('DEL', lock.holder)
  end

  function mutex.ended() end

  -- Without a fence nothing is known, also where the last one was forgotten, and counts as 0.
  function mutex.hasEnded(lock, token, fence)
    return fence ~= '0' and mutex.fits(lock) and lastFence(lock) == fence
  end

  -- A key that is no string is held by another program: its type stands for the value.
  function mutex.tokens(lock)
    lock.type = call('TYPE', lock.holder).ok
    if lock.type == 'none' then return {} end
    return { lock.type == 'string' and shownToken(valueOf(lock.holder)) or '' }
  end

  function mutex.details(lock)
    local fence = lastFence(lock)
    local age = fence == '0' and 0 or math.max(0, microseconds() - fence) / 1000
    return 1, fence, call('PTTL', lock.holder), age, lock.type
  end

  function mutex.left(lock)
    return line.leftOfMutex(lock.holder, valueOf(lock.holder))
  end

  local several = {}

  -- Ends what has run out of time. Its keys end at times of their own, each after all leases: without
  -- the set of holders nothing is taken, whatever the state says.
  function several.open(lock, lease)
    lock.now = elapsed(lock, lease)
    local used = call('HGET', lock.state, 'used')
    if used and used ~= '0' and call('EXISTS', lock.holder) == 0 then call('DEL', lock.state) end
    local ended = call('ZRANGEBYSCORE', lock.holder, '-inf', whole(lock.now))
    for _, token in ipairs(ended) do several.drop(lock, token) end
  end

  function several.owns(lock, token)
    return call('ZSCORE', lock.holder, token) ~= false
  end

  function several.fits(lock, take)
    local used = call('HGET', lock.state, 'used') or 0
    return used + take <= lock.slots
  end

  function several.record(lock, token)
    return string.match(call('HGET', lock.state, 'h:' .. token) or '0 0 0', '^(%d+) (%d+) (%d+)$')
  end

  function several.put(lock, token, take, lease)
    local fence, ms = several.raise(lock), tonumber(lease)
    call('HSET', lock.state, 'h:' .. token, fence .. ' ' .. take .. ' ' .. whole(lock.now))
    call('HINCRBY', lock.state, 'used', take)
    call('ZADD', lock.holder, whole(lock.now + ms), token)
    keep(lock.holder, ms)
    keep(lock.state, ms)
    return fence
  end

  function several.raise(lock)
    return nextFence(lock.fence, '')
  end

  function several.renew(lock, token, lease)
    local ms = tonumber(lease)
    call('ZADD', lock.holder, 'XX', whole(lock.now + ms), token)
    keep(lock.holder, ms)
    keep(lock.state, ms)
    line.keepFence(lock.fence, lease)
  end

  function several.drop(lock, token)
    local _, take = several.record(lock, token)
    call('ZREM', lock.holder, token)
    call('HDEL', lock.state, 'h:' .. token)
    if take ~= '0' then call('HINCRBY', lock.state, 'used', '-' .. take) end
  end

  function several.ended(lock, token)
    call('HSET', lock.state, 'ended', token)
  end

  function several.hasEnded(lock, token)
    return call('HGET', lock.state, 'ended') == token
  end

  function several.tokens(lock)
    return call('ZRANGE', lock.holder, '0', '-1')
  end

  function several.details(lock, token)
    local fence, take, since = several.record(lock, token)
    local left = call('ZSCORE', lock.holder, token) - lock.now
    return tonumber(take), fence, left, lock.now - since
  end

  function several.left(lock)
    local first = call('ZRANGE', lock.holder, '0', '0', 'WITHSCORES')
    return first[2] and first[2] - lock.now or 1000
  end

  local function leave(lock, token)
    call('ZREM', lock.queue, token)
    call('DEL', placeOf(lock.queue, token))
  end

  local function serveOne(lock, token, place, asking)
    local lease, take, channel, isOwn = line.readPlace(place)
    if not lock.kind.fits(lock, take) then return false end
    leave(lock, token)
    local fence = lock.kind.put(lock, token, take, lease)
    if token ~= asking then line.tell(lock.queue, token, channel, isOwn, fence) end
    return true
  end

  -- Hands what is free to the first in line, and to those behind it for as long as they fit.
  local function serve(lock, asking)
    -- Who does not wait any more keeps its place in front of a mutex that is held: it may come back.
    if lock.kind == mutex and not mutex.fits(lock) then return end
    while true do
      local token = call('ZRANGE', lock.queue, '0', '0')[1]
      if not token then return end
      local place = call('GET', placeOf(lock.queue, token))
      if not place then
        leave(lock, token)
      elseif not serveOne(lock, token, place, asking) then
        return
      end
    end
  end

  local verbs = {}

  function verbs.ask(lock, token, lease, _, stands)
    local kind = lock.kind
    if not kind.owns(lock, token) then
      serve(lock, token)
      if not kind.owns(lock, token) then
        if call('EXISTS', lock.queue) == 0 and kind.fits(lock, lock.take) then
          return tonumber(kind.put(lock, token, lock.take, lease))
        end
        local left = kind.left(lock)
        if stands then
          if kind == mutex then line.mark(lock.holder, valueOf(lock.holder)) end
          keep(lock.state, line.stand(lock.queue, token, lease, lock.take, left))
        end
        return -math.max(left, 0)
      end
    end
    kind.renew(lock, token, lease)
    local _, fence = kind.details(lock, token)
    -- Somebody deleted it.
    if fence == '0' then fence = kind.raise(lock) end
    return tonumber(fence)
  end

  function verbs.line(lock, token, lease)
    return verbs.ask(lock, token, lease, nil, true)
  end

  function verbs.extend(lock, token, lease)
    if not lock.kind.owns(lock, token) then return 0 end
    lock.kind.renew(lock, token, lease)
    return 1
  end

  function verbs.release(lock, token, fence)
    local isOurs = lock.kind.owns(lock, token)
    if isOurs then
      lock.kind.drop(lock, token)
      -- What a will has ended was lost to its holder, who may release it later.
      if fence ~= '-1' then lock.kind.ended(lock, token) end
    else
      leave(lock, token)
      isOurs = lock.kind.hasEnded(lock, token, fence)
    end
    serve(lock)
    return isOurs and 1 or 0
  end

  function verbs.adopt(lock, token, lease, from)
    local kind = lock.kind
    if kind.owns(lock, from) then
      kind.drop(lock, from)
      return tonumber(kind.put(lock, token, lock.take, lease))
    end
    return kind.owns(lock, token) and verbs.ask(lock, token, lease) or 0
  end

  function verbs.force(lock)
    local tokens = lock.kind.tokens(lock)
    for _, token in ipairs(tokens) do lock.kind.drop(lock, token) end
    lock.kind.raise(lock)
    serve(lock)
    return #tokens
  end

  function verbs.show(lock)
    local holders, waiters = {}, {}
    for _, token in ipairs(lock.kind.tokens(lock)) do
      holders[#holders + 1] = { token, lock.kind.details(lock, token) }
    end
    for _, token in ipairs(call('ZRANGE', lock.queue, '0', '-1')) do
      local place = call('GET', placeOf(lock.queue, token))
      if place then waiters[#waiters + 1] = { token, tonumber(string.match(place, '^%d+ (%d+)')) } end
    end
    return { holders, waiters }
  end

  local function lockAt(index, slots, take)
    local holder = KEYS[index]
    return {
      holder = holder, fence = holder .. ':fence', queue = holder .. ':queue', state = holder .. ':state',
      slots = tonumber(slots), take = take or '1', kind = slots and several or mutex,
    }
  end

  -- Takes the mutexes from the index on, or none, each with its own token; what has it already stays so.
  local function all(index, count, fence, lease)
    for each = index, index + count - 1 do
      local lock, token = lockAt(each), ARGV[3 * each]
      local isOurs = mutex.owns(lock, token)
      -- Those who stand in line come first, if they live.
      if not isOurs then serve(lock) end
      if not isOurs and not mutex.fits(lock) then return -1 end
      local known = lastFence(lock)
      fence = math.max(fence, isOurs and known or math.max(known + 1, microseconds()))
    end
    for each = index, index + count - 1 do
      local mark = line.markOf(KEYS[each] .. ':queue')
      call('SET', KEYS[each], mark .. ARGV[3 * each], 'PX', lease)
      call('SET', KEYS[each] .. ':fence', mark .. whole(fence), 'PX', DAY)
    end
    return fence
  end

  return function(index, verb, token, number)
    local word, more = string.match(verb, '^(%a+) ?(.*)$')
    if word == 'all' then
      local count, fence = string.match(more, '^(%d+) (%d+)$')
      return all(index, tonumber(count), tonumber(fence), number)
    end
    local lock = lockAt(index, string.match(more, '^(%d+) (%d+)'))
    lock.kind.open(lock, word == 'release' and 0 or tonumber(number))
    return verbs[word](lock, token, number, string.match(more, ':(.*)$'))
  end
end
`;
