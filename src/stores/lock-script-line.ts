/** Bytes of the longest token: an owner, and JSON in which each byte of host and label may take six. */
const MAX_TOKEN_BYTES = 8192;

/** Bytes of a foreign value that a reply has: enough to know it by. The value itself may have 512 MB. */
const MAX_FOREIGN_BYTES = 1024;

/** The last byte of a value that is read, so that one which is longer than a token and its mark is seen to be. */
export const LAST_BYTE_READ = MAX_TOKEN_BYTES + 1;

/**
 * The body of a Lua function: whether a `token` is of the form that Holdfast writes, the owner and what others may
 * know of it. The end is compared first: to match a value that ends otherwise may take the square of its length.
 */
export const IS_OURS = `
    return #token <= ${MAX_TOKEN_BYTES} and string.sub(token, -2) == '"]'
      and string.find(token, '^%S+ %[".*",%d+,".*"%]$') ~= nil`;

/** The body of a Lua function with `isOurs`: what a reply has of the value `held`, a token or the start of another value. */
export const SHOWN_TOKEN = `
    local token = string.sub(held, 1, 1) == '+' and string.sub(held, 2) or held
    return isOurs(token) and token or string.sub(held, 1, ${MAX_FOREIGN_BYTES})`;

/** Lua that reads the clock. Time stands still while a script runs: one look is enough. */
const READ_TIME = `
    if not time then
      local parts = call('TIME')
      local rest = parts[2]
      if #rest < 6 then rest = string.sub('00000' .. rest, -6) end
      time = parts[1] .. rest
    end`;

/**
 * Lua that gives the lock whose fence is `key` its next `fence`, with the `mark` given. Of the same length, as they
 * are until the year 2286, texts compare as their numbers do; with a mark before it, a text is a number too.
 */
export const RAISE_FENCE = `${READ_TIME}
    local fence = time
    local last = call('SET', key, mark .. time, 'PX', DAY, 'GET')
    if last and (#last ~= #time or last >= time) and last + 0 >= time + 0 then
      fence = string.format('%.0f', last + 1)
      call('SET', key, mark .. fence, 'PX', DAY)
    end`;

/**
 * The same for a mutex that was free, and was taken at once: `fence`, or none if it is somebody's turn in line,
 * whom only a mark tells of, or a fence that is gone. What was done is then undone. A fence with a mark is longer than
 * the time, unless it is from before September 2001 and the clock has been set since.
 */
export const TAKE_FENCE = `${READ_TIME}
      local key = holder .. ':fence'
      local last = call('SET', key, time, 'PX', DAY, 'GET')
      local fence = time
      if not last or #last ~= #time or last >= time then
        if (not last or string.byte(last) == PLUS) and call('EXISTS', holder .. ':queue') == 1 then
          call('DEL', holder, key)
          if last then call('SET', key, last, 'PX', DAY) end
          fence = nil
        elseif last and last + 0 >= time + 0 then
          fence = string.format('%.0f', last + 1)
          call('SET', key, fence, 'PX', DAY)
        end
      end`;

/**
 * Lua for a lock that was handed to a waiter on the channel `called`. If that one has died, somebody behind it
 * finds out when the reservation ends: the first that is another client's, since those of one client die
 * together. Mostly it is among the first three: to read the others' tokens takes longer than all else. Far
 * behind, only the last is looked at. Who makes this request, with the `token`, is told by its answer.
 */
export const WARN_NEXT = `
          local from, to = '0', NEAR
          local watcher, itsChannel, isOther
          repeat
            local tokens = call('ZRANGE', queue, from, to)
            for _, waiting in ipairs(tokens) do
              local place = call('GET', queue .. ':' .. string.match(waiting, '^%S*'))
              local at = string.match(place or '', '%S+$')
              isOther = at and at ~= called
              if isOther or (at and not watcher) then watcher, itsChannel = waiting, at end
              if isOther then break end
            end
            if isOther or #tokens < 3 then
              from = nil
            elseif to == NEAR then
              from, to = AFTER_NEAR, WATCHED
            else
              from, to = LAST, LAST
            end
          until not from
          if watcher == token then watcher = nil end
          if watcher and itsChannel == channel then
            served = served or {}
            served[#served + 1] = watcher
            served[#served + 1] = 0
          elseif watcher then
            call('PUBLISH', itsChannel, '0 ' .. watcher)
          end`;

/**
 * The part of the lock script that knows the line of any lock, and what is frequent with a mutex that somebody
 * holds. It uses `call`, `time`, `served`, `channel`, `token` and the constants of the other part.
 */
export const LINE_PART = `
local function lining()
  local PATIENCE = 10000
  channel = channel or 'holdfast:' .. string.match(token, '^[^.]*')

  local line = {}

  -- What says that somebody may stand in line: only a mutex needs it.
  function line.markOf(queue)
    return call('EXISTS', queue) == 1 and '+' or ''
  end

  function line.nextFence(key, mark)${RAISE_FENCE}
    return fence
  end

  function line.whole(number)
    return string.format('%.0f', number)
  end

  -- What helps the lock must outlive it, but not for ever.
  function line.keep(key, ms)
    if call('PTTL', key) < ms then call('PEXPIRE', key, line.whole(ms + DAY)) end
  end

  -- The fence is known for half a day after the last renewal, however long ago the grant was.
  function line.keepFence(key, lease)
    line.keep(key, lease + DAY / 2)
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

  function line.tell(queue, first, called, isOwn, fence)
    if not isOwn then${WARN_NEXT}
      call('PUBLISH', called, fence .. ' ' .. first)
    else
      served = served or {}
      served[#served + 1] = first
      served[#served + 1] = fence
    end
  end

  function line.isOf(held, token)
    return held == token or held == '+' .. token
  end

  -- Another program's token calls nobody when it is done, and must stay as it is.
  function line.isOurs(token)${IS_OURS}
  end

  -- The value of a mutex, or nil. Of one that is too long for a token, the start, which is too long as well.
  function line.valueOf(holder)
    local held = call('GETRANGE', holder, '0', '${LAST_BYTE_READ}')
    if held == '' and call('EXISTS', holder) == 0 then return nil end
    return held
  end

  -- Says that somebody stands in line, whoever holds it: on the fence, and on the holder if that is ours.
  function line.mark(holder, held)
    local key = holder .. ':fence'
    local fence = call('GET', key)
    if fence and string.byte(fence) ~= PLUS then call('SET', key, '+' .. fence, 'KEEPTTL') end
    if held and string.byte(held) ~= PLUS and line.isOurs(held) then
      call('SET', holder, '+' .. held, 'KEEPTTL')
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

  -- What another program holds may have no end: look every second.
  function line.leftOfMutex(holder, held)
    local left = call('PTTL', holder)
    if held and (left < 0 or (left > 1000 and not line.isOurs(held))) then return 1000 end
    return left
  end

  -- Held by another: to stand in line is all that is left.
  local function await(holder, token, lease)
    local held = line.valueOf(holder)
    if not held or line.isOf(held, token) then return end
    local left = line.leftOfMutex(holder, held)
    line.mark(holder, held)
    line.stand(holder .. ':queue', token, lease, '1', left)
    return -math.max(left, 0)
  end

  local function extend(holder, token, lease)
    local held = line.valueOf(holder)
    if not held or not line.isOf(held, token) then return end
    call('PEXPIRE', holder, lease)
    line.keepFence(holder .. ':fence', lease)
    return 1
  end

  line.verbs = { line = await, extend = extend }
  return line
end
`;
