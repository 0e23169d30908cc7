/** Channel of the changes of all keys and tags, for memory tiers. */
export const CHANGES_CHANNEL = 'holdfast:cache:changes';

/**
 * Runs requests on cached values, any number in one call, and replies to each in order.
 *
 * KEYS  one for each request: the key of a value, `value:{cache:<key>}`, or of a tag, `tag:{cache:<tag>}`. The other
 *       keys of a value are derived from it and share its hash tag: `:guard`, `:waiters`, `:failed`, `:failures`. The
 *       mutex of the loader has the same hash tag.
 * ARGV  for each request its verb, the number of its arguments, and the arguments. Times are in milliseconds; `keep` is
 *       the minimum TTL of the version:
 *         `lookup`
 *         `open keep version fence`                  lookup of a loader; sets the version if there is none
 *         `wait keep version waiter`                 lookup of a waiter; sets the version too, and registers the waiter
 *         `write fence version fresh stale text`
 *         `set version life text`
 *         `fail fence version tags pause max error`  tags: those of the load, with versions
 *         `wake`, `delete`
 *         `version keep new`                         of a tag; set to `new` if it is missing and `new` is not empty
 *         `invalidate`                               deletes the version of a tag
 * Reply one for each request. A lookup: { left, text }, and unless `lookup` finds a fresh value also
 *       { …, version, fence, error, errorLeft }; -1 or an empty string for none. `write`: 1, or 0 when refused.
 *       `fail`: the pause. `delete`, `invalidate`: how many there were. `version`: the version, or an empty string.
 *
 * value     a string: its stale time in milliseconds, a space, and the text that clients encode. Its TTL is the fresh
 *           time plus the stale time. The remaining TTL shows whether it is fresh, by the server's clock alone.
 * guard     a hash of `version`, which the first loader or waiter sets, and fences: `fence` of the newest write,
 *           `opened` of the newest load that began, `ended` of the newest load that ended, with a value or an error.
 *           `delete` removes it, `set` replaces it, and it expires with the value, or when the time of a load is over.
 *           A write is refused if it has another version, or a smaller fence than the newest write.
 * failed    the last error, until the next load may begin; `failures` counts the failures in a row, in a hash with
 *           one field, the tags of the load.
 * waiters   a set, one member for each waiting client: its channel, and its name for the key. Each is notified once.
 *
 * Each `write`, `set`, `delete` and `invalidate` is also published to all memory tiers: the name of the key of the value
 * or of the tag.
 */
export const CACHE_SCRIPT = `
local DAY = 86400000
-- The server closes the connection of a subscriber whose output buffer is full: for a larger value the message
-- says only that there is one.
local MAX_MESSAGE = 1048576
local call = redis.call

local function whole(number)
  return string.format('%.0f', number)
end

local function notify(key, message)
  local waiters = call('SMEMBERS', key .. ':waiters')
  if #waiters == 0 then return end
  for _, waiter in ipairs(waiters) do
    local channel, name = string.match(waiter, '^(%S+) (%S+)$')
    call('PUBLISH', channel, name .. ' ' .. message)
  end
  call('DEL', key .. ':waiters')
end

local function publishChange(key)
  call('PUBLISH', '${CHANGES_CHANNEL}', key)
end

local function lookup(key, isWhole)
  local text, left = call('GET', key), -1
  if text then
    left = call('PTTL', key)
    local stale = tonumber(string.match(text, '^%d+') or '0')
    if not isWhole and left > stale then return { left, text } end
  end
  local guard = call('HMGET', key .. ':guard', 'version', 'ended')
  local failure = call('GET', key .. ':failed') or ''
  local failureLeft = call('PTTL', key .. ':failed')
  return { left, text or '', guard[1] or '', guard[2] or '0', failure, failureLeft }
end

local function larger(one, other)
  return tonumber(one) < tonumber(other or '0') and other or one
end

-- Returns whether the key was not written, set or deleted since the load began; the fence of the newest load that
-- has ended, this one included; and whether a newer load is under way.
local function checkGuard(key, fence, version)
  local guard = call('HMGET', key .. ':guard', 'version', 'fence', 'ended', 'opened')
  local isNewest = guard[1] == version and larger(fence, guard[2]) == fence
  return isNewest, larger(fence, guard[3]), larger(fence, guard[4]) ~= fence
end

local function extend(key, keep)
  if call('PTTL', key) < tonumber(keep) then call('PEXPIRE', key, keep) end
end

local verbs = {}

verbs.lookup = lookup

function verbs.open(key, keep, version, fence)
  local guard = key .. ':guard'
  call('HSETNX', guard, 'version', version)
  if fence then call('HSET', guard, 'opened', fence) end
  extend(guard, keep)
  return lookup(key, true)
end

function verbs.wait(key, keep, version, waiter)
  call('SADD', key .. ':waiters', waiter)
  call('PEXPIRE', key .. ':waiters', DAY)
  return verbs.open(key, keep, version)
end

function verbs.write(key, fence, version, fresh, stale, text)
  local isNewest, ended, isLate = checkGuard(key, fence, version)
  if not isNewest then
    notify(key, 'again')
    return 0
  end
  local guard, life = key .. ':guard', whole(fresh + stale)
  call('HSET', guard, 'fence', fence, 'ended', ended)
  if isLate then extend(guard, life) else call('PEXPIRE', guard, life) end
  call('DEL', key .. ':failed', key .. ':failures')
  call('SET', key, text, 'PX', life)
  notify(key, #text > MAX_MESSAGE and 'again' or 'value ' .. life .. ' ' .. text)
  publishChange(key)
  return 1
end

function verbs.set(key, version, life, text)
  local guard = key .. ':guard'
  call('DEL', guard, key .. ':failed', key .. ':failures')
  call('HSET', guard, 'version', version)
  call('PEXPIRE', guard, life)
  call('SET', key, text, 'PX', life)
  notify(key, 'again')
  publishChange(key)
  return 1
end

function verbs.fail(key, fence, version, tags, pause, max, failure)
  local isNewest, ended = checkGuard(key, fence, version)
  if not isNewest then
    notify(key, 'again')
    return 0
  end
  call('HSET', key .. ':guard', 'ended', ended)
  local ms, failures = 0, key .. ':failures'
  if tonumber(pause) > 0 then
    if call('HEXISTS', failures, tags) == 0 then call('DEL', failures) end
    local count = call('HINCRBY', failures, tags, 1)
    ms = math.min(pause * 2 ^ math.min(count - 1, 30), tonumber(max))
    call('PEXPIRE', failures, whole(2 * max))
    call('SET', key .. ':failed', failure, 'PX', whole(ms))
  end
  notify(key, 'error ' .. whole(ms) .. ' ' .. failure)
  return ms
end

function verbs.wake(key)
  notify(key, 'again')
  return 0
end

verbs['delete'] = function(key)
  call('DEL', key .. ':guard', key .. ':failed', key .. ':failures')
  publishChange(key)
  return call('DEL', key)
end

function verbs.version(tag, keep, new)
  if new ~= '' then
    call('SET', tag, new, 'NX')
    extend(tag, keep)
  end
  return call('GET', tag) or ''
end

function verbs.invalidate(tag)
  publishChange(tag)
  return call('DEL', tag)
end

local replies, at = {}, 1
for index = 1, #KEYS do
  local verb, count = ARGV[at], tonumber(ARGV[at + 1])
  replies[index] = verbs[verb](KEYS[index], unpack(ARGV, at + 2, at + 1 + count))
  at = at + 2 + count
end
return replies
`;
