import { GENERAL_PART } from './lock-script-general.ts';

/** How long a waiter that was called has to confirm. If it died meanwhile, so much is lost. */
export const RESERVED_MS = 5000;

/**
 * Lua that gives the lock whose fence is `key` its next `fence`. Time stands still while a script runs: one
 * look is enough. Of the same length, as they are until the year 2286, texts compare as their numbers do.
 */
const RAISE_FENCE = `
    if not time then
      local parts = call('TIME')
      time = parts[1] .. string.sub('00000' .. parts[2], -6)
    end
    local fence = time
    local last = call('SET', key, time, 'PX', DAY, 'GET')
    if last and (#last ~= #time or last >= time) and last + 0 >= time + 0 then
      fence = string.format('%.0f', last + 1)
      call('SET', key, fence, 'PX', DAY)
    end`;

/**
 * Lua for a lock that was handed to a waiter on the channel `called`. If that one has died, somebody behind it
 * finds out when the reservation ends: the first that is another client's, since those of one client die
 * together, if it is not far behind.
 */
const WARN_NEXT = `
      local watcher, itsChannel
      for _, token in ipairs(call('ZRANGE', queue, '0', WATCHED)) do
        local place = call('GET', queue .. ':' .. string.match(token, '^%S*'))
        local channel = string.match(place or '', '%S+$')
        local isOther = channel and channel ~= called
        if isOther or (channel and not watcher) then watcher, itsChannel = token, channel end
        if isOther then break end
      end
      if watcher then call('PUBLISH', itsChannel, '0 ' .. watcher) end`;

/** What the line of any lock needs, and what is frequent with a mutex that somebody holds. */
const LINE_PART = `
local function lining()
  local PATIENCE = 10000
  channel = channel or 'holdfast:' .. string.match(token, '^[^.]*')

  local line = {}

  function line.nextFence(key)${RAISE_FENCE}
    return fence
  end

  function line.whole(number)
    return string.format('%.0f', number)
  end

  -- What helps the lock must outlive it, but not for ever.
  function line.keep(key, ms)
    if call('PTTL', key) < ms then call('PEXPIRE', key, line.whole(ms + DAY)) end
  end

  function line.placeOf(queue, token)
    return queue .. ':' .. string.match(token, '^%S*')
  end

  -- The lease, what is taken, and whether the reply will tell the waiter. Who is called by a message has to confirm.
  function line.readPlace(place)
    local lease, take, itsChannel = string.match(place, '^(%d+) (%d+) (%S+)$')
    local isOwn = itsChannel == channel
    return isOwn and lease or RESERVE, take, itsChannel, isOwn
  end

  function line.tell(queue, token, called, isOwn, fence)
    if not isOwn then
      call('PUBLISH', called, fence .. ' ' .. token)${WARN_NEXT}
    else
      served = served or {}
      served[#served + 1] = token
      served[#served + 1] = tonumber(fence)
    end
  end

  function line.stand(queue, token, lease, take, left)
    local last = call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')
    call('ZADD', queue, 'NX', line.whole((last[2] or 0) + 1), token)
    local patience = math.max(left, 0) + PATIENCE
    local place = lease .. ' ' .. take .. ' ' .. channel
    call('SET', line.placeOf(queue, token), place, 'PX', line.whole(patience))
    line.keep(queue, patience)
    return patience
  end

  -- A token without a space is another program's, which calls nobody when it is done, and may have no
  -- end: look every second.
  function line.leftOfMutex(holder, token)
    local left = call('PTTL', holder)
    local isForeign = token and not string.find(token, ' ', 1, true)
    if token and (left < 0 or (isForeign and left > 1000)) then return 1000 end
    return left
  end

  -- Held by another: to stand in line is all that is left.
  local function await(holder, token, lease)
    local other = call('GET', holder)
    if not other or other == token then return end
    local left = line.leftOfMutex(holder, other)
    line.stand(holder .. ':queue', token, lease, '1', left)
    return -math.max(left, 0)
  end

  local function extend(holder, token, lease)
    if call('GET', holder) ~= token then return end
    call('PEXPIRE', holder, lease)
    line.keep(holder .. ':fence', tonumber(lease))
    return 1
  end

  line.verbs = { line = await, extend = extend }
  return line
end
`;

/**
 * Requests on locks, any number in one call, each answered in order.
 *
 * KEYS  for each request one, the lock's holder key. The others are made from it and share its hash tag:
 *       `:fence`, `:queue`, `:queue:<owner>`, `:state`, `:clock`. All of a call are in one slot of a cluster.
 * ARGV  the channel of who calls; then for each request three: verb, token, number. Words cost as much as
 *       commands do, so what is asked most often is said in short: one request for a mutex has two, the token,
 *       and the first letter of the verb with the number (`ask`, `line`, `extend`, `release`). The channel is
 *       then `holdfast:` and what the owner begins with, up to a dot.
 *       verb, for a mutex one word, for any other lock followed by its slots and what is taken of them:
 *         `ask` grants or says busy, `line` also stands in line, `extend`; the number is the lease in ms.
 *         `release`; the number is the fence, or 0 if it is not known.
 *         `force`, `show`; `adopt`, which takes over from the token that follows the verb and a `:`.
 *         `all <count> <fence>` takes so many mutexes or none, with one fence that is not below the one
 *         given; the requests after it say `also`.
 *       token: the owner, which is unique, a space, and what others may know of it.
 * Reply for each request a number. Asking: the fence, or when busy minus the milliseconds after which to
 *       ask again. Extending and releasing: 1, or 0 when not held. `force` counts holders. `show` gives
 *       { holders, waiters }, lists of { token, take, fence, leftMs, ageMs } and of
 *       { token, take }.
 *       After these, if other waiters of the caller were served, the list { token, fence, token, … }.
 *       The reply to a single request comes without a list around it, if nobody was served.
 *
 * holder  a mutex: a string, the token, with the lease as its TTL, so that a program that uses
 *         SET key token NX PX and compare-and-delete takes part. Any other lock: a sorted set of tokens
 *         by the end of their lease, on the lock's own clock (see `elapsed`).
 * fence   the fence of the last grant: the server's time then, in microseconds, or one more than the fence
 *         before, whichever is larger. So it rises also if keys were lost, or are those of an older
 *         snapshot or of a replica that lagged behind, unless the clock was set back by more than the
 *         loss took. It is kept for a day after the last grant or renewal.
 * state   of a lock that is no mutex: a hash of `ended`, the token of the last release; `used`, the sum
 *         of what is taken; and `h:<token>`, the holder's fence, take and beginning.
 * queue   a sorted set of waiting tokens by ticket. Each has a key of its own with its lease, take and
 *         channel, which vanishes if the waiter does not ask again in time: the dead are skipped.
 *
 * A release hands over inside this script, to the first live waiter. If that is the caller's own, the
 * reply tells it. Another's is called by a message, of the fence and the token; it gets the lock for RESERVE
 * milliseconds and confirms, which starts its lease: it cannot know how long the message took. The one
 * behind it is told, with a fence of 0, to look when the reservation ends; nobody else hears of it.
 *
 * A release whose reply was lost may be sent again: it was the last, if nobody was granted the lock since.
 *
 * To make closures costs more than the commands of a mutex that is free, or handed over: so the loop at the
 * end does that by itself. What else is frequent has shorter ways in `lining`; everything can be done by
 * `general`. Both are made when they are first needed. What the shorter ways do, `general` does too: a test
 * compares them.
 * Numbers stay the strings that they came as: Redis takes a microsecond to write a number of Lua's into a
 * command. In a reply it is the other way round.
 */
export const LOCK_SCRIPT = `
local DAY = '86400000'
local RESERVE = '${RESERVED_MS}'
local WATCHED = '20'
local call = redis.call

local channel, verb, token, number = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not token then
  token, channel = channel, nil
  number = string.sub(verb, 2)
  verb = string.sub(verb, 1, 1)
  if verb == 'a' then
    verb = 'ask'
  elseif verb == 'r' then
    verb = 'release'
  else
    verb = verb == 'l' and 'line' or 'extend'
  end
end

-- The caller's own waiters that were served.
local served
local time, replies, act
-- The first in line of a mutex that is handed over, and its channel.
local first, called

local count = #KEYS
for index = 1, count do
  local at = index * 3 - 1
  if index > 1 then verb, token, number = ARGV[at], ARGV[at + 1], ARGV[at + 2] end
  local holder, reply, key = KEYS[index], nil, nil
  local queue = holder .. ':queue'
  first = nil
  if verb == 'ask' or verb == 'line' then
    if call('EXISTS', queue) == 0 and call('SET', holder, token, 'NX', 'PX', number) then
      key = holder .. ':fence'
    end
  elseif verb == 'also' then
    reply = 0
  elseif verb == 'release' and call('GET', holder) == token then
    local place, lease
    repeat
      first = call('ZPOPMIN', queue)[1]
      place = first and call('GETDEL', queue .. ':' .. string.match(first, '^%S*'))
    until place or not first
    if first then
      lease, called = string.match(place, '^(%d+) %d+ (%S+)$')
      channel = channel or 'holdfast:' .. string.match(token, '^[^.]*')
      call('SET', holder, first, 'PX', called == channel and lease or RESERVE)
      key = holder .. ':fence'
    else
      call('DEL', holder)
      reply = 1
    end
  end
  if key then${RAISE_FENCE}
    if not first then
      reply = tonumber(fence)
    elseif called == channel then
      served = served or {}
      served[#served + 1] = first
      served[#served + 1] = tonumber(fence)
      reply = 1
    else
      call('PUBLISH', called, fence .. ' ' .. first)${WARN_NEXT}
      reply = 1
    end
  end
  if not reply then
    act = act or (function()${LINE_PART}${GENERAL_PART}
      local line, long = lining(), nil
      return function(index, holder, verb, token, number)
        local verbOfMutex = line.verbs[verb]
        local reply = verbOfMutex and verbOfMutex(holder, token, number)
        if reply then return reply end
        long = long or general(line)
        return long(index, verb, token, number)
      end
    end)()
    reply = act(index, holder, verb, token, number)
  end
  if count == 1 and not served then return reply end
  replies = replies or {}
  replies[index] = reply
end
replies[count + 1] = served
return replies
`;
