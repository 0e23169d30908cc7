/**
 * Requests on cached values, any number in one call, each answered in order.
 *
 * KEYS  for each request one: the key of a value, `value:{cache:<key>}`, or of a tag. The others of a value
 *       are made from it and share its hash tag: `:guard`, `:waiters`, `:failed`, `:failures`. The mutex of
 *       whoever loads has that hash tag too.
 * ARGV  for each request its verb, the number of its arguments, and these:
 *         `lookup`                                   what is there
 *         `open keep version fence`                  the same, and always the version: this one, if there is none
 *         `wait keep version waiter`                 the same, and a message follows to this waiter
 *         `write fence version fresh stale text`     times in milliseconds
 *         `fail fence version tags pause longest error`   tags: of the load, as versions
 *         `wake`, `delete`
 *         `version keep new`                         of a tag; made if it is missing and `new` is not empty
 *         `forget`                                   a tag, so that all that carry it are invalid
 * Reply for each request one. A lookup: { left, text }, and unless it is a look that finds a fresh value also
 *       { …, version, fence, error, errorLeft }; nothing is -1 or an empty text. `write`: 1, or 0 when
 *       refused. `fail`: the pause. `delete`, `forget`: how many there were. `version`: the text, or nothing.
 *
 * value     a string: the milliseconds that it may be used after it is fresh, a space, and what only clients
 *           understand. Its TTL is the time that it is fresh and stale: how much of that is left tells the
 *           value's age, by the server's clock alone.
 * guard     a hash of `version`, made by the first who loads or waits, and fences: `fence` of the newest write,
 *           `opened` of the newest load that began, `ended` of the newest that ended, with a value or an error.
 *           It ends with a deletion, with the value, or when a load has had all the time that it may take. What
 *           is late names a version that is no more, or has a smaller fence than the newest write, and is
 *           refused.
 * failed    the last error, for as long as nobody should load; `failures` counts those in a row, in a hash
 *           with one field, the tags that they had.
 * waiters   the channels of clients that wait, each with the client's word for the key. They are told once.
 */
export const CACHE_SCRIPT = `
local DAY = 86400000
-- A server ends the connection of a subscriber for whom too much is under way: what is larger is looked at.
local LARGEST_MESSAGE = 1048576
local call = redis.call

local function whole(number)
  return string.format('%.0f', number)
end

local function tell(key, message)
  local waiters = call('SMEMBERS', key .. ':waiters')
  if #waiters == 0 then return end
  for _, waiter in ipairs(waiters) do
    local channel, word = string.match(waiter, '^(%S+) (%S+)$')
    call('PUBLISH', channel, word .. ' ' .. message)
  end
  call('DEL', key .. ':waiters')
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

-- Whether nothing newer was written or deleted; the fence of the newest load that ended, with this one; and
-- whether a newer one is under way.
local function judge(key, fence, version)
  local guard = call('HMGET', key .. ':guard', 'version', 'fence', 'ended', 'opened')
  local isNewest = guard[1] == version and larger(fence, guard[2]) == fence
  return isNewest, larger(fence, guard[3]), larger(fence, guard[4]) ~= fence
end

local function lengthen(key, keep)
  if call('PTTL', key) < tonumber(keep) then call('PEXPIRE', key, keep) end
end

local verbs = {}

verbs.lookup = lookup

function verbs.open(key, keep, version, fence)
  local guard = key .. ':guard'
  call('HSETNX', guard, 'version', version)
  if fence then call('HSET', guard, 'opened', fence) end
  lengthen(guard, keep)
  return lookup(key, true)
end

function verbs.wait(key, keep, version, waiter)
  call('SADD', key .. ':waiters', waiter)
  call('PEXPIRE', key .. ':waiters', DAY)
  return verbs.open(key, keep, version)
end

function verbs.write(key, fence, version, fresh, stale, text)
  local isNewest, ended, isLate = judge(key, fence, version)
  if not isNewest then
    tell(key, 'again')
    return 0
  end
  local guard, life = key .. ':guard', whole(fresh + stale)
  call('HSET', guard, 'fence', fence, 'ended', ended)
  if isLate then lengthen(guard, life) else call('PEXPIRE', guard, life) end
  call('DEL', key .. ':failed', key .. ':failures')
  call('SET', key, text, 'PX', life)
  tell(key, #text > LARGEST_MESSAGE and 'again' or 'value ' .. life .. ' ' .. text)
  return 1
end

function verbs.fail(key, fence, version, tags, pause, longest, failure)
  local isNewest, ended = judge(key, fence, version)
  if not isNewest then
    tell(key, 'again')
    return 0
  end
  call('HSET', key .. ':guard', 'ended', ended)
  local ms, failures = 0, key .. ':failures'
  if tonumber(pause) > 0 then
    if call('HEXISTS', failures, tags) == 0 then call('DEL', failures) end
    local count = call('HINCRBY', failures, tags, 1)
    ms = math.min(pause * 2 ^ math.min(count - 1, 30), tonumber(longest))
    call('PEXPIRE', failures, whole(2 * longest))
    call('SET', key .. ':failed', failure, 'PX', whole(ms))
  end
  tell(key, 'error ' .. whole(ms) .. ' ' .. failure)
  return ms
end

function verbs.wake(key)
  tell(key, 'again')
  return 0
end

verbs['delete'] = function(key)
  call('DEL', key .. ':guard', key .. ':failed', key .. ':failures')
  return call('DEL', key)
end

function verbs.version(tag, keep, new)
  if new ~= '' then
    call('SET', tag, new, 'NX')
    lengthen(tag, keep)
  end
  return call('GET', tag) or ''
end

function verbs.forget(tag)
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
