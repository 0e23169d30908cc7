import { scriptOf } from '../../client/index.ts';
import { LAST_BYTE_READ, LUA_BASE, LUA_KEYS, SESSION_KEY_PREFIX, SUFFIX } from './lock-keys.ts';

/** How long a lock is reserved for a waiter that is notified by a message. A shorter lease limits it. */
export const RESERVED_MS = 2000;
/** A client with waiters sends a refresh at least this often. */
export const REFRESH_MS = 1000;
/** A client is passed over after this time without a refresh, and loses its places in the queue after DEAD_MS. */
const SILENT_MS = 2000;
export const DEAD_MS = 10_000;
/** A lock that became free without a release goes to a client that sent a request within this time. */
const RECENT_MS = 100;
/** Maximum number of waiters of silent clients that are passed over to find a live one. They are read in pages. */
const MAX_PASSED_OVER = 1000;
const PAGE_SIZE = 100;
/** The remaining TTL of a client's key below which the client counts as silent. */
export const PASSED_OVER_MS = DEAD_MS - SILENT_MS;
/** Maximum number of holders that a LockTimeoutError names. */
const MAX_SHOWN = 10;
/** Maximum number of locks that one call of the exit command releases. The server calls it again. */
const MAX_EXITS = 500;

/**
 * Executes requests on locks: any number in one call, in order.
 *
 * KEYS  one for each request: the holder key of its lock. The helper keys are derived from it: see lock-keys.ts. All
 *       keys of a call are in one slot of a cluster.
 * ARGV  three for each request: operation, token, number; and after all of them the id of the session, if there is one.
 *       The operation is a verb. For a lock other than a mutex, its slots and the permits of the request follow it.
 *         acquire   takes the lock if it is free. The number is the lease in ms, as in the next seven.
 *         queue     the same; if it is busy, the token enters the queue, or keeps its place.
 *         steal     ends all leases and takes the lock, before any waiter. The reason follows the verb and a ':'.
 *         watch     returns whether a client waits; if none does, the holder gets a message when one enters the queue.
 *         refresh   shows that the client of a token in the queue is alive.
 *         extend    makes the lease end so long from now, or later if it ends later already.
 *         keep      sets the end of the lease exactly, and takes the token out of its session. If the end is near, the
 *                   first waiter gets a message to refresh.
 *         release   ends the lease, or leaves the queue.
 *         released  returns whether a release ended the last grant, whose fence is the number.
 *         adopt     takes the lock over from another token, which follows the verb and a ':'.
 *         detach    removes the token from its session, so that the end of the session does not release it.
 *         force     ends all leases.     inspect   returns holders and waiters.
 *         contention  returns some holders, and the place of the token in the queue.
 *         all <count> <fence>  takes this number of mutexes or none, with one fence that is at least the given one. The
 *                   other requests of the group follow it, with the verb `also`.
 * Reply a list with one number for each request.
 *         acquire, queue, steal, adopt, all: the fence; if the lock is busy, minus the ms after which it may be free; if
 *           it is in use with another number of slots, the status SLOTS and that number.
 *         refresh: the ms after which the lock may be free, or 0 if the token is not in the queue.
 *         extend, keep, release, released: 1, or 0 if it was not held.
 *         watch: 1 if a client waits, else 0, also if it was not held.
 *         force: the number of holders.
 *         inspect: { holders, waiters }, lists of { token, permits, fence, ms left, age in ms, type } and of { token,
 *           permits }. Only a mutex has a type; if it is not `string`, the token is empty. For a foreign value, the
 *           token is its start.
 *         contention: { holders, place }, the place from 1 on, or 0.
 *       If waiters of the calling client were served, a list { token, fence, token, … } follows as the last entry.
 *       The reply to a single request is not a list, unless waiters were served.
 *       If the session has ended, no request is executed, and the reply is the status NOSESSION.
 * Without keys, ARGV is the id of a session and a verb. `open`: the session may be used from now on. `exit`: it has
 *       ended, and its locks are released, MAX_EXITS in one call; the reply is AGAIN if some are left, else OK.
 *
 * holder  a mutex: a string, the token, with the lease as its TTL, so that a program that uses SET key token NX PX
 *         and compare-and-delete takes part. Any other lock: a sorted set of tokens by the end of their lease, on the
 *         lock's own clock (see `elapsed`).
 * fence   the fence of the last grant: the server's time in microseconds, or one more than the fence before, whichever
 *         is larger. So it also rises if keys were lost, or are those of an older snapshot or of a replica that lagged
 *         behind, unless the clock was set back by more than the loss took. It is kept for a day after the grant, and
 *         for half a day or more after the last renewal.
 * state   of a lock that is no mutex: a hash of `used`, the sum of the permits; `ended`, the token of the last
 *         release; `slots`; and `h:<token>`, the fence, permits and start time of a holder. It has three fields more
 *         than the holder key has tokens. If not, a part was lost (by eviction, or DEL): then all leases of the lock
 *         end, and the next renewal of each holder fails.
 * watchers  the holders that get a message when a client enters the queue: of a mutex a string, else a set.
 * queue   a sorted set of the waiters by ticket, each with its permits, lease and token. Each client with waiters has a
 *         key of its own beside it, which it refreshes. wait-script.ts records beside it which leases waiters hold.
 *
 * A release hands the lock over inside this script, to the first waiter whose client is alive. If that is a waiter of the
 * calling client, the reply includes it. Otherwise its client gets a message, the fence and the token, and the lock is
 * reserved for RESERVED_MS, or for its lease if that is shorter. The client confirms by `extend` or `queue`, since it
 * cannot know how long the message took. If it does not, the lock becomes free, and the next refresh of any waiter
 * hands it over.
 *
 * The loop at the end takes and releases a mutex without waiters: the fast path. `general` handles all requests, those
 * too. It is called only when needed, since creating its functions takes longer than taking a free mutex. A test
 * compares both paths.
 */
export const LOCK_SCRIPT = `
local call = redis.call
-- Only Holdfast has it: HOLDFAST.HISTORY returns the events.
local event = redis.holdfast_event or function() end
local DAY = '86400000'
local FENCE, QUEUE, LAST_BYTE = '${SUFFIX.fence}', '${SUFFIX.queue}', '${LAST_BYTE_READ}'
${LUA_BASE}
local count = #KEYS
local session = ARGV[3 * count + 1]
local sessionKey = session and '${SESSION_KEY_PREFIX}' .. session
if session and count > 0 and call('HEXISTS', sessionKey, 'open') == 0 then
  return redis.status_reply('NOSESSION')
end

-- Records a token with the session, with all that its release needs.
local function record(holder, slots, permits, lease, token)
  call('HSET', sessionKey, token, slots .. ' ' .. permits .. ' ' .. lease .. ' ' .. holder)
end

-- The server's time in microseconds, as text. It does not change while a script runs.
local time

local function nextFence(base)
  if not time then
    local parts = call('TIME')
    time = parts[1] .. string.sub('00000' .. parts[2], -6)
  end
  local key, fence = base .. FENCE, time
  local last = call('SET', key, fence, 'PX', DAY, 'GET')
  if last and last + 0 >= fence + 0 then
    fence = string.format('%.0f', last + 1)
    call('SET', key, fence, 'PX', DAY)
  end
  return fence
end

-- Waiters of the calling client that were served: token, fence, token, fence, ...
local served

local function general()
${LUA_KEYS}
  local function whole(number)
    return string.format('%.0f', number)
  end

  -- Keeps a helper key for at least this long, and for a day more when its TTL is set. Returns whether it was set.
  local function keep(key, ms)
    return call('PTTL', key) < ms and call('PEXPIRE', key, whole(ms + DAY)) == 1
  end

  -- Keeps the fence for at least half a day after the last renewal, and the watchers with it: a renewal sets the TTL of
  -- the fence about once a day, and 'watch' keeps the watchers until after that.
  local function keepFence(lock, lease)
    if keep(lock.base .. FENCE, lease + DAY / 2) then keep(lock.watchers, lease + DAY) end
  end

  local function lastFence(lock)
    return call('GET', lock.base .. FENCE) or '0'
  end

  -- The clock of a lock with several holders, in ms. It is derived from the remaining TTL of a key: on our own server,
  -- a step of the wall clock does not change a TTL. The value of the key is the clock's time when it was set, and its
  -- whole TTL. The key outlives every lease by half a day: if it has expired, so have they.
  local function elapsed(lock, lease)
    local key = lock.base .. CLOCK
    local left = call('PTTL', key)
    local now = 0
    if left >= 0 then
      local base, life = string.match(call('GET', key), '(%d+) (%d+)')
      now = base + life - left
    elseif call('TYPE', lock.holder).ok == 'zset' then
      call('DEL', lock.holder, lock.state)
    end
    local needed = 2 * lease + DAY
    if left < needed / 2 then
      call('SET', key, whole(now) .. ' ' .. whole(needed), 'PX', whole(needed))
    end
    return now
  end

  local function microseconds()
    local parts = call('TIME')
    return parts[1] * 1000000 + parts[2]
  end

  -- Whether a client that may be alive is in the queue.
  local hasWaiters

  local mutex = {}

  function mutex.open() end

  function mutex.owns(lock, token)
    return call('GETRANGE', lock.holder, '0', LAST_BYTE) == token
  end

  function mutex.fits(lock)
    return call('EXISTS', lock.holder) == 0
  end

  mutex.isFree = mutex.fits

  function mutex.refusal() end

  function mutex.put(lock, token, permits, lease)
    call('SET', lock.holder, token, 'PX', lease)
    return nextFence(lock.base)
  end

  function mutex.renew(lock, token, lease, isExact)
    if isExact or call('PTTL', lock.holder) < tonumber(lease) then call('PEXPIRE', lock.holder, lease) end
  end

  function mutex.fenceOf(lock)
    return lastFence(lock)
  end

  function mutex.drop(lock)
    call('DEL', lock.holder)
  end

  function mutex.ended() end

  -- The fence of a key that has expired is 0, which no grant has.
  function mutex.wasReleased(lock, token, fence)
    return fence ~= '0' and mutex.fits(lock) and lastFence(lock) == fence
  end

  -- A key of another type is held by another program: it has a type and no token.
  function mutex.tokens(lock)
    lock.type = call('TYPE', lock.holder).ok
    if lock.type == 'none' then return {} end
    return { lock.type == 'string' and shownToken(call('GETRANGE', lock.holder, '0', LAST_BYTE)) or '' }
  end

  function mutex.details(lock)
    local fence = lastFence(lock)
    local age = fence == '0' and 0 or math.max(0, microseconds() - fence) / 1000
    return 1, fence, call('PTTL', lock.holder), age, lock.type
  end

  function mutex.left(lock)
    return call('PTTL', lock.holder)
  end

  function mutex.watch(lock, token, lease)
    call('SET', lock.watchers, token, 'PX', whole(lease + DAY))
  end

  -- The key may be that of a former holder, whose lease has ended.
  function mutex.watching(lock)
    local token = call('GET', lock.watchers)
    return { token and mutex.owns(lock, token) and token or nil }
  end

  local shared = {}

  function shared.open(lock, lease)
    lock.now = elapsed(lock, lease)
    local held, fields = call('ZCARD', lock.holder), call('HLEN', lock.state)
    if fields ~= held + 3 then
      call('DEL', lock.holder, lock.state)
      call('HSET', lock.state, 'used', '0', 'ended', '', 'slots', whole(lock.slots))
      keep(lock.state, lease)
    elseif held > 0 then
      local ended = call('ZRANGEBYSCORE', lock.holder, '-inf', whole(lock.now))
      for _, token in ipairs(ended) do
        shared.drop(lock, token)
        event('expired', lock.holder, token)
      end
    end
    lock.given, lock.slots = lock.slots, tonumber(call('HGET', lock.state, 'slots'))
  end

  -- The number of slots changes only while the lock is free. If it is not, the reply names the number that it has.
  function shared.refusal(lock)
    if lock.given == lock.slots then return end
    if not shared.isFree(lock) or hasWaiters(lock) then
      return redis.status_reply('SLOTS ' .. whole(lock.slots))
    end
    lock.slots = lock.given
    call('HSET', lock.state, 'slots', whole(lock.slots))
  end

  function shared.owns(lock, token)
    return call('ZSCORE', lock.holder, token) ~= false
  end

  function shared.fits(lock, permits)
    return call('HGET', lock.state, 'used') + permits <= lock.slots
  end

  function shared.isFree(lock)
    return call('ZCARD', lock.holder) == 0
  end

  function shared.recordOf(lock, token)
    return string.match(call('HGET', lock.state, 'h:' .. token) or '0 0 0', '^(%d+) (%d+) (%d+)$')
  end

  function shared.put(lock, token, permits, lease)
    local fence = nextFence(lock.base)
    call('HSET', lock.state, 'h:' .. token, fence .. ' ' .. permits .. ' ' .. whole(lock.now))
    call('HINCRBY', lock.state, 'used', permits)
    call('ZADD', lock.holder, whole(lock.now + lease), token)
    keep(lock.holder, tonumber(lease))
    keep(lock.state, tonumber(lease))
    return fence
  end

  function shared.renew(lock, token, lease, isExact)
    local ends = lock.now + lease
    if not isExact then ends = math.max(ends, call('ZSCORE', lock.holder, token)) end
    call('ZADD', lock.holder, 'XX', whole(ends), token)
    keep(lock.holder, tonumber(lease))
    keep(lock.state, tonumber(lease))
  end

  function shared.fenceOf(lock, token)
    return (shared.recordOf(lock, token))
  end

  function shared.drop(lock, token)
    local _, permits = shared.recordOf(lock, token)
    call('ZREM', lock.holder, token)
    call('HDEL', lock.state, 'h:' .. token)
    call('HINCRBY', lock.state, 'used', '-' .. permits)
    call('SREM', lock.watchers, token)
  end

  function shared.ended(lock, token)
    call('HSET', lock.state, 'ended', token)
  end

  function shared.wasReleased(lock, token)
    return call('HGET', lock.state, 'ended') == token
  end

  function shared.tokens(lock, last)
    return call('ZRANGE', lock.holder, '0', last or '-1')
  end

  function shared.details(lock, token)
    local fence, permits, since = shared.recordOf(lock, token)
    local left = call('ZSCORE', lock.holder, token) - lock.now
    return tonumber(permits), fence, left, lock.now - since
  end

  function shared.left(lock)
    local first = call('ZRANGE', lock.holder, '0', '0', 'WITHSCORES')
    return first[2] and first[2] - lock.now or -1
  end

  function shared.watch(lock, token, lease)
    call('SADD', lock.watchers, token)
    keep(lock.watchers, lease + DAY)
  end

  function shared.watching(lock)
    return call('SMEMBERS', lock.watchers)
  end

  local function lockAt(holder, slots, permits)
    local base = baseOf(holder)
    return {
      holder = holder, base = base, queue = base .. QUEUE, state = base .. STATE, watchers = base .. WATCHERS,
      slots = tonumber(slots), permits = permits or '1', kind = slots and shared or mutex,
    }
  end

  local function recordSession(lock, token, lease)
    if session then record(lock.holder, lock.slots or '0', lock.permits, lease, token) end
  end

  local function forgetSession(token)
    if session then call('HDEL', sessionKey, token) end
  end

  local function stayAlive(lock, token)
    local key = aliveKey(lock.base, token)
    -- Redis refuses SET, but not PEXPIRE, when it is out of memory.
    if call('PEXPIRE', key, '${DEAD_MS}') == 0 then call('SET', key, '', 'PX', '${DEAD_MS}') end
  end

  local function publish(token, message)
    call('PUBLISH', 'holdfast:' .. clientOf(token), message)
  end

  local function memberOf(lock, token, lease)
    return lock.permits .. ' ' .. lease .. ' ' .. token
  end

  local function enqueue(lock, token, lease)
    local last = call('ZRANGE', lock.queue, '-1', '-1', 'WITHSCORES')
    if call('ZADD', lock.queue, 'NX', whole((last[2] or 0) + 1), memberOf(lock, token, lease)) == 1 then
      event('waiting', lock.holder, token)
    end
    keep(lock.queue, ${DEAD_MS})
    stayAlive(lock, token)
    -- Each holder is notified once.
    local watchers = lock.kind.watching(lock)
    for _, each in ipairs(watchers) do publish(each, 'contended\\n' .. each) end
    if #watchers > 0 then call('DEL', lock.watchers) end
  end

  -- The first waiter whose client is alive. If none of the first MAX_PASSED_OVER is, the first one that has not lost its
  -- place.
  local function firstInQueue(lock, aliveLeft)
    local leftOf, silent, index, size = {}, nil, 0, 1
    while index < ${MAX_PASSED_OVER} do
      local members = call('ZRANGE', lock.queue, index, index + size - 1)
      for _, member in ipairs(members) do
        local _, _, token = parseQueued(member)
        local key = aliveKey(lock.base, token)
        leftOf[key] = leftOf[key] or call('PTTL', key)
        if leftOf[key] > aliveLeft then return member end
        if leftOf[key] < 0 then
          call('ZREM', lock.queue, member)
          event('left', lock.holder, token)
        else
          silent = silent or member
          index = index + 1
        end
      end
      if #members < size then return silent end
      size = ${PAGE_SIZE}
    end
    return silent
  end

  -- Makes a client that does not confirm a short reservation count as silent when that ends. After a long reservation
  -- it counts as silent anyway.
  local function expectReply(lock, token, reserved)
    local key, left = aliveKey(lock.base, token), ${PASSED_OVER_MS} + reserved
    if call('PTTL', key) > left then call('PEXPIRE', key, whole(left)) end
  end

  function hasWaiters(lock)
    return firstInQueue(lock, 0) ~= nil
  end

  local function notify(token, fence, isOwn)
    if isOwn then
      served = served or {}
      served[#served + 1] = token
      served[#served + 1] = fence
    else
      publish(token, fence .. ' ' .. token)
    end
  end

  -- Hands the lock over to the first waiters of the queue, until one does not fit. 'client' is the client that gets the
  -- reply, 'requesting' the token of the request, which gets its own reply. Returns the number of waiters.
  local function serve(lock, client, requesting, aliveLeft)
    local count = 0
    if lock.kind == mutex and not mutex.fits(lock) then return count end
    while true do
      local member = firstInQueue(lock, aliveLeft or ${PASSED_OVER_MS})
      if not member then return count end
      local permits, lease, token = parseQueued(member)
      if not lock.kind.fits(lock, permits) then return count end
      call('ZREM', lock.queue, member)
      local isOwn = clientOf(token) == client
      local reserved = isOwn and lease or whole(math.min(lease, ${RESERVED_MS}))
      local fence = lock.kind.put(lock, token, permits, reserved)
      event('handed-over', lock.holder, token, tonumber(fence))
      if not isOwn then expectReply(lock, token, reserved) end
      if token ~= requesting then notify(token, fence, isOwn) end
      count = count + 1
      if lock.kind == mutex then return count end
    end
  end

  -- Makes the first waiter refresh, if a lease ends before its next refresh may be.
  local function refreshFirst(lock)
    local left = lock.kind.left(lock)
    local first = left >= 0 and left < ${REFRESH_MS} and firstInQueue(lock, ${PASSED_OVER_MS})
    if not first then return end
    local _, _, token = parseQueued(first)
    publish(token, 'refresh\\n' .. token)
  end

  local operations = {}

  local function renew(lock, token, lease)
    lock.kind.renew(lock, token, lease)
    keepFence(lock, lease)
    if lease + 0 < ${RESERVED_MS} then call('PEXPIRE', aliveKey(lock.base, token), '${DEAD_MS}') end
  end

  local function takeFree(lock, token, lease)
    if call('EXISTS', lock.queue) == 1 or not lock.kind.fits(lock, lock.permits) then return end
    recordSession(lock, token, lease)
    local fence = tonumber(lock.kind.put(lock, token, lock.permits, lease))
    event('granted', lock.holder, token, fence)
    return fence
  end

  local function acquire(lock, token, lease, queues)
    local kind = lock.kind
    local refusal = kind.refusal(lock)
    if refusal then return refusal end
    if not kind.owns(lock, token) then
      local fence = takeFree(lock, token, lease)
      if fence then return fence end
      if queues then
        enqueue(lock, token, lease)
        recordSession(lock, token, lease)
      end
      serve(lock, clientOf(token), token)
      if not kind.owns(lock, token) then
        -- All waiters may have been removed from the queue, since their clients were dead.
        return not queues and takeFree(lock, token, lease) or -math.max(kind.left(lock), 0)
      end
    end
    renew(lock, token, lease)
    recordSession(lock, token, lease)
    local fence = kind.fenceOf(lock, token)
    -- 0: another program deleted the fence.
    return tonumber(fence == '0' and nextFence(lock.base) or fence)
  end

  function operations.acquire(lock, token, lease)
    return acquire(lock, token, lease, false)
  end

  function operations.queue(lock, token, lease)
    return acquire(lock, token, lease, true)
  end

  -- Ends all leases and takes the lock, before any waiter.
  function operations.steal(lock, token, lease, reason)
    local kind = lock.kind
    -- Not by 'owns', which fails if the key has another type.
    local tokens = kind.tokens(lock)
    for _, each in ipairs(tokens) do
      if each == token then return acquire(lock, token, lease, false) end
    end
    -- Only waiters can keep the number of slots: the holders lose the lock.
    local refusal = hasWaiters(lock) and kind.refusal(lock)
    if refusal then return refusal end
    for _, each in ipairs(tokens) do
      kind.drop(lock, each)
      event('stolen', lock.holder, each)
      if isToken(each) then publish(each, 'stolen\\n' .. each .. '\\n' .. token .. '\\n' .. reason) end
    end
    kind.refusal(lock)
    recordSession(lock, token, lease)
    local fence = tonumber(kind.put(lock, token, lock.permits, lease))
    event('stole', lock.holder, token, fence)
    -- The former holders may have had more permits.
    serve(lock, clientOf(token))
    return fence
  end

  -- Returns 1 if a client waits. Otherwise the holder gets a message when one enters the queue. A former holder gets none.
  function operations.watch(lock, token, lease)
    if not lock.kind.owns(lock, token) then return 0 end
    if hasWaiters(lock) then return 1 end
    lock.kind.watch(lock, token, lease)
    return 0
  end

  function operations.refresh(lock, token, lease)
    local member = memberOf(lock, token, lease)
    if not call('ZSCORE', lock.queue, member) then return 0 end
    -- The client was silent for DEAD_MS and has lost its places.
    if call('PEXPIRE', aliveKey(lock.base, token), '${DEAD_MS}') == 0 then
      call('ZREM', lock.queue, member)
      event('left', lock.holder, token)
      return 0
    end
    keep(lock.queue, ${DEAD_MS})
    -- If the lock is free, its lease or reservation has expired: that client may have died, and others with it. Live
    -- clients send a refresh at this time, so only a client with a recent request is served.
    local count = serve(lock, clientOf(token), nil, lock.kind.isFree(lock) and ${DEAD_MS - RECENT_MS} or nil)
    -- Only after a hand-over: the next waiter does not know the ends of the other leases.
    if count > 0 then refreshFirst(lock) end
    local left = lock.kind.left(lock)
    return left > 0 and left or ${REFRESH_MS}
  end

  function operations.extend(lock, token, lease)
    if not lock.kind.owns(lock, token) then return 0 end
    renew(lock, token, lease)
    return 1
  end

  function operations.keep(lock, token, lease)
    if not lock.kind.owns(lock, token) then return 0 end
    lock.kind.renew(lock, token, lease, true)
    keepFence(lock, lease)
    forgetSession(token)
    -- The waiters may expect a later end.
    refreshFirst(lock)
    return 1
  end

  -- 'client' is nil for the exit of a session: no client gets the reply.
  local function release(lock, token, lease, client)
    local isHeld = lock.kind.owns(lock, token)
    if isHeld then
      lock.kind.drop(lock, token)
      event(client and 'released' or 'session-ended', lock.holder, token)
    elseif call('ZREM', lock.queue, memberOf(lock, token, lease)) == 1 then
      event('left', lock.holder, token)
    end
    serve(lock, client)
    return isHeld
  end

  function operations.release(lock, token, lease)
    local isHeld = release(lock, token, lease, clientOf(token))
    if isHeld then lock.kind.ended(lock, token) end
    forgetSession(token)
    return isHeld and 1 or 0
  end

  function operations.released(lock, token, fence)
    return lock.kind.wasReleased(lock, token, fence) and 1 or 0
  end

  function operations.detach(lock, token)
    forgetSession(token)
    return 1
  end

  function operations.adopt(lock, token, lease, from)
    local kind = lock.kind
    if kind.owns(lock, from) then
      kind.drop(lock, from)
      recordSession(lock, token, lease)
      local fence = tonumber(kind.put(lock, token, lock.permits, lease))
      event('transferred', lock.holder, from)
      event('adopted', lock.holder, token, fence)
      return fence
    end
    return kind.owns(lock, token) and acquire(lock, token, lease, false) or 0
  end

  function operations.force(lock, token)
    local tokens = lock.kind.tokens(lock)
    for _, each in ipairs(tokens) do
      lock.kind.drop(lock, each)
      event('forced', lock.holder, each)
    end
    nextFence(lock.base)
    serve(lock, clientOf(token))
    return #tokens
  end

  local function holdersOf(lock, last)
    local holders = {}
    for _, token in ipairs(lock.kind.tokens(lock, last)) do
      holders[#holders + 1] = { token, lock.kind.details(lock, token) }
    end
    return holders
  end

  function operations.contention(lock, token, lease)
    local rank = call('ZRANK', lock.queue, memberOf(lock, token, lease))
    return { holdersOf(lock, '${MAX_SHOWN - 1}'), rank and rank + 1 or 0 }
  end

  function operations.inspect(lock)
    local holders, waiters = holdersOf(lock), {}
    for _, member in ipairs(call('ZRANGE', lock.queue, '0', '-1')) do
      local permits, _, token = parseQueued(member)
      if call('EXISTS', aliveKey(lock.base, token)) == 1 then waiters[#waiters + 1] = { token, tonumber(permits) } end
    end
    return { holders, waiters }
  end

  -- Takes all mutexes from this index on, or none, each with its own token. A mutex that its token already holds is kept.
  local function takeAll(index, count, fence, lease)
    for each = index, index + count - 1 do
      local lock, token = lockAt(KEYS[each]), ARGV[3 * each - 1]
      local isHeld = mutex.owns(lock, token)
      if not isHeld then serve(lock, clientOf(token)) end
      if not isHeld and not mutex.fits(lock) then return -1 end
      local last = lastFence(lock)
      fence = math.max(fence, isHeld and last or math.max(last + 1, microseconds()))
    end
    for each = index, index + count - 1 do
      local holder, token = KEYS[each], ARGV[3 * each - 1]
      if not call('SET', holder, token, 'PX', lease, 'GET') then event('granted', holder, token, fence) end
      call('SET', baseOf(holder) .. FENCE, whole(fence), 'PX', DAY)
      recordSession(lockAt(holder), token, lease)
    end
    return fence
  end

  -- The end of a session: releases its locks.
  local function exit()
    call('HDEL', sessionKey, 'open')
    local found = call('HSCAN', sessionKey, '0', 'COUNT', '${MAX_EXITS}')[2]
    for index = 1, #found, 2 do
      local token = found[index]
      local slots, permits, lease, holder = string.match(found[index + 1], '^(%d+) (%d+) (%d+) (.*)$')
      local lock = lockAt(holder, slots ~= '0' and slots or nil, permits)
      -- Another program may have replaced the key by one of another type: ignore that error.
      pcall(function()
        lock.kind.open(lock, tonumber(lease))
        release(lock, token, lease)
      end)
      call('HDEL', sessionKey, token)
    end
    return redis.status_reply(call('HLEN', sessionKey) > 0 and 'AGAIN' or 'OK')
  end

  local function run(index, operation, token, number)
    local verb, more = string.match(operation, '^(%a+) ?(.*)$')
    if verb == 'also' then return 0 end
    if verb == 'all' then
      local size, fence = string.match(more, '^(%d+) (%d+)$')
      return takeAll(index, tonumber(size), tonumber(fence), number)
    end
    local lock = lockAt(KEYS[index], string.match(more, '^(%d+) (%d+)'))
    lock.kind.open(lock, verb == 'released' and 0 or tonumber(number))
    return operations[verb](lock, token, number, string.match(more, ':(.*)$'))
  end

  return run, exit
end

if count == 0 then
  if ARGV[2] == 'open' then return call('HSET', sessionKey, 'open', '') end
  local _, exit = general()
  return exit()
end

local replies, run
for index = 1, count do
  local operation, token, number = ARGV[3 * index - 2], ARGV[3 * index - 1], ARGV[3 * index]
  local holder, reply = KEYS[index], nil
  local base = baseOf(holder)
  if operation == 'acquire' or operation == 'queue' then
    if call('EXISTS', base .. QUEUE) == 0 and call('SET', holder, token, 'NX', 'PX', number) then
      if session then record(holder, '0', '1', number, token) end
      reply = tonumber(nextFence(base))
      event('granted', holder, token, reply)
    end
  elseif operation == 'release' then
    if call('EXISTS', base .. QUEUE) == 0 and call('GETRANGE', holder, '0', LAST_BYTE) == token then
      call('DEL', holder)
      event('released', holder, token)
      if session then call('HDEL', sessionKey, token) end
      reply = 1
    end
  end
  if not reply then
    run = run or general()
    reply = run(index, operation, token, number)
  end
  if count == 1 and not served then return reply end
  replies = replies or {}
  replies[index] = reply
end
replies[count + 1] = served
return replies
`;

/** Created once for all stores: its digest takes longer than a request. */
export const SCRIPT = scriptOf(LOCK_SCRIPT);
