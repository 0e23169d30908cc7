import { expect, it } from 'vitest';
import { ErrorReply } from '../resp/index.ts';
import { compileScript } from './index.ts';

/**
 * Everything that a script of Redis 7.0.15 can reach from _G, recorded from a real server.
 */
const GLOBALS = `
_G _VERSION __redis__err__handler ARGV KEYS assert collectgarbage error gcinfo getmetatable ipairs
load loadstring next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring type
unpack xpcall
bit bit.arshift bit.band bit.bnot bit.bor bit.bswap bit.bxor bit.lshift bit.rol bit.ror bit.rshift
bit.tobit bit.tohex
cjson cjson._NAME cjson._VERSION cjson.decode cjson.decode_invalid_numbers cjson.decode_max_depth
cjson.encode cjson.encode_invalid_numbers cjson.encode_keep_buffer cjson.encode_max_depth
cjson.encode_number_precision cjson.encode_sparse_array cjson.new cjson.null
cmsgpack cmsgpack._COPYRIGHT cmsgpack._DESCRIPTION cmsgpack._NAME cmsgpack._VERSION cmsgpack.pack
cmsgpack.unpack cmsgpack.unpack_limit cmsgpack.unpack_one
coroutine coroutine.create coroutine.resume coroutine.running coroutine.status coroutine.wrap
coroutine.yield
math math.abs math.acos math.asin math.atan math.atan2 math.ceil math.cos math.cosh math.deg math.exp
math.floor math.fmod math.frexp math.huge math.ldexp math.log math.log10 math.max math.min math.mod
math.modf math.pi math.pow math.rad math.random math.randomseed math.sin math.sinh math.sqrt math.tan
math.tanh
redis redis.LOG_DEBUG redis.LOG_NOTICE redis.LOG_VERBOSE redis.LOG_WARNING redis.REDIS_VERSION
redis.REDIS_VERSION_NUM redis.REPL_ALL redis.REPL_AOF redis.REPL_NONE redis.REPL_REPLICA
redis.REPL_SLAVE redis.acl_check_cmd redis.breakpoint redis.call redis.debug redis.error_reply
redis.holdfast_event redis.log redis.pcall redis.replicate_commands redis.set_repl redis.setresp redis.sha1hex
redis.status_reply
string string.byte string.char string.dump string.find string.format string.gfind string.gmatch
string.gsub string.len string.lower string.match string.rep string.reverse string.sub string.upper
struct struct.pack struct.size struct.unpack
table table.concat table.foreach table.foreachi table.getn table.insert table.maxn table.remove
table.setn table.sort
`;

const WALK = `
local names, seen = {}, {}
local function walk(prefix, t)
  if seen[t] then return end
  seen[t] = true
  for k, v in pairs(t) do
    names[#names + 1] = prefix .. k
    if type(v) == 'table' then walk(prefix .. k .. '.', v) end
  end
end
walk('', _G)
table.sort(names)
return names
`;

it('has exactly the globals of Redis, and redis.holdfast_event', () => {
  const host = {
    call: () => new ErrorReply('ERR none'),
    log: () => {},
    monotonicMs: () => 0,
    setProtocol: () => {},
    setReplication: () => {},
    mayCall: () => undefined,
  };
  const names = compileScript(WALK).run(host, [], [], { steps: 1e6, deadlineMs: 1 });
  expect(names).toEqual(GLOBALS.trim().split(/\s+/).sort());
});
