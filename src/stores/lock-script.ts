import { GENERAL_PART } from './lock-script-general.ts';
import { LINE_PART, RAISE_FENCE, TAKE_FENCE, WARN_NEXT } from './lock-script-line.ts';

/** How long a waiter that was called has to confirm. If it died meanwhile, so much is lost. */
export const RESERVED_MS = 5000;

/**
 * Requests on locks, any number in one call, each answered in order.
 *
 * KEYS  for each request one, the lock's holder key. The others are made from it and share its hash tag:
 *       `:fence`, `:queue`, `:queue:<owner>`, `:state`, `:clock`. All of a call are in one slot of a cluster.
 * ARGV  the channel of who calls; then for each request three: verb, token, number. Words cost as much as
 *       commands do, so what is asked most often is said in short. Of one request for a mutex: the token alone
 *       releases, with no fence known; with a number after it, it asks; with the first letter of the verb and
 *       the number, it does one of `line`, `extend`, `release`. The channel is then `holdfast:` and what the
 *       owner begins with, up to a dot.
 *       verb, for a mutex one word, for any other lock followed by its slots and what is taken of them:
 *         `ask` grants or says busy, `line` also stands in line, `extend`; the number is the lease in ms.
 *         `release`; the number is the fence, or 0 if it is not known, or -1 if it is not the holder who does it.
 *         `force`, `show`; `adopt`, which takes over from the token that follows the verb and a `:`.
 *         `all <count> <fence>` takes so many mutexes or none, with one fence that is not below the one
 *         given; the requests after it say `also`.
 *       token: the owner, which is unique, a space, and what others may know of it, as `["host",pid,"label"]`.
 * Reply for each request a number. Asking: the fence, or when busy minus the milliseconds after which to
 *       ask again. Extending and releasing: 1, or 0 when not held. `force` counts holders. `show` gives
 *       { holders, waiters }, lists of { token, take, fence, leftMs, ageMs, type } and of { token, take }. The
 *       type is there for a mutex; if it is not `string`, the token is empty. Of a foreign value the token is the
 *       start.
 *       After these, if waiters of the caller were served, or are to watch, the list { token, fence, token, … }.
 *       The reply to a single request comes without a list around it, if there is none of that; if it is 1, and
 *       one waiter was served, that one's fence and token come instead, as in a message.
 *
 * holder  a mutex: a string, the token, with the lease as its TTL, so that a program that uses
 *         SET key token NX PX and compare-and-delete takes part. A plus before it is the mark that somebody may
 *         stand in line: without it nobody does, and a release has not to look. A stranger's is never marked.
 *         Any other lock: a sorted set of tokens by the end of their lease, on the lock's own clock (see
 *         `elapsed`).
 * fence   the fence of the last grant: the server's time then, in microseconds, or one more than the fence
 *         before, whichever is larger. So it rises also if keys were lost, or are those of an older
 *         snapshot or of a replica that lagged behind, unless the clock was set back by more than the
 *         loss took. It is kept for a day after the grant, and for half a day or more
 *         after the last renewal. For a mutex it is marked as well, also behind a stranger: if it is there and
 *         has no plus, nobody stands in line. So who takes a mutex that is free has not to look.
 * state   of a lock that is no mutex: a hash of `ended`, the token of the last release; `used`, the sum
 *         of what is taken; and `h:<token>`, the holder's fence, take and beginning.
 * queue   a sorted set of waiting tokens by ticket. Each has a key of its own with its lease, take and
 *         channel, which vanishes if the waiter does not ask again in time: the dead are skipped.
 *
 * A release hands over inside this script, to the first live waiter. If that is the caller's own, the
 * reply tells it. Another's is called by a message, of the fence and the token; it gets the lock for RESERVE
 * milliseconds and confirms, which starts its lease: it cannot know how long the message took. One behind
 * it is told, with a fence of 0, to look when the reservation ends: by the reply, if it is the caller's own;
 * nobody else hears of it.
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
local PLUS, NINE = string.byte('+9', 1, 2)
local NEAR, AFTER_NEAR, WATCHED, LAST = '2', '3', '20', '-1'
local call = redis.call

local channel, verb, token, number = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not token then
  token, channel, number = channel, nil, verb
  if not verb then
    verb, number = 'release', '0'
  elseif string.byte(verb) <= NINE then
    verb = 'ask'
  else
    number = string.sub(verb, 2)
    verb = string.sub(verb, 1, 1)
    verb = verb == 'l' and 'line' or verb == 'e' and 'extend' or 'release'
  end
end

-- The caller's own waiters that were served.
local served
local time, replies, act

local count = #KEYS
for index = 1, count do
  local at = index * 3 - 1
  if index > 1 then verb, token, number = ARGV[at], ARGV[at + 1], ARGV[at + 2] end
  local holder, reply = KEYS[index], nil
  if verb == 'ask' or verb == 'line' then
    if call('SET', holder, token, 'NX', 'PX', number) then${TAKE_FENCE}
      reply = fence and tonumber(fence)
    end
  elseif verb == 'also' then
    reply = 0
  elseif verb == 'release' then
    local held = call('GET', holder)
    if held == token then
      call('DEL', holder)
      reply = 1
    elseif held == '+' .. token then
      local key, queue, first, place = holder .. ':fence', holder .. ':queue', nil, nil
      repeat
        first = call('ZPOPMIN', queue)[1]
        place = first and call('GETDEL', queue .. ':' .. string.match(first, '^%S*'))
      until place or not first
      if first then
        local lease, called = string.match(place, '^(%d+) %d+ (%S+)$')
        channel = channel or 'holdfast:' .. string.match(token, '^[^.]*')
        local isOwn, mark = called == channel, '+'
        call('SET', holder, mark .. first, 'PX', isOwn and lease or RESERVE)${RAISE_FENCE}
        if isOwn then
          served = served or {}
          served[#served + 1] = first
          served[#served + 1] = fence
        else${WARN_NEXT}
          call('PUBLISH', called, fence .. ' ' .. first)
        end
      else
        call('DEL', holder)
      end
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
  if count == 1 then
    if not served then return reply end
    if reply == 1 and #served == 2 and served[2] ~= 0 then return served[2] .. ' ' .. served[1] end
  end
  replies = replies or {}
  replies[index] = reply
end
replies[count + 1] = served
return replies
`;
