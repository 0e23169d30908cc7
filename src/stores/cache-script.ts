/**
 * Requests on cached values, any number in one call, each answered in order.
 *
 * KEYS  for each request one: the key of a value, `value:{cache:<key>}`, or of a tag. The others of a value
 *       are made from it and share its hash tag: `:guard`, `:waiters`, `:failed`, `:failures`. The mutex of
 *       whoever loads has that hash tag too.
 * ARGV  for each request its verb, the number of its arguments, and these:
 *         `look`                                    what is there
 *         `open`                                    the same, and always the epoch
 *         `wait channel`                            the same, and a message follows to this channel
 *         `write fence epoch fresh stale text`      times in milliseconds
 *         `fail fence pause longest error`
 *         `wake`, `delete`
 *         `version keep new`                        of a tag; made if it is missing and `new` is not empty
 *         `forget`                                  a tag, so that all that carry it are invalid
 * Reply for each request one. A sight: { left, text }, and unless it is a look that finds a fresh value also
 *       { …, epoch, error, errorLeft }; nothing is -1 or an empty text. `write`: 1, or 0 when refused.
 *       `fail`: the pause. `delete`, `forget`: how many there were. `version`: the text, or nothing.
 *
 * value     a string: the milliseconds that it may be used after it is fresh, a space, and what only clients
 *           understand. Its TTL is the time that it is fresh and stale: how much of that is left tells the
 *           value's age, by the server's clock alone.
 * guard     a hash of `fence`, of the newest write, and `epoch`, which counts deletions: what is late is
 *           known by them, for a day after the last of either.
 * failed    the last error, for as long as nobody should load; `failures` counts those in a row.
 * waiters   the channels of clients that wait, each with the client's word for the key. They are told once.
 */
export const CACHE_SCRIPT = `
local DAY = 86400000
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

local function look(key, isWhole)
  local text, left = call('GET', key), -1
  if text then
    left = call('PTTL', key)
    if not isWhole and left > tonumber(string.match(text, '^%d+')) then return { left, text } end
  end
  local epoch = call('HGET', key .. ':guard', 'epoch') or '0'
  local failure = call('GET', key .. ':failed') or ''
  return { left, text or '', epoch, failure, call('PTTL', key .. ':failed') }
end

local function isNewest(key, fence)
  return tonumber(fence) >= tonumber(call('HGET', key .. ':guard', 'fence') or '0')
end

local verbs = {}

verbs.look = look

function verbs.open(key)
  return look(key, true)
end

function verbs.wait(key, waiter)
  call('SADD', key .. ':waiters', waiter)
  call('PEXPIRE', key .. ':waiters', DAY)
  return look(key, true)
end

function verbs.write(key, fence, epoch, fresh, stale, text)
  local guard = key .. ':guard'
  if not isNewest(key, fence) or (call('HGET', guard, 'epoch') or '0') ~= epoch then
    tell(key, 'again')
    return 0
  end
  call('HSET', guard, 'fence', fence)
  call('PEXPIRE', guard, whole(fresh + stale + DAY))
  call('DEL', key .. ':failed', key .. ':failures')
  call('SET', key, text, 'PX', whole(fresh + stale))
  tell(key, 'value ' .. whole(fresh + stale) .. ' ' .. text)
  return 1
end

function verbs.fail(key, fence, pause, longest, failure)
  if not isNewest(key, fence) then
    tell(key, 'again')
    return 0
  end
  local ms = 0
  if tonumber(pause) > 0 then
    local count = call('INCR', key .. ':failures')
    ms = math.min(pause * 2 ^ math.min(count - 1, 30), tonumber(longest))
    call('PEXPIRE', key .. ':failures', whole(2 * longest))
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
  local count = call('DEL', key)
  call('DEL', key .. ':failed', key .. ':failures')
  call('HINCRBY', key .. ':guard', 'epoch', 1)
  call('PEXPIRE', key .. ':guard', DAY)
  return count
end

function verbs.version(tag, keep, new)
  if new ~= '' then
    call('SET', tag, new, 'NX')
    if call('PTTL', tag) < tonumber(keep) then call('PEXPIRE', tag, keep) end
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
