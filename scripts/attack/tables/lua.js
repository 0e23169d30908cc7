// Every library function of Lua with input that costs much more than it looks. Each row is a script; some
// run several times on one connection. A script may be refused, stopped by its budget or answered.

const ROWS = [
  // string
  ['string-rep-1-gb', "return #string.rep('x', 2^30)"],
  ['string-rep-doubling', "local s='x' while true do s=s..s end"],
  [
    'string-rep-many-of-60-mb',
    "local t={} for i=1,60 do t[i]=string.rep('x',62914560)..i end return #t",
  ],
  [
    'string-rep-negative-and-nan',
    'return {#string.rep("x",-1), #string.rep("x",0/0), #string.rep("",2^53)}',
  ],
  ['string-find-backtracking', "return string.find(string.rep('a',3e4), string.rep('a*',30)..'b')"],
  ['string-find-lazy-backtracking', "return string.find(string.rep('a',1e4), '.-.-.-.-b$')"],
  [
    'string-find-plain-quadratic',
    "return string.find(string.rep('a',2e6)..'b', string.rep('a',1e6)..'c', 1, true)",
  ],
  ['string-find-balanced', "return string.find(string.rep('(',1e6), '%b()')"],
  ['string-find-frontier', "return string.find(string.rep('a',1e6), string.rep('%f[b]',1e5))"],
  [
    'string-match-many-captures',
    "return string.match(string.rep('a',1e5), string.rep('(a*)',32)..'b')",
  ],
  [
    'string-match-deep-recursion',
    "return string.match(string.rep('a',2e5), string.rep('a?',1e5)..string.rep('a',1e5))",
  ],
  [
    'string-gmatch-of-30-mb',
    "local n=0 for w in string.gmatch(string.rep('a ',1.5e7),'%a') do n=n+1 end return n",
  ],
  ['string-gsub-growth', "local s='x' for i=1,60 do s=string.gsub(s,'x','xxxx') end return #s"],
  ['string-gsub-empty-pattern', "return #string.gsub(string.rep('x',5e7),'',string.rep('y',100))"],
  [
    'string-gsub-function-calls',
    "return #string.gsub(string.rep('x',2e7),'.',function(c) return c..c end)",
  ],
  [
    'string-gsub-endless-replacement',
    "while true do string.gsub(string.rep('a',1e6),'a','%0%0') end",
  ],
  [
    'string-format-huge-width',
    "local t={} for i=1,1e6 do t[i]=string.format('%99d',i) end return #t",
  ],
  [
    'string-format-huge-argument',
    "local s=string.rep('x',1e8) return #string.format(string.rep('%s',40),s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s,s)",
  ],
  ['string-format-quoted', "return #string.format('%q',string.rep('\\0',1e8))"],
  [
    'string-format-floats',
    "local t={} for i=1,3e5 do t[i]=string.format('%.99f',1e308) end return #t",
  ],
  ['string-byte-of-all', "return select('#', string.byte(string.rep('x',1e7),1,-1))"],
  [
    'string-char-of-many',
    'local t={} for i=1,7000 do t[i]=65 end local s={} for i=1,1e5 do s[i]=string.char(unpack(t)) end return #s',
  ],
  [
    'string-reverse-upper-lower',
    "local s=string.rep('aB',2^26) for i=1,40 do s=s:reverse():upper():lower() end return #s",
  ],
  [
    'string-concatenation-quadratic',
    "local s='' for i=1,1e6 do s=s..'0123456789012345678901234567890123456789' end return #s",
  ],
  [
    'string-concatenation-flattened',
    "local s='' for i=1,1e6 do s=s..'0123456789' if string.byte(s,-1)==0 then return 1 end end return #s",
  ],
  ['string-keys-of-a-table', "local t={} for i=1,1e7 do t['key'..i]=i end return 1"],
  [
    'string-comparison-of-100-mb',
    "local a,b=string.rep('x',1e8)..'a',string.rep('x',1e8)..'b' local n=0 for i=1,1e4 do if a<b then n=n+1 end end return n",
  ],
  [
    'string-sub-of-ropes',
    "local s=string.rep('x',1e8) local t={} for i=1,1e6 do t[i]=s:sub(i,i+9e7) end return #t",
  ],
  // table
  [
    'table-concat-growth',
    "local t={} for i=1,1000 do t[i]=string.rep('x',1e6) end return #table.concat(t)",
  ],
  ['table-concat-huge-range', "return #table.concat({}, 'x', 1, 2^31)"],
  ['table-concat-of-itself', "local s='x' for i=1,64 do s=table.concat({s,s,s,s}) end return #s"],
  [
    'table-sort-bad-comparator',
    'local t={} for i=1,1e6 do t[i]=i%7 end table.sort(t,function() return true end)',
  ],
  [
    'table-sort-random-comparator',
    'local t={} for i=1,1e6 do t[i]=i end table.sort(t,function(a,b) return (a*b)%3==1 end)',
  ],
  [
    'table-sort-worst-case',
    'local t={} for i=1,3e6 do t[i]=i%2==0 and i or -i end table.sort(t) return #t',
  ],
  [
    'table-sort-of-long-strings',
    "local s=string.rep('x',1e6) local t={} for i=1,2000 do t[i]=s..((i*7919)%2000) end table.sort(t) return #t",
  ],
  ['table-insert-at-front', 'local t={} for i=1,1e6 do table.insert(t,1,i) end return #t'],
  [
    'table-remove-at-front',
    'local t={} for i=1,3e5 do t[i]=i end for i=1,3e5 do table.remove(t,1) end return #t',
  ],
  ['table-of-100-million', 'local t={} for i=1,1e8 do t[i]=i end return #t'],
  ['table-sparse-huge-index', 'local t={} for i=0,62 do t[2^i]=i end t[2^31]=1 return #t'],
  [
    'table-length-binary-search',
    'local t={} for i=1,1e6 do t[i*2]=i end local n=0 for i=1,1e6 do n=n+#t end return n',
  ],
  ['table-of-tables', 'local t={} for i=1,1e8 do t={t} end return 1'],
  [
    'table-maxn-of-many',
    'local t={} for i=1,1e6 do t[i]=1 end local n=0 for i=1,1e5 do n=n+table.maxn(t) end return n',
  ],
  ['unpack-of-10-million', 'local t={} for i=1,1e7 do t[i]=i end return select("#",unpack(t))'],
  ['unpack-of-an-empty-range', 'return select("#",unpack({},1,2^31-1))'],
  [
    'unpack-into-redis-call',
    "local t={} for i=1,7999 do t[i]='x' end for i=1,1e5 do redis.call('RPUSH','l',unpack(t)) end",
  ],
  [
    'next-over-a-growing-table',
    'local t={} for i=1,1e6 do t[i]=i end for k in pairs(t) do t[k]=nil end local n=0 for i=1,1e5 do if next(t) then n=n+1 end end return n',
  ],
  [
    'select-of-many',
    'local t={} for i=1,7000 do t[i]=i end local function f(...) local n=0 for i=1,select("#",...) do n=n+select(i,...) end return n end for i=1,1000 do f(unpack(t)) end',
  ],
  // control
  ['deep-recursion', 'local function f(n) return 1+f(n+1) end return f(1)'],
  ['deep-recursion-through-pcall', 'local function f() return pcall(f) end return f()'],
  [
    'deep-recursion-through-metatables',
    'local t=setmetatable({},{}) getmetatable(t).__index=function(s,k) return s[k..1] end return t.x',
  ],
  ['metatable-chain', 'local t={} for i=1,1e6 do t=setmetatable({},{__index=t}) end return t.x'],
  ['pcall-swallows-the-budget', 'while true do pcall(function() while true do end end) end'],
  ['xpcall-handler-runs-on', 'xpcall(function() error(1) end, function() while true do end end)'],
  ['error-with-huge-message', "error(string.rep('x\\r\\n',1e8))"],
  [
    'coroutines-by-the-million',
    'local t={} for i=1,3e6 do t[i]=coroutine.create(function() coroutine.yield() end) coroutine.resume(t[i]) end return #t',
  ],
  [
    'coroutine-nested-resume',
    'local function f(n) return coroutine.wrap(function() return f(n+1) end)() end return f(1)',
  ],
  [
    'coroutine-swallows-the-budget',
    'while true do coroutine.resume(coroutine.create(function() while true do end end)) end',
  ],
  [
    'loadstring-of-nested-source',
    "return loadstring('return '..string.rep('(',1e5)..'1'..string.rep(')',1e5))",
  ],
  [
    'loadstring-of-long-source',
    "local t={} for i=1,3e5 do t[i]='local a'..(i%190)..'='..i end return loadstring(table.concat(t,' '))",
  ],
  ['loadstring-in-a-loop', "for i=1,1e6 do loadstring('return '..i) end"],
  [
    'loadstring-long-concatenation',
    "return #(loadstring('return '..string.rep('\"x\"..',1e5)..'\"x\"') or error)()",
  ],
  ['tostring-of-many', 'for i=1,3e7 do local s=tostring(i*1.1) end'],
  ['tonumber-of-100-mb', "return tonumber(string.rep('9',1e8))"],
  ['math-pow-loop', 'local n=0 for i=1,1e9 do n=n+math.pow(i,0.5) end return n'],
  ['gc-metamethods', 'for i=1,1e7 do setmetatable({},{__gc=function() end}) end'],
  ['collectgarbage-loop', 'for i=1,1e5 do collectgarbage() end'],
  // libraries
  ['cjson-encode-deep', 'local t={} for i=1,1e6 do t={t} end return #cjson.encode(t)'],
  ['cjson-encode-shared', 'local t={1} for i=1,40 do t={t,t} end return #cjson.encode(t)'],
  [
    'cjson-encode-of-many',
    "local t={} for i=1,3e6 do t[i]='\\1\\2\\3' end return #cjson.encode(t)",
  ],
  [
    'cjson-encode-sparse',
    'cjson.encode_sparse_array(true,0,0) return #cjson.encode({[1]=1,[1e8]=1})',
  ],
  [
    'cjson-encode-sparse-without-limit',
    'cjson.encode_sparse_array(false,0,0) return #cjson.encode({[1]=1,[5e8]=1})',
  ],
  ['cjson-decode-deep', "return cjson.decode(string.rep('[',1e6)..string.rep(']',1e6))"],
  [
    'cjson-decode-deep-allowed',
    "cjson.decode_max_depth(1e6) return #cjson.decode(string.rep('[',1e6)..string.rep(']',1e6))",
  ],
  [
    'cjson-encode-deep-allowed',
    'cjson.encode_max_depth(1e6) local t={} for i=1,1e6 do t={t} end return #cjson.encode(t)',
  ],
  ['cjson-decode-of-50-mb', "return #cjson.decode('['..string.rep('1,',2.5e7)..'1]')"],
  [
    'cjson-decode-object-of-many-keys',
    "local t={} for i=1,2e6 do t[i]='\"k'..i..'\":1' end return cjson.decode('{'..table.concat(t,',')..'}').k1",
  ],
  ['cjson-decode-unterminated', "return cjson.decode('\"'..string.rep('\\\\\\\\u0041',1e7))"],
  ['cjson-decode-long-number', "return cjson.decode(string.rep('1',1e8))"],
  ['cmsgpack-pack-deep', 'local t={} for i=1,1e6 do t={t} end return #cmsgpack.pack(t)'],
  [
    'cmsgpack-pack-shared',
    'local t={1} for i=1,16 do t={t,t} end local n=0 for i=1,1000 do n=n+#cmsgpack.pack(t) end return n',
  ],
  [
    'cmsgpack-pack-huge',
    "local s=string.rep('x',1e8) return #cmsgpack.pack(s,s,s,s,s,s,s,s,s,s,s,s)",
  ],
  ['cmsgpack-unpack-claimed-array', "return cmsgpack.unpack('\\221\\255\\255\\255\\255')"],
  ['cmsgpack-unpack-claimed-map', "return cmsgpack.unpack('\\223\\255\\255\\255\\255')"],
  ['cmsgpack-unpack-claimed-string', "return cmsgpack.unpack('\\219\\255\\255\\255\\255')"],
  ['cmsgpack-unpack-deep', "return cmsgpack.unpack(string.rep('\\145',1e7)..'\\1')"],
  ['cmsgpack-unpack-many', "return cmsgpack.unpack(string.rep('\\1',2e7))"],
  ['struct-pack-huge-padding', "return #struct.pack('c1000000000','x')"],
  ['struct-pack-many', "return #struct.pack(string.rep('i8',1e6),1)"],
  ['struct-pack-fixed-string', "return #struct.pack(string.rep('x',1e8))"],
  ['struct-unpack-many', "return #{struct.unpack(string.rep('b',1e6),string.rep('x',1e6))}"],
  ['struct-size-overflow', "return struct.size(string.rep('c1000000000',100))"],
  ['struct-unpack-claimed-string', "return struct.unpack('Ic0',struct.pack('I',4294967295))"],
  ['bit-loop', 'local n=0 for i=1,1e8 do n=bit.bxor(n,i) end return n'],
  ['bit-of-many', 'local t={} for i=1,7999 do t[i]=i end for i=1,1e5 do bit.bor(unpack(t)) end'],
  ['sha1hex-of-500-mb', "return redis.sha1hex(string.rep('x',5e8))"],
  ['sha1hex-loop', "local s=string.rep('x',1e6) for i=1,1e5 do redis.sha1hex(s) end"],
  ['redis-log-a-million', "for i=1,1e6 do redis.log(redis.LOG_WARNING,string.rep('x',1000)) end"],
  ['redis-log-of-500-mb', "redis.log(redis.LOG_WARNING,string.rep('x',5e8))"],
  ['redis-error-reply-with-crlf', "return redis.error_reply(string.rep('x\\r\\n+OK\\r\\n',1e6))"],
  ['redis-status-reply-huge', "return redis.status_reply(string.rep('x',5e8))"],
  [
    'redis-setresp-3-reply',
    'redis.setresp(3) local t={} for i=1,1e6 do t[i]={double=i} end return t',
  ],
  // replies and calls
  ['reply-of-10-million', 'local t={} for i=1,1e7 do t[i]=i end return t'],
  ['reply-deep', 'local t={} for i=1,1e6 do t={t} end return t'],
  ['reply-cyclic', 'local t={} t[1]=t return t'],
  ['reply-shared-2-to-the-24', 'local t={1} for i=1,24 do t={t,t} end return t'],
  [
    'reply-shared-string',
    "local s=string.rep('x',1e6) local t={} for i=1,6000 do t[i]=s end return t",
  ],
  [
    'call-get-of-large-value',
    "redis.call('SET','k',string.rep('x',1e8)) local n=0 for i=1,1000 do n=n+#redis.call('GET','k') end return n",
  ],
  [
    'call-lrange-kept',
    "for i=1,100 do redis.call('RPUSH','l',string.rep('x',1000)) end local t={} for i=1,1e5 do t[i]=redis.call('LRANGE','l',0,-1) end return #t",
  ],
  [
    'call-mget-of-large-value',
    "redis.call('SET','k',string.rep('x',1e6)) local a={} for i=1,6000 do a[i]='k' end return #redis.call('MGET',unpack(a))",
  ],
  [
    'call-append-doubling',
    "redis.call('SET','k','x') for i=1,40 do redis.call('APPEND','k',redis.call('GET','k')) end",
  ],
  [
    'call-million-writes-then-error',
    "for i=1,1e6 do redis.call('SET','k'..i,i) end error('undo all of it')",
  ],
  [
    'call-one-list-undone',
    "for i=1,1e6 do redis.call('RPUSH','l',i) end for i=1,1e5 do redis.call('LPOP','l') end error('undo')",
  ],
  [
    'call-keys-in-a-loop',
    "for i=1,1e4 do redis.call('SET','k'..i,i) end for i=1,1e4 do redis.call('KEYS','*') end",
  ],
  [
    'call-sort-in-a-loop',
    "for i=1,1e5 do redis.call('RPUSH','l',i) end for i=1,100 do redis.call('SORT','l','ALPHA') end",
  ],
  [
    'call-expired-keys',
    "for i=1,5e5 do redis.call('SET','k'..i,i,'PX',1) end return redis.call('DBSIZE')",
  ],
  [
    'call-sunionstore-growth',
    "for i=1,1e5 do redis.call('SADD','s',i) end for i=1,200 do redis.call('SUNIONSTORE','d'..i,'s') end",
  ],
  [
    'call-copy-growth',
    "redis.call('SET','k',string.rep('x',1e7)) for i=1,1000 do redis.call('COPY','k','k'..i) end",
  ],
  [
    'call-flushall-of-a-million',
    "for i=1,1e6 do redis.call('SET','k'..i,i) end redis.call('FLUSHALL') error('undo')",
  ],
];

export const LUA_ATTACKS = ROWS.map(([name, script]) => ({
  name: `lua-${name}`,
  family: 'lua',
  what: script.length > 100 ? `${script.slice(0, 97)}...` : script,
  seconds: 15,
  async run(context) {
    const client = await context.client();
    const reply = await client.call('EVAL', script, '0');
    context.note(`reply: ${JSON.stringify(reply.slice(0, 100))}`);
  },
}));
