import { scriptOf } from '../../client/index.ts';

/** How long the fence of a lock is kept after its last change, and how often the floor of a node rises. */
const FENCE_TTL_MS = 2 * 86_400_000;
const FLOOR_PERIOD_S = 86_400;

/**
 * The year 2112, in µs. A larger clock is wrong, and the fences after it would soon be too large for a double, which is
 * exact up to 2^53: the next fence would be the same.
 */
const MAX_HINT = 2 ** 52;

/** The keys that a node has once. Operators delete NODE_KEY on all nodes to start anew. */
export const NODE_KEY = 'quorum:node';
export const WAIT_KEY = 'quorum:wait';
/** The keys of locks begin with this. The name follows in braces. */
const LOCK_PREFIX = 'quorum:lock:';
/** The keys of the queues begin with this. They are those of ordinary locks. */
export const QUEUE_PREFIX = 'quorum:queue:';
/** A glob for the keys of all locks. */
export const LOCK_PATTERN = `${LOCK_PREFIX}{*}`;

/** The keys of the vote script for a lock. */
export function voteKeys(name: string): string[] {
  const owner = `${LOCK_PREFIX}{${name}}`;
  return [NODE_KEY, owner, `${owner}:fence`];
}

/** The name of the lock of an owner key, which the client may have put a prefix before. */
export function nameOfKey(key: string): string {
  return key.slice(key.indexOf(LOCK_PREFIX) + LOCK_PREFIX.length + 1, -1);
}

/**
 * Reads what this node is. Voting: it was admitted since it started. INFO costs 9 µs, and is part of each script: a
 * client that reconnects by itself could not check the run id before it sends again.
 */
const LUA_NODE = `
local call = redis.call
local NODE = KEYS[1]
local server = call('INFO', 'server')
local run = string.match(server, 'run_id:(%w+)')
local field = call('HMGET', NODE, 'run', 'max', 'floor', 'turn', 'joining', 'lease', 'size', 'place')
local isVoting = field[1] == run
local max, floor = tonumber(field[2] or '0'), tonumber(field[3] or '0')

local function whole(number)
  return string.format('%.0f', number)
end
`;

/**
 * Executes one request on a lock: the voting rules of voting.ts, with leases.
 *
 * KEYS  node, owner, fence: see voteKeys().
 * ARGV  verb, token, number, round, hint, longest lease, other token.
 *         vote     the number is the lease in ms. The round is larger than those of the client's earlier requests. The hint
 *                  is the client's clock in µs. The longest lease is that of the client.
 *         steal    the same, also if the node votes for another owner.
 *         adopt    the same, only if the node votes for the other token.
 *         confirm  the number is the fence.
 *         extend   makes the lease end so many ms from now, or later if it ends later already.
 *         keep     sets the end of the lease.
 *         release  the number is the fence, or 0.
 *         drop     ends the vote of this round and of earlier ones. The client may request votes again before it arrives,
 *                  on another connection: it does not end a vote that a later round has counted.
 *         force    ends any vote, and raises the fence.
 *         read     returns { token, fence, ms left }; the token is empty if there is no vote.
 * Reply { code, number }
 *         vote, steal, adopt: 1 and the fence of a new vote, 2 and the fence of an earlier one, or 0 and the ms that
 *           are left of another owner's lease.
 *         confirm, extend, keep: 1, or 0 if the node does not vote for this token.
 *         release, drop: 1 if the vote ended, now or by an earlier release with this fence; else 0.
 *         force: 1 and the token, else 0.
 *       -1: the node does not vote. Only release, drop, force and read do something all the same.
 *
 * node   a hash. run: the run id of the server when it was admitted. max: the largest fence of all locks. floor: votes
 *        have larger fences. turn: when the floor rises to max. A fence that has expired is older than two of these
 *        turns, so that the floor replaces it. lease: the longest lease that a client uses.
 * owner  the token that the node votes for; its TTL is the lease.
 * fence  the fence of the lock, and the last round that the owner requested.
 */
export const VOTE_SCRIPT = scriptOf(`${LUA_NODE}
local OWNER, FENCE = KEYS[2], KEYS[3]
local verb, token, number, hint, longest, other = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6], ARGV[7]
local owner = call('GET', OWNER)
local fence, round = string.match(call('GET', FENCE) or '0 0', '^(%d+) (%d+)$')
fence, round = tonumber(fence), tonumber(round)
local given = tonumber(ARGV[4] or '0')

-- A turn in the far future is that of a clock that was set back since.
local function raiseFloor()
  local now, turn = tonumber(call('TIME')[1]), tonumber(field[4] or '0')
  if now < turn and turn <= now + ${FLOOR_PERIOD_S} then return end
  floor = math.max(floor, max)
  call('HSET', NODE, 'floor', whole(floor), 'turn', whole(now + ${FLOOR_PERIOD_S}))
end

local function setFence(value)
  raiseFloor()
  fence = value
  call('SET', FENCE, whole(fence) .. ' ' .. whole(round), 'PX', '${FENCE_TTL_MS}')
  if fence > max then call('HSET', NODE, 'max', whole(fence)) end
end

local function renew(isExact)
  if isExact or call('PTTL', OWNER) < tonumber(number) then call('PEXPIRE', OWNER, number) end
  call('PEXPIRE', FENCE, '${FENCE_TTL_MS}')
end

local function vote(isFree)
  if tonumber(longest) > tonumber(field[6] or '0') then call('HSET', NODE, 'lease', longest) end
  if owner == token and fence > 0 then
    renew(false)
    round = math.max(round, given)
    setFence(fence)
    return { 2, whole(fence) }
  end
  if not isFree then return { 0, owner and whole(call('PTTL', OWNER)) or '0' } end
  raiseFloor()
  call('SET', OWNER, token, 'PX', number)
  round = given
  setFence(math.max(fence + 1, floor + 1, math.min(tonumber(hint), ${MAX_HINT})))
  return { 1, whole(fence) }
end

local operations = {}

function operations.vote()
  return vote(not owner or owner == token)
end

function operations.steal()
  return vote(true)
end

function operations.adopt()
  return vote(owner == other)
end

function operations.confirm()
  if owner ~= token or fence > tonumber(number) then return { 0, '0' } end
  setFence(tonumber(number))
  return { 1, '0' }
end

function operations.extend()
  if owner ~= token then return { 0, '0' } end
  renew(false)
  return { 1, '0' }
end

function operations.keep()
  if owner ~= token then return { 0, '0' } end
  renew(true)
  return { 1, '0' }
end

function operations.release()
  local held = tonumber(number)
  if held > fence then setFence(held) end
  if owner == token then
    call('DEL', OWNER)
    return { 1, '0' }
  end
  return { not owner and held > 0 and held == fence and 1 or 0, '0' }
end

function operations.drop()
  if owner ~= token or round > given then return { 0, '0' } end
  call('DEL', OWNER)
  return { 1, '0' }
end

function operations.force()
  raiseFloor()
  setFence(math.max(fence + 1, floor + 1))
  call('DEL', OWNER)
  return { owner and 1 or 0, owner or '' }
end

function operations.read()
  return { owner or '', whole(fence), whole(call('PTTL', OWNER)) }
end

if verb == 'read' then return operations.read() end
if isVoting then return operations[verb]() end
if verb == 'drop' then operations.drop() end
if verb == 'force' or (verb == 'release' and owner == token) then call('DEL', OWNER) end
return { -1, '0' }
`);

/**
 * Reads and changes whether a node votes.
 *
 * KEYS  node, wait.
 * ARGV  verb, run id, number, nodes, place. A request for an earlier run of the server changes nothing: it may arrive late.
 *         state  changes nothing.
 *         begin  a node that was not admitted since it started waits from now on, for the number of ms.
 *         admit  a node that has waited votes from now on, with at least this floor, as one of so many nodes, and at
 *                this place of the client's list, from 1 on.
 * Reply { state, run id, largest fence, ms left to wait, ms since the start of the server, longest lease, nodes,
 *       place }. The state is `voting`, `out` before begin, `waiting`, or `due` after the wait.
 */
export const ADMIT_SCRIPT = scriptOf(`${LUA_NODE}
local WAIT = KEYS[2]
local verb, number, size, place = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
if ARGV[2] ~= run then verb = 'state' end

local function state()
  if isVoting then return 'voting' end
  if field[5] ~= run then return 'out' end
  return call('EXISTS', WAIT) == 1 and 'waiting' or 'due'
end

if verb == 'begin' and state() == 'out' then
  call('HSET', NODE, 'joining', run)
  if number == '0' then call('DEL', WAIT) else call('SET', WAIT, '', 'PX', number) end
  field[5] = run
elseif verb == 'admit' and state() == 'due' then
  max = math.max(max, floor, tonumber(number))
  floor = max
  call('HSET', NODE, 'run', run, 'max', whole(max), 'floor', whole(floor), 'size', size, 'place', place)
  isVoting = true
end
local left = state() == 'waiting' and call('PTTL', WAIT) or 0
local uptime = string.match(server, 'uptime_in_seconds:(%d+)')
return {
  state(), run, whole(math.max(max, floor)), left, uptime * 1000, field[6] or '0', field[7] or '0', field[8] or '0'
}
`);

/**
 * Finds the keys of locks, some at a time.
 *
 * KEYS  the glob of the keys. ARGV  the cursor, and about how many keys to visit. Reply { cursor, keys }.
 */
export const SCAN_SCRIPT = scriptOf(`
local found = redis.call('SCAN', ARGV[1], 'MATCH', KEYS[1], 'COUNT', ARGV[2])
return { found[1], found[2] }
`);
