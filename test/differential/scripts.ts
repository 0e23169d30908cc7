import fc from 'fast-check';

/**
 * Scripts that a program might send, and some that fail in each of the ways in which one can. They get
 * two keys and two arguments, of any kind.
 */
export const SCRIPTS: readonly string[] = [
  // What locks do.
  "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end",
  "if redis.call('set',KEYS[1],ARGV[1],'NX','PX',100000) then return 1 end return 0",
  "redis.call('hincrby',KEYS[1],ARGV[1],1) redis.call('pexpire',KEYS[1],300000) return nil",
  "redis.call('publish','news',ARGV[1]) return redis.call('exists',KEYS[1],KEYS[2])",
  "redis.call('rpush',KEYS[1],ARGV[1],ARGV[2]) return redis.call('lrange',KEYS[1],0,-1)",
  "redis.call('zadd',KEYS[1],1,ARGV[1],2,ARGV[2]) return redis.call('zrange',KEYS[1],0,-1,'withscores')",
  // How values travel.
  'return {1,2.9,-2.9,"three",{4,{5}},true,false,nil,6}',
  'return {KEYS[1],KEYS[2],KEYS[3],ARGV[1],#ARGV,#KEYS}',
  'return {ok="FINE"}',
  'return {err="MY own error"}',
  "return redis.status_reply('FINE')",
  "return redis.error_reply('MY error')",
  "return redis.error_reply('no code')",
  'return 1e300',
  'return -0.5',
  'return tostring(ARGV[1])..tostring(nil)',
  'return {double=3.25}',
  "redis.setresp(3) return redis.call('hgetall',KEYS[1])['a']",
  "redis.setresp(3) local s=redis.call('zscore',KEYS[1],ARGV[1]) return type(s)=='table' and s.double or s",
  "return type(redis.call('get',KEYS[1]))",
  "return redis.call('type',KEYS[1])['ok']",
  "return redis.call('hget',KEYS[1],ARGV[1]) or 'none'",
  // Errors.
  "return redis.call('incr',KEYS[1])",
  "return redis.pcall('incr',KEYS[1])",
  "local r=redis.pcall('lpush',KEYS[1],ARGV[1]) if type(r)=='table' and r.err then return r.err end return r",
  "return redis.call('nothing')",
  "return redis.call('get')",
  'return redis.call()',
  "return redis.call('blpop',KEYS[1],0)",
  "return redis.call('blmove',KEYS[1],KEYS[2],'LEFT','RIGHT',0)",
  "return redis.call('multi')",
  "return redis.call('subscribe','a')",
  "return redis.call({},'x')",
  "error('told so')",
  "error({err='TOLD so'})",
  'return undefinedVariable',
  'x=1',
  'return nil+1',
  'return #nil',
  'this is not Lua',
  'return (',
  '',
  // Tools.
  "return redis.sha1hex(ARGV[1] or '')",
  "return cjson.encode({1,2,{a='b'},true,cjson.null})",
  'return cjson.decode(\'[1,2.5,"x",null,{"a":[]}]\')[2]..\'\'',
  'return cjson.encode({ARGV[1],ARGV[2]})',
  "return cmsgpack.unpack(cmsgpack.pack({1,'a',{x=2}}))",
  'return bit.bxor(5,3)+bit.lshift(1,4)',
  "return struct.unpack('>I2',struct.pack('>I2',513))",
  "return string.format('%5.2f|%s|%d|%q',3.14159,'x',42,'a\\nb')",
  "return {string.find('hello world','o w'),string.gsub('abc','%w','%0%0')}",
  "local t={} for w in string.gmatch('a b c','%w') do t[#t+1]=w end table.sort(t,function(x,y) return x>y end) return table.concat(t,',')",
  'local s=0 for i=1,100 do s=s+i end return s',
  'return {math.floor(3.7),math.max(1,5,3),math.huge>0,tonumber("0x10"),tonumber("z",36)}',
  "return select('#',unpack({1,nil,3},1,3))",
  "return {pcall(error,'x')}",
  'return setmetatable({},{__index=function() return 7 end}).x',
  "redis.log(redis.LOG_DEBUG,'quiet') return redis.REDIS_VERSION",
  'redis.set_repl(redis.REPL_ALL) redis.replicate_commands() redis.breakpoint() return 1',
  "#!lua\nreturn redis.call('get',KEYS[1])",
  "#!lua flags=no-writes\nreturn redis.call('set',KEYS[1],'x')",
  '#!lua flags=nonsense\nreturn 1',
  '#!python\nreturn 1',
];

export const scripts: fc.Arbitrary<string> = fc.constantFrom(
  ...SCRIPTS.filter(
    (script) => !/cjson|cmsgpack|struct|string\.|table\.|math\.|bit\./.test(script),
  ),
);
