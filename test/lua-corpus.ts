/**
 * Scripts and what Redis 7.0.15 answers to them, recorded from it. They are sent with one key, `k1`,
 * and two arguments, `a1` and `a2`; `lua-corpus.test.ts` holds both engines to the record.
 */
export type RecordedReply = null | number | string | RecordedReply[] | { readonly error: string };

export const LUA_CORPUS: Readonly<Record<string, readonly (readonly [string, RecordedReply])[]>> = {
  language: [
    [
      'return foo',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: 47e30a5d10d5694f99208f9adc4fe3bf2450edbd, on @user_script:1.",
      },
    ],
    [
      'foo = 1',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: e1934c7d679df0a682fa283afb2bdeec6495d463, on @user_script:1.',
      },
    ],
    [
      'redis.x = 1',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: 0e3b052f72a1147275fd3ab2c8c15d4453b9010f, on @user_script:1.',
      },
    ],
    [
      'string.x = 1',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: c3eb0a2a15b3d4790b323c4104029c1ae425a769, on @user_script:1.',
      },
    ],
    [
      "rawset(_G,'x',1)",
      {
        error:
          'ERR Attempt to modify a readonly table script: 90860ee597073785c7a12c667667abc4495e2c78, on @user_script:1.',
      },
    ],
    [
      'setmetatable(_G,{})',
      {
        error:
          'ERR Attempt to modify a readonly table script: e8f1b52cec0990f58c59b37010d130cfdce9e1a5, on @user_script:1.',
      },
    ],
    [
      'setmetatable(redis,{})',
      {
        error:
          'ERR Attempt to modify a readonly table script: a18f585618b56883ed11c1069707ee6d306dd00b, on @user_script:1.',
      },
    ],
    [
      'getmetatable(_G).__index = nil',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: 1ec4f48ee3d02bfee5da8ba9aeab8a503d3032f1, on @user_script:1.',
      },
    ],
    ["return getmetatable('').__index == string", 1],
    [
      "getmetatable('').__index = nil",
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: d73a1dfb50411851ebe32e3e075eb37e35009eff, on @user_script:1.',
      },
    ],
    [
      '_G.foo = 1',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: 53ae55cd731d2c73380626e19821ad44a6cad8fa, on @user_script:1.',
      },
    ],
    [
      'return _G.foo',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: 14b334a3e1207cac27cf13552a3fe5249fbac092, on @user_script:1.",
      },
    ],
    [
      "return _G['foo']",
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: ef45197f41b04892e8567fabbc992e1b22d3557d, on @user_script:1.",
      },
    ],
    ["return rawget(_G,'foo') == nil", 1],
    ['return _G.KEYS[1]', 'k1'],
    ['return _G == _G._G', 1],
    [
      'table.insert(_G, 1)',
      {
        error:
          'ERR Attempt to modify a readonly table script: 54d6bceaddd07a2d36f3e595e5cbbdedaa9fcb10, on @user_script:1.',
      },
    ],
    ['table.sort(redis)', null],
    ["KEYS[1] = 'z' return KEYS[1]", 'z'],
    [
      'KEYS = {} ',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: aa543202a2bb46d1b3d7367923fe1841797362f4, on @user_script:1.',
      },
    ],
    [
      'ARGV = nil',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: e467bd36a8b4335c32d72a8eff839e07b2f4ca43, on @user_script:1.',
      },
    ],
    ['local redis = {call=function() return 5 end} return redis.call()', 5],
    ['local KEYS = {9} return KEYS[1]', 9],
    [
      'function f() end',
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: f37995b1d7c626139c9a239b83b074295e82ad29, on @user_script:1.',
      },
    ],
    ['local function f() return 1 end return f()', 1],
    [
      "error('x')",
      {
        error:
          'ERR user_script:1: x script: 9851144f39f03a0d597a980c5aa79c80cb696891, on @user_script:1.',
      },
    ],
    [
      "error('x',0)",
      { error: 'ERR x script: 8f4889c5107712848127051ca91450584d2d6d6d, on @user_script:1.' },
    ],
    [
      "error('x',2)",
      { error: 'ERR x script: e299ce35c67c1cfed197ca85db9148b6efc84147, on @user_script:1.' },
    ],
    [
      "error('x',3)",
      { error: 'ERR x script: 85aae3733c05bc5db57523c5bec9a60dd04a5fd2, on @user_script:1.' },
    ],
    [
      "local function f() error('x',2) end f()",
      {
        error:
          'ERR user_script:1: x script: c371c727ff7bc7d349b9c7302166b42a0aa8b6e5, on @user_script:1.',
      },
    ],
    [
      "local function f() error('x',2) end\nlocal function g()\nf()\nend\ng()",
      {
        error:
          'ERR user_script:3: x script: b6ca576aebf981ed93e8ee4ead2bf477c50d9266, on @user_script:1.',
      },
    ],
    [
      "error({err='MY thing'})",
      { error: 'MY thing script: 93d8b901ec4b7fd324068674dd9d7b37abbba276, on @user_script:1.' },
    ],
    [
      "error({err='MYthing'})",
      { error: 'MYthing script: 3b2f9114f5a41ce0df3093fb0f4b07d5f88e6f40, on @user_script:1.' },
    ],
    [
      'error(nil)',
      { error: 'ERR nil script: c402aa49952c86c38f35fb311d54977d08f3bf01, on @user_script:1.' },
    ],
    [
      'error()',
      { error: 'ERR nil script: aca90d914519fdb9825352bdc0befb59f7c8510f, on @user_script:1.' },
    ],
    [
      'error(12)',
      {
        error:
          'ERR user_script:1: 12 script: 531d78cb0a3022f46aa8fcca247caa61d303b321, on @user_script:1.',
      },
    ],
    [
      'error(true)',
      { error: 'ERR true script: 4fafe2149f68a1618a3eef40aeef55f5af6951da, on @user_script:1.' },
    ],
    [
      'error({err=5})',
      { error: '5 script: 58cfd935477cdbf9342fa1cc3ec8452b6a3ddc4b, on @user_script:1.' },
    ],
    [
      "error('a\\nb')",
      {
        error:
          'ERR user_script:1: a b script: 119790126df3fc201f8f0498095b28c62b174151, on @user_script:1.',
      },
    ],
    [
      "error('')",
      {
        error:
          'ERR user_script:1:  script: 368930858d8b06664e98c921528da17b7eb3ec3b, on @user_script:1.',
      },
    ],
    [
      'error(cjson.null) return 1',
      {
        error:
          'ERR userdata: (nil) script: b81ef2f7fe07b90b2368a74fedb80637d9c3f1d6, on @user_script:1.',
      },
    ],
    [
      'local a; return a.b',
      {
        error:
          "ERR user_script:1: attempt to index local 'a' (a nil value) script: c639438a5c6bdbcac8182e1267b322721e2932b4, on @user_script:1.",
      },
    ],
    [
      'local a; return a.b.c',
      {
        error:
          "ERR user_script:1: attempt to index local 'a' (a nil value) script: 87d4e775e4e06b88296013f0365938d0766ab14a, on @user_script:1.",
      },
    ],
    [
      'return KEYS.x.y',
      {
        error:
          "ERR user_script:1: attempt to index field 'x' (a nil value) script: 28647f2d1ca918ae2980680a5cbd3e69a97aa994, on @user_script:1.",
      },
    ],
    [
      'return redis.call()',
      {
        error:
          'ERR Please specify at least one argument for this redis lib call script: 0a907e1429221a4d85516cab7fd219a82a9439d8, on @user_script:1.',
      },
    ],
    [
      'return redis.pcall()',
      { error: 'ERR Please specify at least one argument for this redis lib call' },
    ],
    [
      'return redis.call({})',
      {
        error:
          'ERR Lua redis lib command arguments must be strings or integers script: 80747816df1f4411f7c442b928fce6a814214839, on @user_script:1.',
      },
    ],
    [
      'return redis.call(nil)',
      {
        error:
          'ERR Lua redis lib command arguments must be strings or integers script: 99304b0aecba6a93ad3911cc253cf22c84ab4d15, on @user_script:1.',
      },
    ],
    [
      "return redis.call('x', true)",
      {
        error:
          'ERR Lua redis lib command arguments must be strings or integers script: df6da29a1f8f992f49fcf5bbedc7b87bf3a711af, on @user_script:1.',
      },
    ],
    [
      'return redis.pcall({})',
      { error: 'ERR Lua redis lib command arguments must be strings or integers' },
    ],
    ['return {1,2,nil,4}', [1, 2]],
    ['return {nil,1}', []],
    [
      "return {1,2,3.99,'x',{err='E x'},{ok='fine'},true,false}",
      [1, 2, 3, 'x', { error: 'E x' }, 'fine', 1, null],
    ],
    ['return {double=3.5}', '3.5'],
    ["return {double='x'}", []],
    ['return {double=1/0}', 'inf'],
    ['return {double=1e100}', '1e+100'],
    ['return {double=0.1}', '0.10000000000000001'],
    ['return {map={a=1}}', ['a', 1]],
    ['return {map={a=1,b=2,c={1,2}}}', ['a', 1, 'c', [1, 2], 'b', 2]],
    ['return {set={a=true}}', ['a']],
    ['return {set={a=true,b=1,c=false}}', ['a', 'c', 'b']],
    ["return {big_number='123'}", '123'],
    ["return {big_number='12\\r\\n3'}", '12  3'],
    ["return {verbatim_string={format='txt',string='hi'}}", 'hi'],
    ["return {verbatim_string={format='toolong',string='hi'}}", 'hi'],
    ["return {verbatim_string={format='txt'}}", []],
    ["return {err='x', ok='y'}", { error: 'x' }],
    ["return {ok='y', map={}}", 'y'],
    ['redis.setresp(3); return {true,false,{double=3.5},{map={a=1}}}', [1, 0, '3.5', ['a', 1]]],
    ['redis.setresp(3); return true', 1],
    ['redis.setresp(3); return false', 0],
    ['redis.setresp(3) redis.setresp(2) return false', null],
    [
      'redis.setresp(4)',
      {
        error:
          'ERR RESP version must be 2 or 3. script: 68e72e4d8a428b9f599dce492315f2455a425a82, on @user_script:1.',
      },
    ],
    [
      'redis.setresp()',
      {
        error:
          'ERR redis.setresp() requires one argument. script: 42aacaf580759e59c97e8b1974d08a62f960014f, on @user_script:1.',
      },
    ],
    ["redis.setresp('3') return true", 1],
    ['return true', 1],
    ['return false', null],
    ['return nil', null],
    ['return', null],
    ["return 'a','b'", 'a'],
    ['return 1e300', -9223372036854776000],
    ['return 0/0', -9223372036854776000],
    ['return 1/0', -9223372036854776000],
    ['return -1e18', -1000000000000000000],
    ['return 2^53', 9007199254740992],
    ['return 2^62', 4611686018427388000],
    ['return 2^63', -9223372036854776000],
    ['return -2^63', -9223372036854776000],
    ['return 3.99', 3],
    ['return -3.99', -3],
    ['return 1e15+0.5', 1000000000000000],
    ['return -0.5', 0],
    ['return {{{{1}}}}', [[[[1]]]]],
    ['return {a=1}', []],
    ['return {[1]=1,[3]=3}', [1]],
    ['return setmetatable({},{__index=function() return 1 end})', []],
    ['return function() end', null],
    ['return coroutine.create(function() end)', null],
    ['return cjson.null', null],
    ["return redis.error_reply('x')", { error: 'ERR x' }],
    ["return redis.error_reply('My Err')", { error: 'My Err' }],
    ["return redis.error_reply('-My Err')", { error: 'My Err' }],
    ["return redis.error_reply('')", { error: 'ERR ' }],
    ['return redis.error_reply(1)', { error: 'ERR wrong number or type of arguments' }],
    ["return redis.error_reply('a','b')", { error: 'ERR wrong number or type of arguments' }],
    ["return redis.error_reply('ERR a\\r\\n')", { error: 'ERR a' }],
    ["return redis.status_reply('x')", 'x'],
    ["return redis.status_reply('')", ''],
    ['return redis.status_reply()', { error: 'ERR wrong number or type of arguments' }],
    ["return redis.status_reply('a\\nb')", 'a b'],
    ["return redis.sha1hex('')", 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ["return redis.sha1hex('abc')", 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['return redis.sha1hex(12)', '7b52009b64fd0a2a49e6d8a939753077792b0554'],
    [
      'return redis.sha1hex()',
      {
        error:
          'ERR wrong number of arguments script: 3c7ce947ae74a835cc575b6ee87fb27503cb7ba4, on @user_script:1.',
      },
    ],
    [
      'return redis.sha1hex(1,2)',
      {
        error:
          'ERR wrong number of arguments script: 52b52c154ad664c278ff80060d09fe36369770cd, on @user_script:1.',
      },
    ],
    ['return redis.replicate_commands()', 1],
    [
      'return redis.set_repl(9)',
      {
        error:
          'ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE. script: f43d522179aeb2c4dadb59b026d11ed249ca02e0, on @user_script:1.',
      },
    ],
    ['return redis.set_repl(redis.REPL_ALL)', null],
    [
      'return redis.set_repl()',
      {
        error:
          'ERR redis.set_repl() requires two arguments. script: 9504533b41060c143a92eb2f8878e77d33b6dc33, on @user_script:1.',
      },
    ],
    [
      'return redis.set_repl(redis.REPL_NONE,1)',
      {
        error:
          'ERR redis.set_repl() requires two arguments. script: 823ef26797d7517cb1aa70459a31375fd42a5050, on @user_script:1.',
      },
    ],
    ['return redis.breakpoint()', null],
    ["return redis.debug('x')", null],
    [
      'return redis.log(1)',
      {
        error:
          'ERR redis.log() requires two arguments or more. script: f5438245431406aa19fc387d93c6d03a0d5bcb0f, on @user_script:1.',
      },
    ],
    [
      "return redis.log('x','y')",
      {
        error:
          'ERR First argument must be a number (log level). script: 7eb2c51797b5ba4486062c3780fcd2ba1dfab7c7, on @user_script:1.',
      },
    ],
    [
      "return redis.log(9,'y')",
      {
        error:
          'ERR Invalid debug level. script: e194bc592416374d3163019b086b4cbc01c0129b, on @user_script:1.',
      },
    ],
    ["return redis.log(redis.LOG_DEBUG,'y')", null],
    ['return redis.REDIS_VERSION .. redis.REDIS_VERSION_NUM', '7.0.15458767'],
    ["return {err='a\\nb\\n'}", { error: 'a b' }],
    ["return {ok='a\\nb'}", 'a b'],
    ["return {err='a'}", { error: 'a' }],
    ["return {err=''}", { error: '' }],
    ['return {err=5}', []],
    ['return {ok=5}', []],
    ["return {pcall(error,'x')}", [null, 'x']],
    ["return {pcall(error,{err='E z'})}", [null, 'E z']],
    ['return {pcall(error,{err=5})}', [null, 5]],
    ['return type(select(2,pcall(error,{})))', 'table'],
    [
      'return {pcall(string.rep)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() string.rep() end)}',
      [null, "user_script:1: bad argument #1 to 'rep' (string expected, got no value)"],
    ],
    [
      "return {pcall(function() ('x'):rep() end)}",
      [null, "user_script:1: bad argument #1 to 'rep' (number expected, got no value)"],
    ],
    [
      "return {pcall(function() ('x').rep() end)}",
      [null, "user_script:1: bad argument #1 to 'rep' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() local r=string.rep; r() end)}',
      [null, "user_script:1: bad argument #1 to 'r' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() local t={r=string.rep} t.r() end)}',
      [null, "user_script:1: bad argument #1 to 'r' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() local t={string.rep} t[1]() end)}',
      [null, "user_script:1: bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() (string.rep)() end)}',
      [null, "user_script:1: bad argument #1 to 'rep' (string expected, got no value)"],
    ],
    [
      'return {pcall(function() (function() return string.rep end)()() end)}',
      [null, "user_script:1: bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      'return {pcall(redis.call)}',
      [null, 'ERR Please specify at least one argument for this redis lib call'],
    ],
    [
      'return {pcall(redis.pcall)}',
      [1, { error: 'ERR Please specify at least one argument for this redis lib call' }],
    ],
    [
      'return {xpcall(function() redis.call() end, function(e) return type(e) end)}',
      [null, 'table'],
    ],
    [
      'return {xpcall(function() redis.call() end, function(e) return e.err end)}',
      [null, 'ERR Please specify at least one argument for this redis lib call'],
    ],
    ["return {loadstring('\\27Lua')}", []],
    ["return {loadstring('x x')}", []],
    [
      "return select(2,loadstring('\\27Lua'))",
      '[string "\u001bLua"]:1: unexpected symbol near \'char(27)\'',
    ],
    ["return select(2,loadstring('x x'))", "[string \"x x\"]:1: '=' expected near 'x'"],
    ["return select(2,loadstring('x x','=foo'))", "foo:1: '=' expected near 'x'"],
    ["return select(2,loadstring('x x','@foo'))", "foo:1: '=' expected near 'x'"],
    [
      "return select(2,loadstring('local aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\nx x'))",
      "[string \"local aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\"]:2: '=' expected near 'x'",
    ],
    [
      "return select(2,loadstring('x x', '=' .. ('n'):rep(100)))",
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn:1: '=' expected near 'x'",
    ],
    [
      "return select(2,loadstring('x x', '@' .. ('n'):rep(100)))",
      "...nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn:1: '=' expected near 'x'",
    ],
    ["return select(2,loadstring('\\nx x'))", "[string \"...\"]:2: '=' expected near 'x'"],
    ["return loadstring('return ...')(1,2,3)", 1],
    ["return {loadstring('return ...')(1,2,3)}", [1, 2, 3]],
    ["return {pcall(loadstring('error(\"a\")','=foo'))}", [null, 'foo:1: a']],
    ['return {pcall(loadstring(\'error("a")\'))}', [null, '[string "error("a")"]:1: a']],
    [
      'loadstring(\'error("a")\')()',
      {
        error:
          'ERR [string "error("a")"]:1: a script: f138a6013713190abbca80baf772e3be5f3c0750, on error("a"):1.',
      },
    ],
    [
      "loadstring('foo = 1')()",
      {
        error:
          'ERR [string "foo = 1"]:1: Attempt to modify a readonly table script: fe217692a6a16ce07f4a1fbab7d9d85eccac4601, on foo = 1:1.',
      },
    ],
    [
      "return loadstring('return foo')()",
      {
        error:
          'ERR [string "return foo"]:1: Script attempted to access nonexistent global variable \'foo\' script: b77011cb9a68ad7a614ed0e50473fe644f3ad039, on return foo:1.',
      },
    ],
    ["return loadstring('local x = ... return x + 1')(5)", 6],
    [
      "local n = 0 return load(function() n = n + 1 if n == 1 then return 'return ' elseif n == 2 then return '7' end end)()",
      7,
    ],
    ["return {pcall(load,'x')}", [null, "bad argument #1 to '?' (function expected, got string)"]],
    ['return {load(function() return nil end)} == nil', null],
    ["return __redis__err__handler('x').err", 'ERR x'],
    ["return __redis__err__handler({err='q'}).line", 1],
    ["return {pcall(rawset,_G,'a',1)}", [null, 'Attempt to modify a readonly table']],
    ["return {pcall(function() assert(false,'x') end)}", [null, 'user_script:1: x']],
    ['return {pcall(function() assert(false) end)}', [null, 'user_script:1: assertion failed!']],
    [
      "return {pcall(function() assert(nil,{err='a b'}) end)}",
      [null, "user_script:1: bad argument #2 to 'assert' (string expected, got table)"],
    ],
    [
      'return {pcall(function() assert() end)}',
      [null, "user_script:1: bad argument #1 to 'assert' (value expected)"],
    ],
    ['return {assert(1,2,3)}', [1, 2, 3]],
    [
      "assert(false,'x')",
      {
        error:
          'ERR user_script:1: x script: 080dfba0a6503ec1599783f2e495073205bb561c, on @user_script:1.',
      },
    ],
    [
      "return {xpcall(function() error('q') end, function(e) return e .. '!' end)}",
      [null, 'user_script:1: q!'],
    ],
    [
      "return {xpcall(function() error('q') end, function(e) error('z') end)}",
      [null, 'error in error handling'],
    ],
    ["return {xpcall(function() error('q') end, 5)}", [null, 'error in error handling']],
    ['return {xpcall(function() return 1,2 end, 5)}', [1, 1, 2]],
    ['return {pcall(xpcall,1)}', [null, "bad argument #2 to '?' (value expected)"]],
    ["return {select('#',pcall(error))}", [2]],
    ['return {pcall()}', [null, 'attempt to call a boolean value']],
    ['return {pcall(nil)}', [null, 'attempt to call a nil value']],
    ['return {pcall(5)}', [null, 'attempt to call a number value']],
    ['return {pcall(pcall)}', [1, null, 'attempt to call a boolean value']],
    ["return {pcall(pcall,error,'x')}", [1, null, 'x']],
    ['return {select(-1,1,2,3)}', [3]],
    ['return {select(2,1,2,3)}', [2, 3]],
    ['return {select(9,1,2,3)}', []],
    [
      'return select(0)',
      {
        error:
          "ERR user_script:1: bad argument #1 to 'select' (index out of range) script: 70b55a93a3790ab47c0165baf2bf51e1f37155e2, on @user_script:1.",
      },
    ],
    ['return {pcall(select,-5,1)}', [null, "bad argument #1 to '?' (index out of range)"]],
    ['return {pcall(select)}', [null, "bad argument #1 to '?' (number expected, got no value)"]],
    [
      'return {tostring(1e15),tostring(1e14),tostring(123456789012345),tostring(0.1),tostring(1/0),tostring(-1/0),tostring(0/0),tostring(2^53),tostring(1e100)}',
      [
        '1e+15',
        '1e+14',
        '1.2345678901234e+14',
        '0.1',
        'inf',
        '-inf',
        '-nan',
        '9.007199254741e+15',
        '1e+100',
      ],
    ],
    [
      'return {tostring(1000000000000.25), tostring(1000000000000.75), tostring(3.14159265358979), tostring(100), tostring(1e-5), tostring(123456.789e3)}',
      ['1000000000000.2', '1000000000000.8', '3.1415926535898', '100', '1e-05', '123456789'],
    ],
    [
      'return {tostring(99999999999999), tostring(100000000000000), tostring(0.1+0.2), tostring(1/3), tostring(-1/3), tostring(5e-324), tostring(1.7976931348623157e308)}',
      [
        '99999999999999',
        '1e+14',
        '0.3',
        '0.33333333333333',
        '-0.33333333333333',
        '4.9406564584125e-324',
        '1.7976931348623e+308',
      ],
    ],
    ["return {tostring(nil),tostring(true),tostring('x')}", ['nil', 'true', 'x']],
    ["return tostring(setmetatable({},{__tostring=function() return 'hi' end}))", 'hi'],
    ['return tostring(setmetatable({},{__tostring=function() return 5 end}))', 5],
    ['return type(tostring({})) .. tostring({}):sub(1,9)', 'stringtable: 0x'],
    [
      'return tostring(print == nil)',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'print' script: 831e9ab4c488f1f7578792f1fb50575f0f057cf6, on @user_script:1.",
      },
    ],
    ['return tostring(cjson.null)', 'userdata: (nil)'],
    [
      'return tostring()',
      {
        error:
          "ERR user_script:1: bad argument #1 to 'tostring' (value expected) script: b3870418043f3698962b400fd4ccc5dd4e449625, on @user_script:1.",
      },
    ],
    [
      'return type()',
      {
        error:
          "ERR user_script:1: bad argument #1 to 'type' (value expected) script: 49749cbfc8696dfdf0abcd40bf0d1d0a6ea3ea0d, on @user_script:1.",
      },
    ],
    [
      "return {type(nil),type(1),type(''),type({}),type(type),type(cjson.null),type(coroutine.create(function() end))}",
      ['nil', 'number', 'string', 'table', 'function', 'userdata', 'thread'],
    ],
    [
      "return {tostring(tonumber('0x10')),tostring(tonumber('  12  ')),tostring(tonumber('1e2')),tostring(tonumber('inf')),tostring(tonumber('0x1p4')),tostring(tonumber('z',36)),tostring(tonumber('8',8)),tostring(tonumber('1 2')),tostring(tonumber(''))}",
      ['16', '12', '100', 'inf', '16', '35', 'nil', 'nil', 'nil'],
    ],
    [
      "return {tostring(tonumber('7fffffffffffffff',16)),tostring(tonumber('-ff',16)),tostring(tonumber('1.5',10)), tostring(tonumber(nil))}",
      ['9.2233720368548e+18', '1.844674407371e+19', '1.5', 'nil'],
    ],
    [
      "return {tostring(tonumber('.5')),tostring(tonumber('5.')),tostring(tonumber('.')),tostring(tonumber('1e')),tostring(tonumber('1e+')),tostring(tonumber('0x')),tostring(tonumber('- 1')),tostring(tonumber('-1')),tostring(tonumber('+1')),tostring(tonumber('1_0'))}",
      ['0.5', '5', 'nil', 'nil', 'nil', 'nil', 'nil', '-1', '1', 'nil'],
    ],
    [
      "return {tostring(tonumber('10',2)),tostring(tonumber('12',2)),tostring(tonumber('ff',16)),tostring(tonumber('0xff',16)),tostring(tonumber(' 11 ',2)),tostring(tonumber('',2)),tostring(tonumber('99999999999999999999999',10)),tostring(tonumber('zzzzzzzzzzzzzzzzzzzzzz',36))}",
      ['2', 'nil', '255', '255', '3', 'nil', '1e+23', '1.844674407371e+19'],
    ],
    ['return {tostring(tonumber({})),tostring(tonumber(true))}', ['nil', 'nil']],
    [
      'return tonumber()',
      {
        error:
          "ERR user_script:1: bad argument #1 to 'tonumber' (value expected) script: f4853cecaf5a268432ec56257ce33f680863445e, on @user_script:1.",
      },
    ],
    [
      "return tonumber('1',99)",
      {
        error:
          "ERR user_script:1: bad argument #2 to 'tonumber' (base out of range) script: 7b10076b261f4370c51a2a96ef029af595ec7598, on @user_script:1.",
      },
    ],
    [
      "return tonumber('1',1)",
      {
        error:
          "ERR user_script:1: bad argument #2 to 'tonumber' (base out of range) script: 70f796427ce6f66b012ee8a0fc79ba19245f25cd, on @user_script:1.",
      },
    ],
    [
      'return {pcall(tonumber,{},16)}',
      [null, "bad argument #1 to '?' (string expected, got table)"],
    ],
    ['return tonumber(12,16)', 18],
    ["return {1 + '2', '3' * '4', '10' / 2, -'5', '0x10' + 0, ' 7 ' + 1}", [3, 12, 5, -5, 16, 8]],
    [
      'return {7 % 3, -7 % 3, 7 % -3, -7 % -3, 5.5 % 2, tostring(5 % math.huge), tostring(-5 % math.huge), tostring(5 % 0)}',
      [1, 2, -2, -1, 1, '-nan', '-nan', '-nan'],
    ],
    [
      'return {2^10, tostring(2^0.5), tostring((-8)^(1/3)), 2^-1 == 0.5, -2^2}',
      [1024, '1.4142135623731', '-nan', 1, -4],
    ],
    [
      "return {1 == 1.0, '1' == 1, 'a' < 'b', 'a' < 'B', '' < 'a', 'a\\0b' < 'a\\0c', 'Z' < 'a', '10' < '9'}",
      [1, null, 1, null, 1, 1, 1, 1],
    ],
    [
      "return {not nil, not 0, nil == false, 1 and 2, nil and 1, false or 'x', nil or false}",
      [1, null, null, 2],
    ],
    ["return {1 .. 2, 'a' .. 1.5, 1e15 .. '', -0.1 .. ''}", ['12', 'a1.5', '1e+15', '-0.1']],
    [
      "return {#'abc', #'', #{1,2,3}, #{1,2,nil,4}, #{nil,nil,3}, #{n=1}, #{1,nil,3}}",
      [3, 0, 3, 4, 3, 0, 3],
    ],
    ['local t = {1,2,3} t[#t+1]=4 t[#t]=nil t[#t]=nil return #t', 2],
    ['local t = {} t[1]=1 t[2]=2 t[4]=4 return #t', 4],
    ['local t = {} for i=1,10 do t[i]=i end for i=3,8 do t[i]=nil end return #t', 2],
    ['local t = {1,2,3,4,5} t[3]=nil t[5]=nil return #t', 2],
    ['local t = {n=1,1,2,3} t[2]=nil t[3]=nil return #t', 1],
    ['local t = {} t[1]=1 t[3]=3 return #t', 1],
    [
      "local r={} for k,v in pairs({10,20,30,a=1,b=2,c=3,d=4}) do r[#r+1]=tostring(k)..'='..tostring(v) end return r",
      ['1=10', '2=20', '3=30', 'a=1', 'd=4', 'c=3', 'b=2'],
    ],
    [
      "local r={} local t={} for _,k in ipairs({'one','two','three','four','five','six','seven','eight','nine','ten'}) do t[k]=1 end for k in pairs(t) do r[#r+1]=k end return r",
      ['four', 'seven', 'eight', 'nine', 'six', 'two', 'three', 'ten', 'five', 'one'],
    ],
    [
      'local r={} local t={} for i=10,1,-1 do t[i]=i end for k in pairs(t) do r[#r+1]=k end return r',
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    ],
    [
      'local r={} local t={[1.5]=1,[-1]=2,[0]=3,[100]=4,[true]=5,x=6} for k in pairs(t) do r[#r+1]=tostring(k) end return r',
      ['0', 'true', '100', 'x', '1.5', '-1'],
    ],
    [
      "local r={} local t={} for i=1,20 do t['k'..i]=i end for i=1,20,2 do t['k'..i]=nil end for i=1,5 do t['n'..i]=i end for k in pairs(t) do r[#r+1]=k end return r",
      [
        'k16',
        'n5',
        'k14',
        'n2',
        'k20',
        'k10',
        'k8',
        'k12',
        'k2',
        'n1',
        'k18',
        'n3',
        'k6',
        'n4',
        'k4',
      ],
    ],
    ['local t={a=1,b=2,c=3} for k in pairs(t) do t[k]=nil end return next(t) == nil', 1],
    [
      'local t={1,2,3} for i,v in ipairs(t) do if i < 6 then t[#t+1]=v end end return t',
      [1, 2, 3, 1, 2, 3, 1, 2],
    ],
    ['local t={a=1,b=2,c=3,d=4} local n=0 for k,v in pairs(t) do t[k]=v+1 n=n+1 end return n', 4],
    ['return {next({})}', []],
    ['return {next({5})}', [1, 5]],
    ['return {next({5},1)}', []],
    ["return {pcall(next,{},'x')}", [null, "invalid key to 'next'"]],
    ['return {pcall(next)}', [null, "bad argument #1 to '?' (table expected, got no value)"]],
    ['return {pcall(next,{1,2},0)}', [null, "invalid key to 'next'"]],
    ['return {pcall(next,{1,2},2.5)}', [null, "invalid key to 'next'"]],
    [
      'return {pcall(setmetatable,1,2)}',
      [null, "bad argument #1 to '?' (table expected, got number)"],
    ],
    [
      'return {pcall(function() setmetatable({},1) end)}',
      [null, "user_script:1: bad argument #2 to 'setmetatable' (nil or table expected)"],
    ],
    ['return {pcall(setmetatable,{})}', [null, "bad argument #2 to '?' (nil or table expected)"]],
    [
      'return {pcall(setmetatable,setmetatable({},{__metatable=1}),{})}',
      [null, 'cannot change a protected metatable'],
    ],
    ['return {getmetatable(setmetatable({},{__metatable=1}))}', [1]],
    ['return {getmetatable({}),getmetatable(1)}', []],
    ['return {pcall(getmetatable)}', [null, "bad argument #1 to '?' (value expected)"]],
    [
      'return {pcall(function() for i in pairs(nil) do end end)}',
      [null, "user_script:1: bad argument #1 to 'pairs' (table expected, got nil)"],
    ],
    [
      'return {pcall(function() for i in ipairs() do end end)}',
      [null, "user_script:1: bad argument #1 to 'ipairs' (table expected, got no value)"],
    ],
    [
      'return {pcall(function() local t={} t[nil]=1 end)}',
      [null, 'user_script:1: table index is nil'],
    ],
    [
      'return {pcall(function() local t={} t[0/0]=1 end)}',
      [null, 'user_script:1: table index is NaN'],
    ],
    ['return {pcall(function() return ({})[nil] end)}', [1]],
    ['return {pcall(function() rawset({},nil,1) end)}', [null, 'table index is nil']],
    ['return {pcall(rawset,{},1)}', [null, "bad argument #3 to '?' (value expected)"]],
    ['return {pcall(rawget,{})}', [null, "bad argument #2 to '?' (value expected)"]],
    [
      "return {rawequal('a','a'),rawequal({}, {}),pcall(rawequal,1)}",
      [1, null, null, "bad argument #2 to '?' (value expected)"],
    ],
    [
      'return {pcall(function() return {} + 1 end)}',
      [null, 'user_script:1: attempt to perform arithmetic on a table value'],
    ],
    [
      'return {pcall(function() return 1 + {} end)}',
      [null, 'user_script:1: attempt to perform arithmetic on a table value'],
    ],
    [
      'return {pcall(function() return nil + nil end)}',
      [null, 'user_script:1: attempt to perform arithmetic on a nil value'],
    ],
    [
      "return {pcall(function() local a,b = 'x',{} return a+b end)}",
      [null, "user_script:1: attempt to perform arithmetic on local 'a' (a string value)"],
    ],
    [
      'return {pcall(function() local a = {} return a.x.y.z end)}',
      [null, "user_script:1: attempt to index field 'x' (a nil value)"],
    ],
    [
      "return {pcall(function() local a = {} return a['x'].y.z end)}",
      [null, "user_script:1: attempt to index field 'x' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} return a[1].y end)}',
      [null, "user_script:1: attempt to index field '?' (a nil value)"],
    ],
    [
      'return {pcall(function() local a,i = {},1 return a[i].y end)}',
      [null, "user_script:1: attempt to index field '?' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} return a[a].y end)}',
      [null, "user_script:1: attempt to index field '?' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a.b.c = 1 end)}',
      [null, "user_script:1: attempt to index field 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a.b() end)}',
      [null, "user_script:1: attempt to call field 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a:b() end)}',
      [null, "user_script:1: attempt to call method 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a.b.c() end)}',
      [null, "user_script:1: attempt to index field 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a.b:c() end)}',
      [null, "user_script:1: attempt to index field 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a = {} a[1]() end)}',
      [null, "user_script:1: attempt to call field '?' (a nil value)"],
    ],
    [
      'return {pcall(function() local a; a() end)}',
      [null, "user_script:1: attempt to call local 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a; local function g() a() end g() end)}',
      [null, "user_script:1: attempt to call upvalue 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a; local function g() return a.x end g() end)}',
      [null, "user_script:1: attempt to index upvalue 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a; local function g() return a + 1 end g() end)}',
      [null, "user_script:1: attempt to perform arithmetic on upvalue 'a' (a nil value)"],
    ],
    [
      "return {pcall(function() local a; local function g() return a .. 'x' end g() end)}",
      [null, "user_script:1: attempt to concatenate upvalue 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a; local function g() a.x = 1 end g() end)}',
      [null, "user_script:1: attempt to index upvalue 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() (1)() end)}',
      [null, 'user_script:1: attempt to call a number value'],
    ],
    [
      "return {pcall(function() ('x')() end)}",
      [null, 'user_script:1: attempt to call a string value'],
    ],
    [
      'return {pcall(function() ({})() end)}',
      [null, 'user_script:1: attempt to call a table value'],
    ],
    [
      'return {pcall(function() redis.nosuch() end)}',
      [null, "user_script:1: attempt to call field 'nosuch' (a nil value)"],
    ],
    [
      'return {pcall(function() redis.nosuch.x() end)}',
      [null, "user_script:1: attempt to index field 'nosuch' (a nil value)"],
    ],
    [
      'return {pcall(function() return math.nosuch + 1 end)}',
      [null, "user_script:1: attempt to perform arithmetic on field 'nosuch' (a nil value)"],
    ],
    [
      "return {pcall(function() local s='x'; s.y.z = 1 end)}",
      [null, "user_script:1: attempt to index field 'y' (a nil value)"],
    ],
    [
      "return {pcall(function() local s='x'; s.y = 1 end)}",
      [null, "user_script:1: attempt to index local 's' (a string value)"],
    ],
    [
      "return {pcall(function() local s='x'; return s + 1 end)}",
      [null, "user_script:1: attempt to perform arithmetic on local 's' (a string value)"],
    ],
    [
      "return {pcall(function() local s='x'; return -s end)}",
      [null, "user_script:1: attempt to perform arithmetic on local 's' (a string value)"],
    ],
    [
      'return {pcall(function() return (KEYS or ARGV).x.y end)}',
      [null, "user_script:1: attempt to index field 'x' (a nil value)"],
    ],
    [
      'return {pcall(function() local a,b return (a or b).y end)}',
      [null, 'user_script:1: attempt to index a nil value'],
    ],
    [
      'return {pcall(function() local a,b return (a and b).y end)}',
      [null, 'user_script:1: attempt to index a nil value'],
    ],
    [
      'return {pcall(function() local a,b return a .. b end)}',
      [null, "user_script:1: attempt to concatenate local 'a' (a nil value)"],
    ],
    [
      "return {pcall(function() local a,b='x' return a .. b end)}",
      [null, "user_script:1: attempt to concatenate local 'b' (a nil value)"],
    ],
    [
      "return {pcall(function() local a,b='x' return 'x' .. a .. b .. 'y' end)}",
      [null, "user_script:1: attempt to concatenate local 'b' (a nil value)"],
    ],
    [
      "return {pcall(function() local a,b='x' return 'x' .. b .. {} .. 'y' end)}",
      [null, 'user_script:1: attempt to concatenate a table value'],
    ],
    [
      "return {pcall(function() return 'x' .. nil end)}",
      [null, 'user_script:1: attempt to concatenate a nil value'],
    ],
    [
      "return {pcall(function() return true .. 'x' end)}",
      [null, 'user_script:1: attempt to concatenate a boolean value'],
    ],
    [
      'return {pcall(function() return 1 .. {} .. 2 end)}',
      [null, 'user_script:1: attempt to concatenate a table value'],
    ],
    [
      'return {pcall(function() return #5 end)}',
      [null, 'user_script:1: attempt to get length of a number value'],
    ],
    [
      'return {pcall(function() local a return #a end)}',
      [null, "user_script:1: attempt to get length of local 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a return #a.b end)}',
      [null, "user_script:1: attempt to index local 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a={} return #a.b end)}',
      [null, "user_script:1: attempt to get length of field 'b' (a nil value)"],
    ],
    [
      'return {pcall(function() local a return -a end)}',
      [null, "user_script:1: attempt to perform arithmetic on local 'a' (a nil value)"],
    ],
    [
      'return {pcall(function() local a={} return -a.x end)}',
      [null, "user_script:1: attempt to perform arithmetic on field 'x' (a nil value)"],
    ],
    [
      'return {pcall(function() return {} < 1 end)}',
      [null, 'user_script:1: attempt to compare table with number'],
    ],
    [
      'return {pcall(function() return {} <= {} end)}',
      [null, 'user_script:1: attempt to compare two table values'],
    ],
    [
      "return {pcall(function() return 'a' < 1 end)}",
      [null, 'user_script:1: attempt to compare string with number'],
    ],
    [
      "return {pcall(function() return 1 < 'a' end)}",
      [null, 'user_script:1: attempt to compare number with string'],
    ],
    [
      "return {pcall(function() return 1 > 'a' end)}",
      [null, 'user_script:1: attempt to compare string with number'],
    ],
    [
      "return {pcall(function() return 1 >= 'a' end)}",
      [null, 'user_script:1: attempt to compare string with number'],
    ],
    [
      'return {pcall(function() return nil < nil end)}',
      [null, 'user_script:1: attempt to compare two nil values'],
    ],
    [
      'return {pcall(function() return true < false end)}',
      [null, 'user_script:1: attempt to compare two boolean values'],
    ],
    [
      'return {pcall(function() return print end)}',
      [null, "user_script:1: Script attempted to access nonexistent global variable 'print'"],
    ],
    [
      'return {pcall(function() return function() end < function() end end)}',
      [null, 'user_script:1: attempt to compare two function values'],
    ],
    [
      "return {pcall(function() for i=1,'x' do end end)}",
      [null, "user_script:1: 'for' limit must be a number"],
    ],
    [
      "return {pcall(function() for i='a',2 do end end)}",
      [null, "user_script:1: 'for' initial value must be a number"],
    ],
    [
      'return {pcall(function() for i=1,2,{} do end end)}',
      [null, "user_script:1: 'for' step must be a number"],
    ],
    [
      'return {pcall(function() for i=nil,2 do end end)}',
      [null, "user_script:1: 'for' initial value must be a number"],
    ],
    [
      'return {pcall(function() for k in 5 do end end)}',
      [null, 'user_script:1: attempt to call a number value'],
    ],
    [
      'return {pcall(function() for k in nil do end end)}',
      [null, 'user_script:1: attempt to call a nil value'],
    ],
    [
      'return {pcall(function() for k in {} do end end)}',
      [null, 'user_script:1: attempt to call a table value'],
    ],
    ["local r={} for i='1','3' do r[#r+1]=i end return r", [1, 2, 3]],
    ['local r={} for i=3,1,-1 do r[#r+1]=i end return r', [3, 2, 1]],
    ['local r={} for i=1,2,0.5 do r[#r+1]=tostring(i) end return r', ['1', '1.5', '2']],
    ['local r={} for i=1,0 do r[#r+1]=i end return r', []],
    ['local n=0 for i=1,10 do i = i + 5 n = n + 1 end return n', 10],
    ['local n=0 while true do n = n + 1 if n == 5 then break end end return n', 5],
    ['local n=0 repeat local x = n n = n + 1 until x == 3 return n', 4],
    [
      'for i=1,3 do for j=1,3 do if j == 2 then break end if i == 3 then return i*10+j end end end',
      31,
    ],
    [
      "local function f(...) local a,b = ... return select('#',...), a, b, ... end return {f(1,nil,3)}",
      [3, 1],
    ],
    ['local function f(a,b,c) return a,b,c end return {f(1,2)}', [1, 2]],
    [
      'local function f(a,b,c) return tostring(a)..tostring(b)..tostring(c) end return {f(),f(1),f(1,2,3,4)}',
      ['nilnilnil', '1nilnil', '123'],
    ],
    ['local function f() return 1,2,3 end return {f(),f()}', [1, 1, 2, 3]],
    ['local function f() return 1,2,3 end return {(f()),(f())}', [1, 1]],
    ['local function f() return 1,2,3 end local a,b = f(),10 return {a,b}', [1, 10]],
    ['local function f() return 1,2,3 end local a,b,c,d = 0,f() return {a,b,c,d}', [0, 1, 2, 3]],
    ['local function f() return 1,2,3 end local t = {f(),x=f(),f()} return {#t,t.x}', [4, 1]],
    ['local function f() return 1,2 end return f(), (f())', 1],
    ['local function f(...) return (...) end return f(1,2,3)', 1],
    ['local function f(...) return {...} end return f((f(1,2)))', [[1, 2]]],
    ["local t = {(('a'):rep(3))} return t", ['aaa']],
    ["return ((('x')))", 'x'],
    [
      'local a <const> = 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<'",
      },
    ],
    [
      '1.5\0',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '1.5'",
      },
    ],
    [
      'return\0',
      { error: 'ERR Error compiling script (new function): user_script:1: unexpected symbol' },
    ],
    [
      'return 1 \0',
      { error: "ERR Error compiling script (new function): user_script:1: '<eof>' expected" },
    ],
    [
      'x = 1.5 2\0',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '2'",
      },
    ],
    ['local a,b,c = (function() return 1,2,3 end)() return {a,b,c}', [1, 2, 3]],
    ['local a,b = 1 return tostring(b)', 'nil'],
    ['local a,b = 1,2 a,b = b,a return {a,b}', [2, 1]],
    ['local t,i = {},1 i,t[i] = i+1,20 return {i,t[1],tostring(t[2])}', [2, 20, 'nil']],
    ['local t = {} t.x,t.y,t.z = 1,2 return {t.x,t.y,tostring(t.z)}', [1, 2, 'nil']],
    ["local t = {1,2,3} local i = 1 i, t[i] = 2, 'x' return t", ['x', 2, 3]],
    ['local a = {} a.b = {} a.b.c = {} a.b.c.d = 5 return a.b.c.d', 5],
    ['local a = {f=function(self,x) return self.y + x end, y=10} return a:f(5)', 15],
    [
      'local C = {} C.__index = C function C.new(x) return setmetatable({x=x},C) end function C:get() return self.x end return C.new(7):get()',
      7,
    ],
    [
      'local t = setmetatable({},{__index={a=1},__newindex=function(t,k,v) rawset(t,k,v*2) end}) t.b = 5 return {t.a,t.b}',
      [1, 10],
    ],
    [
      "local t = setmetatable({},{__add=function(a,b) return 'add' end,__concat=function(a,b) return 'cat' end,__call=function(self,...) return select('#',...) end,__unm=function() return 'neg' end,__len=function() return 99 end}) return {t+1,1+t,t..'x','x'..t,t(1,2,3),-t,#t}",
      ['add', 'add', 'cat', 'cat', 3, 'neg', 0],
    ],
    [
      'local mt = {__eq=function() return true end,__lt=function() return true end,__le=function() return false end} local a,b = setmetatable({},mt),setmetatable({},mt) return {a==b,a<b,a<=b,a>b,a~=b}',
      [1, 1, null, 1, null],
    ],
    [
      'local mt = {__lt=function(a,b) return a.v<b.v end} local a,b = setmetatable({v=1},mt),setmetatable({v=2},mt) return {a<=b,b<=a,a<b}',
      [1, null, 1],
    ],
    [
      "local t = setmetatable({},{__index=function(t,k) return k..'!' end}) return {t.x,t[1],t['a b']}",
      ['x!', '1!', 'a b!'],
    ],
    ['local a = setmetatable({},{__index=setmetatable({},{__index={deep=1}})}) return a.deep', 1],
    [
      'local t = {} setmetatable(t,{__index=t}) return {pcall(function() return t.x end)}',
      [null, 'user_script:1: loop in gettable'],
    ],
    [
      'local t = {} setmetatable(t,{__newindex=t}) return {pcall(function() t.x = 1 end)}',
      [null, 'user_script:1: loop in settable'],
    ],
    [
      'local t = setmetatable({},{__index=5}) return {pcall(function() return t.x end)}',
      [null, 'user_script:1: attempt to index a number value'],
    ],
    [
      'local t = setmetatable({},{__call=5}) return {pcall(function() t() end)}',
      [null, "user_script:1: attempt to call upvalue 't' (a table value)"],
    ],
    [
      "local t = setmetatable({},{__index=function(t,k) error('idx '..k) end}) return {pcall(function() return t.foo end)}",
      [null, 'user_script:1: idx foo'],
    ],
    [
      'local t = setmetatable({},{__index=string.rep}) return {pcall(function() return t.foo end)}',
      [null, "user_script:1: bad argument #1 to '?' (string expected, got table)"],
    ],
    [
      'local fs = {} for i=1,3 do fs[i] = function() i = i + 1 return i end end return {fs[1](),fs[1](),fs[2]()}',
      [2, 3, 3],
    ],
    [
      'local fs = {} for k,v in pairs({10,20}) do fs[k] = function() return v end end return {fs[1](),fs[2]()}',
      [10, 20],
    ],
    [
      'local fs = {} local i = 1 while i <= 3 do local j = i fs[i] = function() j = j + 10 return j end i = i + 1 end return {fs[1](),fs[1](),fs[2](),fs[3]()}',
      [11, 21, 12, 13],
    ],
    [
      'local function counter() local n = 0 return function() n = n + 1 return n end, function() return n end end local inc,get = counter() inc() inc() return get()',
      2,
    ],
    [
      "local function f(n) if n == 0 then return 'done' end return f(n-1) end return f(100000)",
      'done',
    ],
    [
      'local function even(n) if n == 0 then return true end return (function(m) if m == 0 then return false end return even(m-1) end)(n-1) end local even return 1',
      1,
    ],
    [
      'local function f(n) if n <= 1 then return 1 end return n * f(n-1) end return tostring(f(20))',
      '2.4329020081766e+18',
    ],
    [
      'local function f() return 1+f() end return f()',
      {
        error:
          'ERR user_script:1: stack overflow script: 8dac8411355853de2ec60a5b36a9ce2745404793, on @user_script:1.',
      },
    ],
    [
      'return {pcall(function() local function f() return 1+f() end return f() end)}',
      [null, 'user_script:1: stack overflow'],
    ],
    ['local function f(...) return arg.n, arg[1] end return {f(5,6)}', [2, 5]],
    ['local function f(...) local x = ... return type(arg) end return f(1)', 'nil'],
    [
      'do local x = 5 end return x',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'x' script: 69e49b47848b485f605475687e76bdace5cfd5ea, on @user_script:1.",
      },
    ],
    ['local x = 1 do local x = 2 end return x', 1],
    ['local x = 1 local x = x + 1 return x', 2],
    ["local s = 'a' s = s:upper() return s", 'A'],
    ["return ('%d items'):format(3)", '3 items'],
    ['return #"\\65\\066\\x" .. "\\n\\t\\\\\\"\\\'"', '3\n\t\\"\''],
    [
      "return 'a\\",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    [
      "b'",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    ['return [[\nline1\nline2]]', 'line1\nline2'],
    ['return [==[a]]b]==]', 'a]]b'],
    ['return "tab\\tnul\\0end"', 'tab\tnul\u0000end'],
    ['-- comment\nreturn 1 --[[ inline ]] + 2 --[==[\nx]==]', 3],
    ['return 0x10 + 0xA + 1e2 + .5 + 3.', 129],
    ['return 5 -- trailing', 5],
    [
      'local x = 10;;',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ';'",
      },
    ],
    ['local x = 10; return x;', 10],
    [
      'return unpack({},1,7998)',
      {
        error:
          'ERR user_script:1: too many results to unpack script: 55ced9e7bfe6e38590af25eb033a561e942134ba, on @user_script:1.',
      },
    ],
    ['return {unpack({},1,7990)}', []],
    ['return {unpack({1,2,3})}', [1, 2, 3]],
    ['return {unpack({1,2,3},2)}', [2, 3]],
    ['return {unpack({1,2,3},2,3)}', [2, 3]],
    ['return {unpack({1,2,3},-1,1)}', []],
    ['return {pcall(unpack)}', [null, "bad argument #1 to '?' (table expected, got no value)"]],
    ['return {pcall(unpack,{},1,1e8)}', [null, 'too many results to unpack']],
    ["return {pcall(collectgarbage,'x')}", [null, "bad argument #1 to '?' (invalid option 'x')"]],
    ['return collectgarbage()', 0],
    ["return type(collectgarbage('count'))", 'number'],
    ['return type(gcinfo())', 'number'],
    ['return _VERSION', 'Lua 5.1'],
  ],
  library: [
    [
      'local a = 1\nlocal b = nil\nreturn a + b',
      {
        error:
          "ERR user_script:3: attempt to perform arithmetic on local 'b' (a nil value) script: b995e3efaf2de7c7e1fd60358e14ff68bcd66c65, on @user_script:3.",
      },
    ],
    [
      'local t = {}\nt.x.y\n.z = 1',
      {
        error:
          "ERR user_script:2: attempt to index field 'x' (a nil value) script: c7490b68577256f3aea57e468327122acbdc881c, on @user_script:2.",
      },
    ],
    [
      'local t = {}\nreturn t\n.a\n.b',
      {
        error:
          "ERR user_script:4: attempt to index field 'a' (a nil value) script: b9cfcfc34d509393f86200c2bfc9a2d25e7914d0, on @user_script:4.",
      },
    ],
    [
      'local f\nf(\n1,\n2)',
      {
        error:
          "ERR user_script:2: attempt to call local 'f' (a nil value) script: 2c201beb6f26e9bfa45f59ae615906f059ee25dc, on @user_script:2.",
      },
    ],
    [
      'local x = redis.call(\n)',
      {
        error:
          'ERR Please specify at least one argument for this redis lib call script: 37501b532fdcf1c16ada529d582b6e1f5e7162c9, on @user_script:1.',
      },
    ],
    [
      'local t = { \n a = 1,\n b = nil + 1\n}',
      {
        error:
          'ERR user_script:3: attempt to perform arithmetic on a nil value script: 0798dbf77e52df68eb1037589f36526d87fd78f6, on @user_script:3.',
      },
    ],
    [
      "local function f()\n error('deep')\nend\n\nf()",
      {
        error:
          'ERR user_script:2: deep script: e0db01f825dc9d97a7f5855451b52337b3c4ad94, on @user_script:2.',
      },
    ],
    [
      "local function f()\n error('deep', 2)\nend\nlocal function g()\n f()\nend\ng()",
      {
        error:
          'ERR user_script:5: deep script: 935f4a7a4db94c662a682f7b0e052eaaa0b39805, on @user_script:2.',
      },
    ],
    ['local function f(x)\n return x.y.z\nend\nreturn pcall(f, {})', null],
    [
      'return {pcall(function()\n local x = 5\n return x\n .y end)}',
      [null, "user_script:4: attempt to index local 'x' (a number value)"],
    ],
    [
      'if nil > 1 then\nreturn 1\nend',
      {
        error:
          'ERR user_script:1: attempt to compare number with nil script: 0b312bb73c98f074146cd1cd00c74f258b541826, on @user_script:1.',
      },
    ],
    [
      "for i = 1,\n 'x' do end",
      {
        error:
          "ERR user_script:2: 'for' limit must be a number script: 5eca51b69ee0c68cce291cc5097ba30cb14fb3e5, on @user_script:2.",
      },
    ],
    [
      'while nil + 1 do\nend',
      {
        error:
          'ERR user_script:1: attempt to perform arithmetic on a nil value script: 9f32062819ca5f509721c809ed2fbe4a0341bafc, on @user_script:1.',
      },
    ],
    [
      "local s = 'a' ..\n 'b' ..\n nil",
      {
        error:
          'ERR user_script:3: attempt to concatenate a nil value script: 646c363e7c283321bf7067654fa3d4ac163db6de, on @user_script:3.',
      },
    ],
    [
      "return {pcall(string.format,\n'%d', 'x')}",
      [null, "bad argument #2 to '?' (number expected, got string)"],
    ],
    [
      'local x = 1 foo.bar = 2',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: 71fcf38ef8480416a49e90b6085c874f5fad5b34, on @user_script:1.",
      },
    ],
    [
      'x.y = 1',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'x' script: 07c8e3afc1b53c73a11f6a94df7f766f31819662, on @user_script:1.",
      },
    ],
    [
      "local t = setmetatable({},{__index=function(t,k)\n error('in index')\nend})\nreturn t.a",
      {
        error:
          'ERR user_script:2: in index script: 7c38ae36ba3da5cc9a739f27733796341bc9e2fb, on @user_script:2.',
      },
    ],
    [
      "table.sort({3,2,1}, function(a,b)\n error('cmp')\nend)",
      {
        error:
          'ERR user_script:2: cmp script: f1a989c862d93eb8139a0d15b5bd2feb9076dd6a, on @user_script:2.',
      },
    ],
    [
      "('x'):gsub('x', function()\n error('cb')\nend)",
      {
        error:
          'ERR user_script:2: cb script: acd2024b8e2fd8b18b60907c9a70a12a28cdccc9, on @user_script:2.',
      },
    ],
    [
      'table.sort({1,2,3},error)',
      { error: 'ERR 3 script: 2ce04d677a52e907ae242ba597a0f2c6d896149a, on =[C]:-1.' },
    ],
    [
      "string.gsub('x','x',error)",
      { error: 'ERR x script: b0773f79ea496d49197422b3a19b3e00dc8bb571, on =[C]:-1.' },
    ],
    ["local r = {} for w in string.gfind('a b','%a') do r[#r+1]=w end return r", ['a', 'b']],
    ['return {pcall(table.setn,{},1)}', [null, "'setn' is obsolete"]],
    [
      'return {table.getn({1,2,3}),table.maxn({1,2,[10]=1}),table.maxn({}),table.maxn({[2.5]=1})}',
      [3, 10, 0, 2],
    ],
    ["return {table.foreach({1,2,x=5},function(k,v) if k=='x' then return v end end)}", [5]],
    ['return {table.foreachi({1,2},function(k,v) return v*10 end)}', [10]],
    ['return {table.foreach({},function() end)}', []],
    [
      'return {pcall(table.foreach,{})}',
      [null, "bad argument #2 to '?' (function expected, got no value)"],
    ],
    [
      'return {pcall(table.concat,{1,{},3})}',
      [null, "invalid value (table) at index 2 in table for 'concat'"],
    ],
    [
      "return {pcall(table.concat,{1,2,3},',',1,5)}",
      [null, "invalid value (nil) at index 4 in table for 'concat'"],
    ],
    [
      "return {table.concat({1,2,3},',',2,3),table.concat({}),table.concat({1}),table.concat({1,2.5,'x'},'-'),table.concat({1,2},',',2,1)}",
      ['2,3', '', '1', '1-2.5-x', ''],
    ],
    [
      "return {pcall(table.concat,{},',',1,1)}",
      [null, "invalid value (nil) at index 1 in table for 'concat'"],
    ],
    [
      'return {pcall(table.concat)}',
      [null, "bad argument #1 to '?' (table expected, got no value)"],
    ],
    [
      'return {pcall(table.concat,{1,2},{})}',
      [null, "bad argument #2 to '?' (string expected, got table)"],
    ],
    ['return {pcall(table.insert,{},1,2,3)}', [null, "wrong number of arguments to 'insert'"]],
    ['return {pcall(table.insert,{})}', [null, "wrong number of arguments to 'insert'"]],
    ["local t = {} table.insert(t,5,'x') return {#t,tostring(t[5])}", [0, 'x']],
    [
      "local t = {1,2,3} table.insert(t,1,'x') table.insert(t,'end') return t",
      ['x', 1, 2, 3, 'end'],
    ],
    ["local t = {1,2,3} table.insert(t,2,'x') return t", [1, 'x', 2, 3]],
    ["local t = {1,2,3} table.insert(t,10,'x') return {#t,t[10]}", [3, 'x']],
    ["local t = {1,2,3} table.insert(t,-2,'x') return t", []],
    [
      'return {pcall(table.insert,nil,5)}',
      [null, "bad argument #1 to '?' (table expected, got nil)"],
    ],
    [
      "return {pcall(table.insert,{},'x',5)}",
      [null, "bad argument #2 to '?' (number expected, got string)"],
    ],
    ['return {table.remove({})}', []],
    ['return {table.remove({1,2,3},1)}', [1]],
    ['return {table.remove({1,2,3}),table.remove({1,2,3},0),table.remove({1,2,3},7)}', [3]],
    ['local t={1,2,3} table.remove(t,1) return t', [2, 3]],
    ["return {select('#',table.remove({}))}", [0]],
    ["return {pcall(table.sort,{3,1,'x'})}", [null, 'attempt to compare string with number']],
    [
      'return {pcall(table.sort,{3,1,2,5,4,7,6,1,2,3},function(a,b) return true end)}',
      [null, 'invalid order function for sorting'],
    ],
    [
      'return {pcall(table.sort,{3,1,2},1)}',
      [null, "bad argument #2 to '?' (function expected, got number)"],
    ],
    ['local t = {5,2,8,1,9,3} table.sort(t) return t', [1, 2, 3, 5, 8, 9]],
    ["local t = {'b','a','c','B'} table.sort(t) return t", ['B', 'a', 'b', 'c']],
    [
      "local t = {{1,'a'},{1,'b'},{0,'c'},{1,'d'}} table.sort(t,function(a,b) return a[1]<b[1] end) return t",
      [
        [0, 'c'],
        [1, 'a'],
        [1, 'b'],
        [1, 'd'],
      ],
    ],
    [
      'local t = {} for i=1,50 do t[i]=(i*37)%50 end table.sort(t) return t',
      [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
        48, 49,
      ],
    ],
    [
      'local n = 0 local t = {} for i=1,50 do t[i]=(i*37)%50 end table.sort(t,function(a,b) n=n+1 return a<b end) return n',
      253,
    ],
    [
      'local t = {} for i=1,30 do t[i]={i%5,i} end table.sort(t,function(a,b) return a[1]<b[1] end) local r={} for i=1,30 do r[i]=t[i][2] end return r',
      [
        30, 10, 20, 25, 5, 15, 1, 6, 21, 11, 16, 26, 2, 22, 27, 17, 7, 12, 18, 23, 8, 13, 28, 3, 9,
        24, 29, 4, 19, 14,
      ],
    ],
    ['return {pcall(table.sort,{1,nil,3})}', [null, 'attempt to compare nil with number']],
    ["return {pcall(string.find,'a','[a')}", [null, "malformed pattern (missing ']')"]],
    ["return {pcall(string.find,'a','[]')}", [null, "malformed pattern (missing ']')"]],
    ["return {pcall(string.find,'a','[^]')}", [null, "malformed pattern (missing ']')"]],
    ["return {pcall(string.find,'a','[%')}", [null, "malformed pattern (missing ']')"]],
    ["return {pcall(string.find,'a','%')}", [null, "malformed pattern (ends with '%')"]],
    ["return {pcall(string.find,'a','(a')}", [null, 'unfinished capture']],
    ["return {pcall(string.find,'a','a)')}", [1]],
    ["return {pcall(string.match,'a','a)')}", [null, 'invalid pattern capture']],
    ["return {pcall(string.match,'a','(()')}", [null, 'unfinished capture']],
    ["return {pcall(string.find,'a','%1')}", [null, 'invalid capture index']],
    ["return {pcall(string.find,'aa','(a)%1')}", [1, 1, 2, 'a']],
    ["return {pcall(string.find,'a','(%1)')}", [null, 'invalid capture index']],
    ["return {pcall(string.find,'a','%b')}", [null, 'unbalanced pattern']],
    ["return {pcall(string.find,'a','%bx')}", [null, 'unbalanced pattern']],
    ["return {pcall(string.find,'a','%fa')}", [null, "missing '[' after '%f' in pattern"]],
    ["return {pcall(string.find,'a',('(a)'):rep(33))}", [1]],
    ["return {string.find('THE (quick) fox','%((%a+)%)')}", [5, 11, 'quick']],
    ["return {string.find('THE (quick) fox','%f[%a]%a+',5)}", [6, 10]],
    ["return {string.gsub('THE (quick) fox','%f[%a]%a+',string.lower)}", ['the (quick) fox', 3]],
    ["return {string.find('a(b(c)d)e','%b()')}", [2, 8]],
    ["return {string.match('x = 5','(%w+)%s*=%s*(%w+)')}", ['x', '5']],
    ["return {string.match('2024-01-02','(%d+)-(%d+)-(%d+)')}", ['2024', '01', '02']],
    ["return {string.match('abc','.-')}", ['']],
    ["return {string.match('abc','.-$')}", ['abc']],
    ["return {string.match('abc','^(.-)c')}", ['ab']],
    ["return {string.match('aaa','a-b')}", []],
    ["return {string.match('hello','l+')}", ['ll']],
    ["return {string.match('hello','l*')}", ['']],
    ["return {string.match('hello','xl?')}", []],
    ["return {string.match('hello','el?l?l?o')}", ['ello']],
    ["return {string.match('[test]','%[(.*)%]')}", ['test']],
    ["return {string.match('a-b','[a-]-b')}", ['a-b']],
    ["return {string.match('x]y','[]]')}", [']']],
    ["return {string.match('x^y','[%^]')}", ['^']],
    ["return {string.match('x^y','[x^]+')}", ['x^']],
    ["return {string.match('abc123','[^%d]+')}", ['abc']],
    ["return {string.match('abc123','[%a%d]+')}", ['abc123']],
    ["return {string.match('-','[a%-z]')}", ['-']],
    [
      "return {string.match('b','[a-c]'),string.match('-','[a-]'),string.match('-','[-a]')}",
      ['b', '-', '-'],
    ],
    ["return {string.match('\\0a','%z'),string.match('a\\0b','a%zb')}", ['\u0000', 'a\u0000b']],
    ["return {string.find('a\\0b','\\0'),string.find('a\\0b','b')}", [2, 3, 3]],
    ["return {string.match('\u00c3\u00a9','[\\128-\\255]+')}", ['\u00c3\u00a9']],
    [
      "return {string.match('ABC','%u+'),string.match('abc','%U+'),string.match('a b','%S+'),string.match('!?','%p+'),string.match('\\1','%c'),string.match('fF09g','%x+')}",
      ['ABC', 'abc', 'a', '!?', '\u0001', 'fF09'],
    ],
    ["return {string.match('key','()ke()y')}", [1, 3]],
    [
      "return {string.match('abc','b',2),string.match('abc','b',3),string.match('abc','b',-2),string.match('abc','',4),string.match('abc','',10)}",
      ['b'],
    ],
    [
      "return {string.match('a.b','a%.b'),string.match('a+b','a%+b'),string.match('$5','%$%d')}",
      ['a.b', 'a+b', '$5'],
    ],
    [
      "return {string.match('a$','a$'),string.match('a$b','a$b'),string.match('$','^$'),string.match('','^$')}",
      [],
    ],
    ["return {string.match('^a','^^a'),string.match('a^','a^')}", ['^a', 'a^']],
    ["return {string.find('abc','b',1,true)}", [2, 2]],
    ["return {string.find('a.c','.',2,true)}", [2, 2]],
    ["return {string.find('a.c','%.',1,true)}", []],
    ["return {string.find('abc','(b)(c)')}", [2, 3, 'b', 'c']],
    ["return {string.find('abc','')}", [1, 0]],
    ["return {string.find('','')}", [1, 0]],
    ["return {string.find('abc','',10)}", [4, 3]],
    ["return {string.find('abc','b',-1)}", []],
    ["return {string.find('abc','b',-100)}", [2, 2]],
    ["return {string.find('abc','c',nil,true)}", [3, 3]],
    [
      'return {pcall(string.find)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      "return {pcall(string.find,'a')}",
      [null, "bad argument #2 to '?' (string expected, got no value)"],
    ],
    [
      "return {pcall(string.find,{},'a')}",
      [null, "bad argument #1 to '?' (string expected, got table)"],
    ],
    [
      "local r={} for k,v in string.gmatch('a=1,b=2','(%w+)=(%w+)') do r[#r+1]=k..v end return r",
      ['a1', 'b2'],
    ],
    [
      "local r={} for w in string.gmatch('one two','%a+') do r[#r+1]=w end return r",
      ['one', 'two'],
    ],
    [
      "local r={} for w in string.gmatch('abc','') do r[#r+1]='['..w..']' end return r",
      ['[]', '[]', '[]', '[]'],
    ],
    ["local r={} for w in string.gmatch('abc','^a') do r[#r+1]=w end return r", []],
    ["local r={} for p in string.gmatch('abc','()') do r[#r+1]=p end return r", [1, 2, 3, 4]],
    [
      "return {pcall(string.gsub,'a','a')}",
      [null, "bad argument #3 to '?' (string/function/table expected)"],
    ],
    [
      "return {pcall(string.gsub,'a','a',true)}",
      [null, "bad argument #3 to '?' (string/function/table expected)"],
    ],
    ["return {pcall(string.gsub,'a','a',{a={}})}", [null, 'invalid replacement value (a table)']],
    [
      "return {pcall(string.gsub,'a','a',function() return {} end)}",
      [null, 'invalid replacement value (a table)'],
    ],
    ["return {pcall(string.gsub,'a','a','%2')}", [null, 'invalid capture index']],
    ["return {pcall(string.gsub,'a','(a)','%2')}", [null, 'invalid capture index']],
    ["return {string.gsub('abc','%w','%%%0')}", ['%a%b%c', 3]],
    ["return {string.gsub('abc','%w','%x')}", ['xxx', 3]],
    ["return {string.gsub('abc','b','%')}", ['a\u0000c', 1]],
    ["return {string.gsub('hello world','o','0',1)}", ['hell0 world', 1]],
    ["return {string.gsub('hello world','o','0',0)}", ['hello world', 0]],
    ["return {string.gsub('abc','','-')}", ['-a-b-c-', 4]],
    ["return {string.gsub('abc','b*','x')}", ['xaxxcx', 4]],
    ["return {string.gsub('hello','(l)(l)','%2%1')}", ['hello', 1]],
    ["return {string.gsub('abc','^a','x')}", ['xbc', 1]],
    ["return {string.gsub('aaa','^a','x')}", ['xaa', 1]],
    ["return {string.gsub('$name is $age','%$(%w+)',{name='Bob',age=42})}", ['Bob is 42', 2]],
    [
      "return {string.gsub('abc','%w',function(c) if c == 'b' then return nil end return c:upper() end)}",
      ['AbC', 3],
    ],
    ["return {string.gsub('abc','%w',function(c) return false end)}", ['abc', 3]],
    ["return {string.gsub('abc','(%w)(%w)',function(a,b) return b..a end)}", ['bac', 1]],
    ["return {string.gsub('abc','()',function(p) return p end)}", ['1a2b3c4', 4]],
    ["return {string.gsub('abc','b',5)}", ['a5c', 1]],
    [
      "return {string.gsub('x','x',setmetatable({},{__index=function(t,k) return k..k end}))}",
      ['xx', 1],
    ],
    ["return {string.gsub('  trim  ','^%s*(.-)%s*$','%1')}", ['trim', 1]],
    ["return {string.byte('abc',1,-1)}", [97, 98, 99]],
    [
      "return {string.byte('abc'),string.byte('abc',2),string.byte('abc',-1),string.byte('abc',10),string.byte('')}",
      [97, 98, 99],
    ],
    ["return {string.byte('abc',0,2)}", [97, 98]],
    ['return {pcall(string.char,256)}', [null, "bad argument #1 to '?' (invalid value)"]],
    ['return {pcall(string.char,-1)}', [null, "bad argument #1 to '?' (invalid value)"]],
    [
      "return {pcall(string.char,'x')}",
      [null, "bad argument #1 to '?' (number expected, got string)"],
    ],
    ['return {string.char(),string.char(72,105),string.char(0,255)}', ['', 'Hi', '\u0000\u00ff']],
    [
      "return {pcall(function() return ('x'):bad() end)}",
      [null, "user_script:1: attempt to call method 'bad' (a nil value)"],
    ],
    [
      "return {pcall(string.byte,('x'):rep(9000),1,9000)}",
      [null, 'stack overflow (string slice too long)'],
    ],
    [
      "return {string.rep('ab',3),string.rep('ab',0),string.rep('ab',-1),string.rep('',5),string.rep('x',2.9)}",
      ['ababab', '', '', '', 'xx'],
    ],
    [
      "return {string.sub('hello',2,3),string.sub('hello',-3),string.sub('hello',2),string.sub('hello',0),string.sub('hello',10),string.sub('hello',3,2),string.sub('hello',-100,100),string.sub('hello',2,-2)}",
      ['el', 'llo', 'ello', 'hello', '', '', 'hello', 'ell'],
    ],
    [
      'return {pcall(string.sub)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      "return {pcall(string.sub,'x')}",
      [null, "bad argument #2 to '?' (number expected, got no value)"],
    ],
    ["return {string.sub('hello',1.9,2.9)}", ['he']],
    [
      "return {string.upper('aBc\u00c3\u00a9\\228'),string.lower('AbC\u00c3\u0089'),string.len('a\\0b'),string.reverse('abc'),string.reverse('')}",
      ['ABC\u00c3\u00a9\u00e4', 'abc\u00c3\u0089', 3, 'cba', ''],
    ],
    ["return {('x'):rep(3),('abc'):len(),('abc'):upper(),(\"x\"):byte()}", ['xxx', 3, 'ABC', 120]],
    ["return {#('x'):rep(1000)}", [1000]],
    [
      "return {string.format('%s','a\\0b'), string.format('%c%c',0,65), string.format('%5c|',66)}",
      ['a', 'A', '    B|'],
    ],
    [
      "return string.format('%.3f %.0f %g %g %g %e','1.0005',2.5,1e20,1e-10,123456789,0)",
      '1.000 2 1e+20 1e-10 1.23457e+08 0.000000e+00',
    ],
    [
      "return {string.format('%5s|%-5s|%.2s|%5.1f|%x|%X|%o|%c|%e|%g|%i|%u','ab','cd','xyz',3.14159,255,255,8,65,12345.678,0.0001,42,42)}",
      ['   ab|cd   |xy|  3.1|ff|FF|10|A|1.234568e+04|0.0001|42|42'],
    ],
    [
      "return {string.format('%+d % d %05d %-5d| %#x %#o %.3d',5,5,5,5,255,8,5)}",
      ['+5  5 00005 5    | 0xff 010 005'],
    ],
    [
      "return {string.format('%d',3.7), string.format('%d','10'), string.format('%x',-1),string.format('%%')}",
      ['3', '10', 'ffffffffffffffff', '%'],
    ],
    [
      "return {string.format('%d',-3.7),string.format('%d',1e15),string.format('%d',2^53),string.format('%d',2^62),string.format('%d',1e300),string.format('%u',-1),string.format('%u',2^63)}",
      [
        '-3',
        '1000000000000000',
        '9007199254740992',
        '4611686018427387904',
        '-9223372036854775808',
        '18446744073709551615',
        '9223372036854775808',
      ],
    ],
    ["return {string.format('%q','a\\n\\0b\"\\\\\\r\\1')}", ['"a\\\n\\000b\\"\\\\\\r\u0001"']],
    [
      "return {string.format('%s %s',1,2.5),string.format('%s',1e15),string.format('%10s|',true and 'x')}",
      ['1 2.5', '1e+15', '         x|'],
    ],
    [
      "return {pcall(string.format,'%s',nil)}",
      [null, "bad argument #2 to '?' (string expected, got nil)"],
    ],
    [
      "return {pcall(string.format,'%s',{})}",
      [null, "bad argument #2 to '?' (string expected, got table)"],
    ],
    ["return {pcall(string.format,'%s')}", [null, "bad argument #2 to '?' (no value)"]],
    [
      "return {pcall(string.format,'%d','x')}",
      [null, "bad argument #2 to '?' (number expected, got string)"],
    ],
    ["return {pcall(string.format,'%d')}", [null, "bad argument #2 to '?' (no value)"]],
    ["return {pcall(string.format,'%y',1)}", [null, "invalid option '%y' to 'format'"]],
    ["return {pcall(string.format,'%a',1)}", [null, "invalid option '%a' to 'format'"]],
    ["return {pcall(string.format,'%',1)}", [null, "invalid option '%' to 'format'"]],
    ["return {pcall(string.format,'%')}", [null, "bad argument #2 to '?' (no value)"]],
    [
      "return {pcall(string.format,'%10.123f',1)}",
      [null, 'invalid format (width or precision too long)'],
    ],
    [
      "return {pcall(string.format,'%123d',1)}",
      [null, 'invalid format (width or precision too long)'],
    ],
    ["return {pcall(string.format,'%0000005d',1)}", [null, 'invalid format (repeated flags)']],
    [
      'return {pcall(string.format)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      "return {string.format('%.14g',0.1),string.format('%.17g',0.1),string.format('%.3g',1234567),string.format('%g',100000),string.format('%g',1000000),string.format('%#g',1),string.format('%.0e',12345),string.format('%G',1e-10),string.format('%E',1.5)}",
      [
        '0.1',
        '0.10000000000000001',
        '1.23e+06',
        '100000',
        '1e+06',
        '1.00000',
        '1e+04',
        '1E-10',
        '1.500000E+00',
      ],
    ],
    [
      "return {string.format('%f',1/3),string.format('%.10f',1/3),string.format('%f',1e15),string.format('%f',1e22),string.format('%.2f',2.675),string.format('%.1f',0.25),string.format('%.1f',0.35),string.format('%.0f',0.5),string.format('%.0f',1.5),string.format('%.0f',-0.4)}",
      [
        '0.333333',
        '0.3333333333',
        '1000000000000000.000000',
        '10000000000000000000000.000000',
        '2.67',
        '0.2',
        '0.3',
        '0',
        '2',
        '-0',
      ],
    ],
    [
      "return {string.format('%f',1/0),string.format('%f',-1/0),string.format('%d',0),string.format('%5.3d|',7),string.format('%-8.3f|',3.14159),string.format('%+.2e',12345.678),string.format('%08.2f',-3.14159),string.format('% 5d|',42),string.format('%#X',255)}",
      ['inf', '-inf', '0', '  007|', '3.142   |', '+1.23e+04', '-0003.14', '   42|', '0XFF'],
    ],
    [
      "return {string.format('%.20s|','abc'),string.format('%.0s|','abc'),string.format('%20s|','abc'),string.format('%-20s|','abc')}",
      ['abc|', '|', '                 abc|', 'abc                 |'],
    ],
    [
      "return {string.format('%s',('x'):rep(150)),#string.format('%99d',1),string.format('%5s',('x'):rep(150)) == ('x'):rep(150)}",
      [
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
        99,
        1,
      ],
    ],
    [
      "return {string.format('%.3f',2^-1074),string.format('%.50f',0.1),string.format('%.99f',1/3),string.format('%g',2^-1074),string.format('%.15g',2^63),string.format('%.20g',2^63)}",
      [
        '0.000',
        '0.10000000000000000555111512312578270211815834045410',
        '0.333333333333333314829616256247390992939472198486328125000000000000000000000000000000000000000000000',
        '4.94066e-324',
        '9.22337203685478e+18',
        '9223372036854775808',
      ],
    ],
    [
      "return {string.format('%c',65.9),string.format('%x',255.9),string.format('%o',-1),string.format('%X',3735928559)}",
      ['A', 'ff', '1777777777777777777777', 'DEADBEEF'],
    ],
    [
      'return {bit.band(0xff,0x0f),bit.bnot(0),bit.tohex(255),bit.tohex(255,-4),bit.lshift(1,31),bit.rshift(-1,28),bit.arshift(-16,2),bit.rol(0x12345678,4),bit.ror(1,1),bit.bswap(0x12345678),bit.tobit(2^32+5),bit.bxor(1,2,4)}',
      [15, -1, '000000ff', '00FF', -2147483648, 15, -4, 591751041, -2147483648, 2018915346, 5, 7],
    ],
    [
      'return {bit.bor(1,2,4,8),bit.band(7,6,5),bit.lshift(1,32),bit.lshift(1,33),bit.rshift(1,-1),bit.rol(1,0),bit.ror(1,32),bit.tohex(-1,20),bit.tohex(1,0),bit.tohex(0xdeadbeef),bit.tohex(10,2)}',
      [15, 4, 1, 2, 0, 1, 1, 'ffffffff', '', 'deadbeef', '0a'],
    ],
    [
      "return {bit.tobit(0.5),bit.tobit(1.5),bit.tobit(2.5),bit.tobit(-0.5),bit.tobit(1e15),bit.tobit(-1.5),bit.tobit(2^31),bit.tobit(-2^31-1),bit.tobit('12')}",
      [0, 2, 2, 0, -1530494976, -2, -2147483648, 2147483647, 12],
    ],
    ['return {pcall(bit.band)}', [null, "bad argument #1 to '?' (number expected, got no value)"]],
    [
      "return {pcall(bit.band,'x')}",
      [null, "bad argument #1 to '?' (number expected, got string)"],
    ],
    [
      'return {pcall(bit.lshift,1)}',
      [null, "bad argument #2 to '?' (number expected, got no value)"],
    ],
    ['return {pcall(bit.tohex)}', [null, "bad argument #1 to '?' (number expected, got no value)"]],
    [
      'return {math.abs(-5),math.ceil(1.2),math.ceil(-1.2),math.floor(-1.5),math.floor(1.5),math.max(1,5,3),math.min(4,2,8),math.sqrt(16),math.pow(2,8),math.fmod(7,3),math.fmod(-7,3),math.mod(7,4)}',
      [5, 2, -1, -2, 1, 5, 2, 4, 256, 1, -1, 3],
    ],
    [
      'return {tostring(math.sin(1)),tostring(math.cos(1)),tostring(math.tan(1)),tostring(math.asin(0.5)),tostring(math.acos(0.5)),tostring(math.atan(1)),tostring(math.atan2(1,2)),tostring(math.exp(1)),tostring(math.log(10)),tostring(math.log10(1000)),tostring(math.sinh(1)),tostring(math.cosh(1)),tostring(math.tanh(1)),tostring(math.rad(180)),tostring(math.deg(math.pi))}',
      [
        '0.8414709848079',
        '0.54030230586814',
        '1.5574077246549',
        '0.5235987755983',
        '1.0471975511966',
        '0.78539816339745',
        '0.46364760900081',
        '2.718281828459',
        '2.302585092994',
        '3',
        '1.1752011936438',
        '1.5430806348152',
        '0.76159415595576',
        '3.1415926535898',
        '180',
      ],
    ],
    [
      'return {tostring(math.huge),tostring(-math.huge),tostring(math.pi)}',
      ['inf', '-inf', '3.1415926535898'],
    ],
    [
      'return {math.frexp(8),math.frexp(0.1),tostring(math.ldexp(0.5,4)),tostring(math.ldexp(1,-1074)),tostring(math.ldexp(1,1024)),math.frexp(0)}',
      [0, 0, '8', '4.9406564584125e-324', 'inf', 0, 0],
    ],
    [
      'local r={} for _,v in ipairs({8,0.1,-3,1e300,5e-324,1e-310,0.75}) do local m,e=math.frexp(v) r[#r+1]=tostring(m) r[#r+1]=e end return r',
      [
        '0.5',
        4,
        '0.8',
        -3,
        '-0.75',
        2,
        '0.74661089480258',
        997,
        '0.5',
        -1073,
        '0.57526180315594',
        -1029,
        '0.75',
        0,
      ],
    ],
    [
      'local r={} for _,v in ipairs({1.5,-1.5,3,-0.25,1e20}) do local i,f=math.modf(v) r[#r+1]=tostring(i) r[#r+1]=tostring(f) end return r',
      ['1', '0.5', '-1', '-0.5', '3', '0', '-0', '-0.25', '1e+20', '0'],
    ],
    [
      'return {tostring(select(1,math.modf(1/0))),tostring(select(2,math.modf(1/0))),tostring(select(2,math.modf(-1/0)))}',
      ['inf', '0', '-0'],
    ],
    ['return {pcall(math.max)}', [null, "bad argument #1 to '?' (number expected, got no value)"]],
    ['return {pcall(math.abs)}', [null, "bad argument #1 to '?' (number expected, got no value)"]],
    [
      "return {pcall(math.abs,'x')}",
      [null, "bad argument #1 to '?' (number expected, got string)"],
    ],
    ["return {math.abs('-5'),math.max('3',2)}", [5, 3]],
    [
      'return {pcall(math.floor,{})}',
      [null, "bad argument #1 to '?' (number expected, got table)"],
    ],
    ['return {pcall(math.random,0)}', [null, "bad argument #1 to '?' (interval is empty)"]],
    ['return {pcall(math.random,2,1)}', [null, "bad argument #2 to '?' (interval is empty)"]],
    ['return {pcall(math.random,1,2,3)}', [null, 'wrong number of arguments']],
    [
      'return {pcall(math.randomseed)}',
      [null, "bad argument #1 to '?' (number expected, got no value)"],
    ],
    [
      'math.randomseed(42) local r={} for i=1,10 do r[i]=math.random(1000) end return r',
      [745, 343, 112, 423, 82, 857, 499, 479, 691, 835],
    ],
    [
      'math.randomseed(-1) local r={} for i=1,10 do r[i]=tostring(math.random()) end return r',
      [
        '0.30002572727391',
        '0.045311516171932',
        '0.35792609320857',
        '0.4049444237747',
        '0.5891176101701',
        '0.56983160533469',
        '0.19679878987223',
        '0.74709846021007',
        '0.9973110207344',
        '0.12391655851338',
      ],
    ],
    [
      'math.randomseed(7) local r={} for i=1,10 do r[i]=math.random(-5,5) end return r',
      [-3, 2, -3, -4, 0, -2, -4, 2, -5, -4],
    ],
    ['math.randomseed(2^31) return {math.random(1000),math.random(1000)}', [671, 250]],
    [
      'return tostring(math.log(0)) .. tostring(math.sqrt(-1)) .. tostring(math.log(-1))',
      '-inf-nan-nan',
    ],
  ],
  packing: [
    ['return cjson.encode({1,2,3})', '[1,2,3]'],
    ['return cjson.encode({})', '{}'],
    ['return cjson.encode({{}})', '[{}]'],
    ['return cjson.encode({a={}})', '{"a":{}}'],
    [
      "return cjson.encode({a=1,b='x',c={true,false,cjson.null},d=1.5})",
      '{"a":1,"d":1.5,"c":[true,false,null],"b":"x"}',
    ],
    [
      'return cjson.encode({[1]=1,[2]=2,[20]=3})',
      {
        error:
          'ERR user_script:1: Cannot serialise table: excessively sparse array script: 8fa84baceda79f6bc89b0c665d446d3a38f9c55a, on @user_script:1.',
      },
    ],
    ['return cjson.encode({[1]=1,[2]=2,[5]=3})', '[1,2,null,null,3]'],
    ['return cjson.encode({[1]=1,[10]=3})', '[1,null,null,null,null,null,null,null,null,3]'],
    ['return cjson.encode({[0]=1})', '{"0":1}'],
    ['return cjson.encode({[-1]=1})', '{"-1":1}'],
    ['return cjson.encode({1,2,x=3})', '{"1":1,"2":2,"x":3}'],
    [
      'return {pcall(cjson.encode,{[1]=1,[2]=2,[20]=3,[100]=1})}',
      [null, 'Cannot serialise table: excessively sparse array'],
    ],
    ['return {pcall(cjson.encode,{[1.5]=1})}', [1, '{"1.5":1}']],
    [
      'return {pcall(cjson.encode,{[true]=1})}',
      [null, 'Cannot serialise boolean: table key must be a number or string'],
    ],
    [
      'return {pcall(cjson.encode,{[{}]=1})}',
      [null, 'Cannot serialise table: table key must be a number or string'],
    ],
    ['return {pcall(cjson.encode,0/0)}', [null, 'Cannot serialise number: must not be NaN or Inf']],
    ['return {pcall(cjson.encode,1/0)}', [null, 'Cannot serialise number: must not be NaN or Inf']],
    [
      'return {pcall(cjson.encode,function() end)}',
      [null, 'Cannot serialise function: type not supported'],
    ],
    [
      'return {pcall(cjson.encode,{f=function() end})}',
      [null, 'Cannot serialise function: type not supported'],
    ],
    [
      'return {pcall(cjson.encode,coroutine.create(function() end))}',
      [null, 'Cannot serialise thread: type not supported'],
    ],
    [
      "return cjson.encode('a\"\\\\/\\b\\f\\n\\r\\t\\1\\127\\200')",
      '"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\u00c8"',
    ],
    ['return {pcall(cjson.encode)}', [null, "bad argument #1 to '?' (expected 1 argument)"]],
    ['return {pcall(cjson.encode,1,2)}', [null, "bad argument #1 to '?' (expected 1 argument)"]],
    ['return cjson.encode(nil)', 'null'],
    ['return cjson.encode(true)', 'true'],
    ['return cjson.encode(cjson.null)', 'null'],
    [
      'return {cjson.encode(1),cjson.encode(1e15),cjson.encode(0.1),cjson.encode(123456789012),cjson.encode(1e100),cjson.encode(-5.5),cjson.encode(1e-7),cjson.encode(12345678901234567890)}',
      ['1', '1e+15', '0.1', '123456789012', '1e+100', '-5.5', '1e-07', '1.2345678901235e+19'],
    ],
    [
      "local t = {} for i=1,12 do t['key'..i]=i end return cjson.encode(t)",
      '{"key6":6,"key9":9,"key2":2,"key1":1,"key10":10,"key12":12,"key11":11,"key5":5,"key7":7,"key3":3,"key4":4,"key8":8}',
    ],
    [
      'local t = {} for i=1,5 do t[i]=i end t.x=1 return cjson.encode(t)',
      '{"1":1,"2":2,"3":3,"4":4,"5":5,"x":1}',
    ],
    ["return cjson.decode('[1,2,3]')", [1, 2, 3]],
    ['return cjson.decode(\'{"a":1}\').a', 1],
    ["return tostring(cjson.decode('null'))", 'userdata: (nil)'],
    ["return tostring(cjson.decode('[null]')[1])", 'userdata: (nil)'],
    [
      "return {pcall(cjson.decode,'{')}",
      [null, 'Expected object key string but found T_END at character 2'],
    ],
    ["return {pcall(cjson.decode,'')}", [null, 'Expected value but found T_END at character 1']],
    ["return {pcall(cjson.decode,'   ')}", [null, 'Expected value but found T_END at character 4']],
    [
      "return {pcall(cjson.decode,'[1,]')}",
      [null, 'Expected value but found T_ARR_END at character 4'],
    ],
    [
      "return {pcall(cjson.decode,'[,1]')}",
      [null, 'Expected value but found T_COMMA at character 2'],
    ],
    [
      'return {pcall(cjson.decode,\'{"a":1,}\')}',
      [null, 'Expected object key string but found T_OBJ_END at character 8'],
    ],
    [
      "return {pcall(cjson.decode,'{,}')}",
      [null, 'Expected object key string but found T_COMMA at character 2'],
    ],
    [
      "return {pcall(cjson.decode,']')}",
      [null, 'Expected value but found T_ARR_END at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'nul')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'\"abc')}",
      [null, 'Expected value but found unexpected end of string at character 5'],
    ],
    [
      'return {pcall(cjson.decode,\'{"a" 1}\')}',
      [null, 'Expected colon but found T_NUMBER at character 6'],
    ],
    [
      'return {pcall(cjson.decode,\'{"a":}\')}',
      [null, 'Expected value but found T_OBJ_END at character 6'],
    ],
    [
      "return {pcall(cjson.decode,'{1:1}')}",
      [null, 'Expected object key string but found T_NUMBER at character 2'],
    ],
    [
      "return {pcall(cjson.decode,'{a:1}')}",
      [null, 'Expected object key string but found invalid token at character 2'],
    ],
    [
      "return {pcall(cjson.decode,'[1 2]')}",
      [null, 'Expected comma or array end but found T_NUMBER at character 4'],
    ],
    [
      'return {pcall(cjson.decode,\'{"a":1 "b":2}\')}',
      [null, 'Expected comma or object end but found T_STRING at character 8'],
    ],
    [
      "return {pcall(cjson.decode,'1 2')}",
      [null, 'Expected the end but found T_NUMBER at character 3'],
    ],
    [
      'return {pcall(cjson.decode,\'"\\\\x"\')}',
      [null, 'Expected value but found invalid escape code at character 2'],
    ],
    [
      "return {pcall(cjson.decode,'\"\\\\')}",
      [null, 'Expected value but found invalid escape code at character 2'],
    ],
    [
      'return {pcall(cjson.decode,\'"\\\\u12"\')}',
      [null, 'Expected value but found invalid unicode escape code at character 2'],
    ],
    [
      'return {pcall(cjson.decode,\'"\\\\ud800"\')}',
      [null, 'Expected value but found invalid unicode escape code at character 2'],
    ],
    [
      'return {pcall(cjson.decode,\'"\\\\udc00\\\\ud800"\')}',
      [null, 'Expected value but found invalid unicode escape code at character 2'],
    ],
    [
      'return {pcall(cjson.decode,\'"\\\\ud800\\\\u0041"\')}',
      [null, 'Expected value but found invalid unicode escape code at character 2'],
    ],
    [
      'return cjson.decode(\'"\\\\u00e9\\\\ud83d\\\\ude00\\\\u20ac\\\\u0000\\\\n\\\\/\\\\b\\\\f\\\\r\\\\t\\\\"\\\\\\\\"\')',
      '\u00c3\u00a9\u00f0\u009f\u0098\u0080\u00e2\u0082\u00ac\u0000\n/\b\f\r\t"\\',
    ],
    ["return {pcall(cjson.decode,'01')}", [1, 1]],
    ["return {pcall(cjson.decode,'0x10')}", [1, 16]],
    ["return {pcall(cjson.decode,'+1')}", [1, 1]],
    [
      "return {pcall(cjson.decode,'.5')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'-')}",
      [null, 'Expected value but found invalid number at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'-x')}",
      [null, 'Expected value but found invalid number at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'1e')}",
      [null, 'Expected the end but found invalid token at character 2'],
    ],
    [
      "return {tostring(cjson.decode('1e5')),tostring(cjson.decode('-1.5')),tostring(cjson.decode('  true  ')),tostring(cjson.decode('1E+2')),tostring(cjson.decode('-0.0')),tostring(cjson.decode('12345678901234567890'))}",
      ['100000', '-1.5', 'true', '100', '-0', '1.2345678901235e+19'],
    ],
    ["return {pcall(cjson.decode,'inf')}", [1, -9223372036854776000]],
    ["return {pcall(cjson.decode,'Infinity')}", [1, -9223372036854776000]],
    ["return {pcall(cjson.decode,'-inf')}", [1, -9223372036854776000]],
    ["return {pcall(cjson.decode,'1.')}", [1, 1]],
    [
      "return {pcall(cjson.decode,'tru')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'True')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'truex')}",
      [null, 'Expected the end but found invalid token at character 5'],
    ],
    [
      "return {pcall(cjson.decode,'[1')}",
      [null, 'Expected comma or array end but found T_END at character 3'],
    ],
    ["return {pcall(cjson.decode,'[[[')}", [null, 'Expected value but found T_END at character 4']],
    [
      'return {pcall(cjson.decode,"\'a\'")}',
      [null, 'Expected value but found invalid token at character 1'],
    ],
    [
      "return {pcall(cjson.decode,'#')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    ['return {pcall(cjson.decode,\'"a\\nb"\')}', [1, 'a\nb']],
    [
      "return {pcall(cjson.decode,string.rep('[',1001)..string.rep(']',1001))}",
      [null, 'Found too many nested data structures (1001) at character 1001'],
    ],
    ["return #cjson.encode(cjson.decode(string.rep('[',1000)..'1'..string.rep(']',1000)))", 2001],
    [
      'local t={} local x=t for i=1,1001 do x[1]={} x=x[1] end return {pcall(cjson.encode,t)}',
      [null, 'Cannot serialise, excessive nesting (1001)'],
    ],
    [
      'local t={} t.t=t return {pcall(cjson.encode,t)}',
      [null, 'Cannot serialise, excessive nesting (1001)'],
    ],
    [
      'return {cjson.encode_max_depth(),cjson.decode_max_depth(),cjson.encode_number_precision(),cjson.encode_keep_buffer(),cjson.encode_invalid_numbers(),cjson.decode_invalid_numbers(),cjson.encode_sparse_array()}',
      [1000, 1000, 14, 1, null, 1, null, 2, 10],
    ],
    [
      'return {pcall(cjson.encode_max_depth,0)}',
      [null, "bad argument #1 to '?' (expected integer between 1 and 2147483647)"],
    ],
    [
      "return {pcall(cjson.encode_max_depth,'x')}",
      [null, "bad argument #1 to '?' (number expected, got string)"],
    ],
    [
      'return {pcall(cjson.encode_max_depth,1,2)}',
      [null, "bad argument #2 to '?' (found too many arguments)"],
    ],
    [
      'return {pcall(cjson.encode_number_precision,15)}',
      [null, "bad argument #1 to '?' (expected integer between 1 and 14)"],
    ],
    [
      "return {pcall(cjson.encode_keep_buffer,'maybe')}",
      [null, "bad argument #1 to '?' (invalid option 'maybe')"],
    ],
    [
      "local j = cjson.new() j.encode_invalid_numbers('null') return {j.encode({1/0}),j.encode({0/0})}",
      ['[null]', '[null]'],
    ],
    [
      'local j = cjson.new() j.encode_invalid_numbers(true) return {j.encode({1/0,-1/0}),j.encode({0/0})}',
      ['[inf,-inf]', '[nan]'],
    ],
    [
      'local j = cjson.new() j.encode_sparse_array(true,1,2) return j.encode({[1]=1,[2]=2,[20]=3,[100]=1})',
      '{"1":1,"2":2,"20":3,"100":1}',
    ],
    [
      'local j = cjson.new() j.encode_sparse_array(false,0) return j.encode({[1]=1,[20]=1})',
      '[1,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,1]',
    ],
    [
      'local j = cjson.new() j.encode_number_precision(3) return j.encode({1.23456,100000})',
      '[1.23,1e+05]',
    ],
    [
      'local j = cjson.new() j.encode_max_depth(2) return {pcall(j.encode,{{{}}})}',
      [null, 'Cannot serialise, excessive nesting (3)'],
    ],
    [
      "local j = cjson.new() j.decode_max_depth(2) return {pcall(j.decode,'[[[]]]')}",
      [null, 'Found too many nested data structures (3) at character 3'],
    ],
    [
      "local j = cjson.new() j.decode_invalid_numbers(false) return {pcall(j.decode,'0x10')}",
      [null, 'Expected value but found invalid number at character 1'],
    ],
    [
      "local j = cjson.new() j.decode_invalid_numbers(false) return {pcall(j.decode,'inf')}",
      [null, 'Expected value but found invalid token at character 1'],
    ],
    ['local j = cjson.new() j.x = 1 return j.x', 1],
    [
      "return {pcall(cjson.encode_sparse_array,'x')}",
      [null, "bad argument #1 to '?' (invalid option 'x')"],
    ],
    [
      'local j = cjson.new() return {pcall(j.encode_sparse_array,true,-1)}',
      [null, "bad argument #1 to '?' (expected integer between 0 and 2147483647)"],
    ],
    [
      'local r={} for k,v in pairs(cjson.new()) do r[#r+1]=k end table.sort(r) return r',
      [
        '_NAME',
        '_VERSION',
        'decode',
        'decode_invalid_numbers',
        'decode_max_depth',
        'encode',
        'encode_invalid_numbers',
        'encode_keep_buffer',
        'encode_max_depth',
        'encode_number_precision',
        'encode_sparse_array',
        'new',
        'null',
      ],
    ],
    [
      'return {pcall(cjson.decode,\'{"a":1}x\')}',
      [null, 'Expected the end but found invalid token at character 8'],
    ],
    [
      'return {pcall(cjson.decode,nil)}',
      [null, "bad argument #1 to '?' (string expected, got nil)"],
    ],
    ['return {pcall(cjson.decode,1)}', [1, 1]],
    ["return {pcall(cjson.decode,'\\0')}", [null, 'Expected value but found T_END at character 1']],
    [
      "return {pcall(cjson.decode,'a\\0\\0\\0')}",
      [null, 'JSON parser does not support UTF-16 or UTF-32'],
    ],
    [
      'local r={} for k,v in pairs(cjson.decode(\'{"z":1,"y":2,"x":[1,2],"w":{"a":null}}\')) do r[#r+1]=k end return r',
      ['y', 'x', 'w', 'z'],
    ],
    [
      'return cjson.encode(cjson.decode(\'{"name":"x","tags":["a","b"],"n":{"deep":{"deeper":[1,{"k":"v"}]}},"f":1.25,"t":true,"nul":null}\'))',
      '{"nul":null,"name":"x","tags":["a","b"],"t":true,"f":1.25,"n":{"deep":{"deeper":[1,{"k":"v"}]}}}',
    ],
    [
      'return cmsgpack.pack(1,127,128,255,256,65535,65536,4294967295,4294967296,-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649)',
      '\u0001\u007f\u00cc\u0080\u00cc\u00ff\u00cd\u0001\u0000\u00cd\u00ff\u00ff\u00ce\u0000\u0001\u0000\u0000\u00ce\u00ff\u00ff\u00ff\u00ff\u00cf\u0000\u0000\u0000\u0001\u0000\u0000\u0000\u0000\u00ff\u00e0\u00d0\u00df\u00d0\u0080\u00d1\u00ff\u007f\u00d1\u0080\u0000\u00d2\u00ff\u00ff\u007f\u00ff\u00d2\u0080\u0000\u0000\u0000\u00d3\u00ff\u00ff\u00ff\u00ff\u007f\u00ff\u00ff\u00ff',
    ],
    [
      'return cmsgpack.pack(1.5,0.1,1e300,-0.5,2^53,2^63,-2^63,1/0,0/0)',
      '\u00ca?\u00c0\u0000\u0000\u00cb?\u00b9\u0099\u0099\u0099\u0099\u0099\u009a\u00cb~7\u00e4<\u0088\u0000u\u009c\u00ca\u00bf\u0000\u0000\u0000\u00cf\u0000 \u0000\u0000\u0000\u0000\u0000\u0000\u00ca_\u0000\u0000\u0000\u00d3\u0080\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u00ca\u007f\u0080\u0000\u0000\u00cb\u00ff\u00f8\u0000\u0000\u0000\u0000\u0000\u0000',
    ],
    [
      "return cmsgpack.pack('',('x'):rep(31),('x'):rep(32),('x'):rep(255),('x'):rep(256))",
      '\u00a0\u00bfxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u00d9 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u00d9\u00ffxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u00da\u0001\u0000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    ],
    ["return #cmsgpack.pack(('x'):rep(65536))", 65541],
    ['return cmsgpack.pack(nil,true,false)', '\u00c0\u00c3\u00c2'],
    [
      'return cmsgpack.pack({},{1,2,3},{a=1},{1,2,nil,4},{[1]=1,[3]=3},{[0]=1},{[1.5]=2})',
      '\u0090\u0093\u0001\u0002\u0003\u0081\u00a1a\u0001\u0083\u0001\u0001\u0002\u0002\u0004\u0004\u0082\u0001\u0001\u0003\u0003\u0081\u0000\u0001\u0081\u00ca?\u00c0\u0000\u0000\u0002',
    ],
    [
      'local t={} for i=1,20 do t[i]=i end return cmsgpack.pack(t)',
      '\u00dc\u0000\u0014\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014',
    ],
    [
      "local t={} for i=1,20 do t['k'..i]=i end return cmsgpack.pack(t)",
      '\u00de\u0000\u0014\u00a3k16\u0010\u00a3k19\u0013\u00a3k11\u000b\u00a3k17\u0011\u00a3k15\u000f\u00a3k20\u0014\u00a3k10\n\u00a2k8\b\u00a2k1\u0001\u00a3k12\f\u00a2k3\u0003\u00a2k2\u0002\u00a2k9\t\u00a3k13\r\u00a3k18\u0012\u00a3k14\u000e\u00a2k6\u0006\u00a2k7\u0007\u00a2k4\u0004\u00a2k5\u0005',
    ],
    [
      'local t={} local x=t for i=1,20 do x[1]={} x=x[1] end return cmsgpack.pack(t)',
      '\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u0091\u00c0',
    ],
    [
      'return cmsgpack.pack(function() end,cjson.null,coroutine.create(function() end))',
      '\u00c0\u00c0\u00c0',
    ],
    [
      'return {pcall(cmsgpack.pack)}',
      [null, "bad argument #0 to '?' (MessagePack pack needs input.)"],
    ],
    [
      'return {pcall(function() cmsgpack.pack() end)}',
      [null, "user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)"],
    ],
    ["return {cmsgpack.unpack(cmsgpack.pack(1,'x',{1,2},true,nil,-5))}", [1, 'x', [1, 2], 1]],
    ["return {pcall(cmsgpack.unpack,'\\193')}", [null, 'Bad data format in input.']],
    ["return {pcall(cmsgpack.unpack,'\\217')}", [null, 'Missing bytes in input.']],
    ["return {pcall(cmsgpack.unpack,'\\217\\5ab')}", [null, 'Missing bytes in input.']],
    [
      "return {pcall(cmsgpack.unpack,'\\221\\255\\255\\255\\255')}",
      [null, 'Missing bytes in input.'],
    ],
    ["return {pcall(cmsgpack.unpack,'\\146\\1')}", [null, 'Missing bytes in input.']],
    ["return {pcall(cmsgpack.unpack,'\\129\\192\\1')}", [null, 'table index is nil']],
    ["return {pcall(cmsgpack.unpack,'')}", [1]],
    [
      'return {pcall(cmsgpack.unpack)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      'return {pcall(cmsgpack.unpack,{})}',
      [null, "bad argument #1 to '?' (string expected, got table)"],
    ],
    ["return {pcall(cmsgpack.unpack_one,'\\1\\2\\3')}", [1, 1, 1]],
    ["return {pcall(cmsgpack.unpack_one,'\\1\\2\\3',1)}", [1, 2, 2]],
    ["return {pcall(cmsgpack.unpack_one,'\\1\\2\\3',2)}", [1, -1, 3]],
    ["return {pcall(cmsgpack.unpack_one,'\\1\\2\\3',3)}", [1, -1]],
    [
      "return {pcall(cmsgpack.unpack_one,'\\1\\2\\3',4)}",
      [null, 'Start offset 4 greater than input length 3.'],
    ],
    [
      "return {pcall(cmsgpack.unpack_one,'\\1\\2\\3',-1)}",
      [null, 'Invalid request to unpack with offset of -1 and limit of 3.'],
    ],
    ["return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3',2)}", [1, 2, 1, 2]],
    ["return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3',2,1)}", [1, -1, 2, 3]],
    ["return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3',0)}", [1, 1, 2, 3]],
    ["return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3',0,1)}", [1, 1]],
    [
      "return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3',-1)}",
      [null, 'Invalid request to unpack with offset of 0 and limit of 3.'],
    ],
    [
      "return {pcall(cmsgpack.unpack_limit,'\\1\\2\\3')}",
      [null, "bad argument #2 to '?' (number expected, got no value)"],
    ],
    [
      "return {tostring(cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255')),tostring(cmsgpack.unpack('\\207\\127\\255\\255\\255\\255\\255\\255\\255')),tostring(cmsgpack.unpack('\\211\\255\\255\\255\\255\\255\\255\\255\\255'))}",
      ['-1', '9.2233720368548e+18', '-1'],
    ],
    [
      "return {tostring(cmsgpack.unpack('\\209\\255\\1')),tostring(cmsgpack.unpack('\\210\\255\\255\\255\\1')),tostring(cmsgpack.unpack('\\208\\255')),tostring(cmsgpack.unpack('\\205\\1\\2')),tostring(cmsgpack.unpack('\\206\\255\\0\\0\\1'))}",
      ['-255', '-255', '-1', '258', '4278190081'],
    ],
    [
      "return {tostring(cmsgpack.unpack('\\202\\63\\192\\0\\0')),tostring(cmsgpack.unpack('\\203\\63\\241\\153\\153\\153\\153\\153\\154'))}",
      ['1.5', '1.1'],
    ],
    ["return {pcall(cmsgpack.unpack,('\\145'):rep(100))}", [null, 'Missing bytes in input.']],
    ["return {struct.pack('>I2hc0',7,3,'abc')}", ['\u0000\u0007\u0000\u0003abc']],
    ["return {struct.unpack('>I2hc0',struct.pack('>I2hc0',7,3,'abc'))}", [7, 'abc', 8]],
    [
      "return {struct.pack('bBhHlLT',-1,255,-1,65535,-1,5,6)}",
      [
        '\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u0005\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0006\u0000\u0000\u0000\u0000\u0000\u0000\u0000',
      ],
    ],
    [
      "return {struct.unpack('bBhHlLT',struct.pack('bBhHlLT',-1,255,-1,65535,-1,5,6))}",
      [-1, 255, -1, 65535, -1, 5, 6, 31],
    ],
    [
      "return {struct.pack('<i4>i4i2I3',1,2,-3,66051)}",
      ['\u0001\u0000\u0000\u0000\u0000\u0000\u0000\u0002\u00ff\u00fd\u0001\u0002\u0003'],
    ],
    [
      "return {struct.unpack('<i4>i4i2I3',struct.pack('<i4>i4i2I3',1,2,-3,66051))}",
      [1, 2, -3, 66051, 14],
    ],
    [
      "return {struct.pack('fd',1.5,-2.25)}",
      ['\u0000\u0000\u00c0?\u0000\u0000\u0000\u0000\u0000\u0000\u0002\u00c0'],
    ],
    [
      "return {tostring(select(1,struct.unpack('fd',struct.pack('fd',0.1,-2.25)))),tostring(select(2,struct.unpack('>fd',struct.pack('>fd',0.1,0.1))))}",
      ['0.10000000149012', '0.1'],
    ],
    [
      "return {struct.pack('s','abc'),struct.pack('c2','abc'),struct.pack('c0','abc'),struct.pack('x')}",
      ['abc\u0000', 'ab', 'abc', '\u0000'],
    ],
    ["return {struct.unpack('ss',struct.pack('ss','ab','cd'))}", ['ab', 'cd', 7]],
    ["return {struct.unpack('c3','abcdef')}", ['abc', 4]],
    ["return {struct.unpack('c3','abcdef',3)}", ['cde', 6]],
    ["return {struct.unpack('bxb','\\1\\2\\3')}", [1, 3, 4]],
    ["return {struct.unpack('!4bi','\\1\\0\\0\\0\\5\\0\\0\\0')}", [1, 5, 9]],
    [
      "return {struct.pack('!bi',1,5),struct.pack('!2bi',1,5),struct.pack('!8bd',1,5)}",
      [
        '\u0001\u0000\u0000\u0000\u0005\u0000\u0000\u0000',
        '\u0001\u0000\u0005\u0000\u0000\u0000',
        '\u0001\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0014@',
      ],
    ],
    [
      "return {struct.size('bhild'),struct.size('!bhild'),struct.size('c10'),struct.size('i3'),struct.size('> b < h'),struct.size('')}",
      [23, 24, 10, 3, 3, 0],
    ],
    [
      "return {pcall(struct.size,'s')}",
      [null, "bad argument #1 to '?' (option 's' has no fixed size)"],
    ],
    [
      "return {pcall(struct.size,'c0')}",
      [null, "bad argument #1 to '?' (option 'c0' has no fixed size)"],
    ],
    ["return {pcall(struct.size,'y')}", [1, 0]],
    [
      "return {pcall(struct.size,'?')}",
      [null, "bad argument #1 to '?' (invalid format option '?')"],
    ],
    ["return {pcall(struct.size,'i33')}", [null, 'integral size 33 is larger than limit of 32']],
    ["return {pcall(struct.size,'!3')}", [null, 'alignment 3 is not a power of 2']],
    ["return {pcall(struct.size,'i99999999999')}", [null, 'integral size overflow']],
    [
      "return {pcall(struct.pack,'z',1)}",
      [null, "bad argument #1 to '?' (invalid format option 'z')"],
    ],
    [
      "return {pcall(struct.pack,'b')}",
      [null, "bad argument #2 to '?' (number expected, got nil)"],
    ],
    [
      "return {pcall(struct.pack,'b','x')}",
      [null, "bad argument #2 to '?' (number expected, got string)"],
    ],
    ["return {pcall(struct.pack,'c5','abc')}", [null, "bad argument #3 to '?' (string too short)"]],
    [
      "return {pcall(struct.pack,'bc5',1,'abc')}",
      [null, "bad argument #4 to '?' (string too short)"],
    ],
    [
      'return {pcall(struct.pack)}',
      [null, "bad argument #1 to '?' (string expected, got no value)"],
    ],
    [
      "return {pcall(struct.unpack,'b','')}",
      [null, "bad argument #2 to '?' (data string too short)"],
    ],
    [
      "return {pcall(struct.unpack,'i4','abc')}",
      [null, "bad argument #2 to '?' (data string too short)"],
    ],
    ["return {pcall(struct.unpack,'s','abc')}", [null, 'unfinished string in data']],
    ["return {pcall(struct.unpack,'c0','abc')}", [null, "format 'c0' needs a previous size"]],
    [
      "return {pcall(struct.unpack,'bc0','\\5abc')}",
      [null, "bad argument #2 to '?' (data string too short)"],
    ],
    [
      "return {pcall(struct.unpack,'b','abc',0)}",
      [null, "bad argument #3 to '?' (offset must be 1 or greater)"],
    ],
    [
      "return {pcall(struct.unpack,'b','abc',-1)}",
      [null, "bad argument #2 to '?' (data string too short)"],
    ],
    [
      "return {pcall(struct.unpack,'b','abc',4)}",
      [null, "bad argument #2 to '?' (data string too short)"],
    ],
    [
      "return {pcall(struct.unpack,'b')}",
      [null, "bad argument #2 to '?' (string expected, got no value)"],
    ],
    [
      "return {struct.unpack('>I8',struct.pack('>I8',2^40)),tostring(struct.unpack('I8',('\\255'):rep(8))),tostring(struct.unpack('i8',('\\255'):rep(8)))}",
      [1099511627776, '1.844674407371e+19', '-1'],
    ],
    [
      "return {struct.pack('i16',-2),struct.pack('>I10',5)}",
      [
        '\u00fe\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000',
        '\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0005',
      ],
    ],
    [
      "return {tostring(struct.unpack('i16',('\\255'):rep(16))),tostring(struct.unpack('I16','\\5'..('\\0'):rep(15))),tostring(struct.unpack('>i10',('\\0'):rep(9)..'\\5'))}",
      ['-1', '5', '5'],
    ],
    [
      "return {struct.pack('B',256+5),struct.pack('b',-200),struct.pack('h',1.9),struct.pack('I4',-1)}",
      ['\u0005', '8', '\u0001\u0000', '\u00ff\u00ff\u00ff\u00ff'],
    ],
  ],
  coroutines: [
    [
      'local co = coroutine.create(function(a,b) local c = coroutine.yield(a+b) local d,e = coroutine.yield(c*2) return d,e end) local r = {} for i=1,4 do r[#r+1] = {coroutine.resume(co,i,i+1)} end return r',
      [
        [1, 3],
        [1, 4],
        [1, 3, 4],
        [null, 'cannot resume dead coroutine'],
      ],
    ],
    [
      'local function gen(n) return coroutine.wrap(function() for i=1,n do coroutine.yield(i) end end) end local s=0 for v in gen(5) do s = s + v end return s',
      15,
    ],
    [
      "local function walk(t) if type(t)=='table' then for i=1,#t do walk(t[i]) end else coroutine.yield(t) end end local out={} for v in coroutine.wrap(function() walk({1,{2,{3,4}},5}) end) do out[#out+1]=v end return out",
      [1, 2, 3, 4, 5],
    ],
    [
      'return {coroutine.status(coroutine.create(function() end)), coroutine.running() == nil}',
      ['suspended', 1],
    ],
    [
      "return {coroutine.resume(coroutine.create(function() error('x') end))}",
      [null, 'user_script:1: x'],
    ],
    [
      "return {coroutine.resume(coroutine.create(function() error({err='A b'}) end))}",
      [null, { error: 'A b' }],
    ],
    ["return {pcall(coroutine.wrap(function() error('x') end))}", [null, 'user_script:1: x']],
    [
      "coroutine.wrap(function() error('x') end)()",
      {
        error:
          'ERR user_script:1: user_script:1: x script: a2eee6b2c1f51a66aaa7e7ffd52f6774287f6e8e, on @user_script:1.',
      },
    ],
    [
      "coroutine.wrap(function()\nerror({err='A b'}) end)()",
      { error: 'A b script: 2eb4d2a750440a1169c7b3d0cd25002e04d4b9b5, on @user_script:2.' },
    ],
    [
      'coroutine.wrap(function()\nlocal x = nil + 1 end)()',
      {
        error:
          'ERR user_script:2: user_script:2: attempt to perform arithmetic on a nil value script: a654caa229118d3cd986836bf5338a2447a15429, on @user_script:2.',
      },
    ],
    [
      'return {coroutine.resume(coroutine.create(function() pcall(coroutine.yield) return 1 end))}',
      [1, 1],
    ],
    [
      'return {pcall(coroutine.yield,1)}',
      [null, 'attempt to yield across metamethod/C-call boundary'],
    ],
    [
      'coroutine.yield()',
      {
        error:
          'ERR attempt to yield across metamethod/C-call boundary script: 28fa9aab8f13eb98b7d555b1121c4e2f64da5b24, on @user_script:1.',
      },
    ],
    ['return {pcall(coroutine.create)}', [null, "bad argument #1 to '?' (Lua function expected)"]],
    [
      'return {pcall(coroutine.create,1)}',
      [null, "bad argument #1 to '?' (Lua function expected)"],
    ],
    [
      'return {pcall(coroutine.create,string.rep)}',
      [null, "bad argument #1 to '?' (Lua function expected)"],
    ],
    ['return {pcall(coroutine.resume,1)}', [null, "bad argument #1 to '?' (coroutine expected)"]],
    ['return {pcall(coroutine.resume)}', [null, "bad argument #1 to '?' (coroutine expected)"]],
    ['return {pcall(coroutine.status)}', [null, "bad argument #1 to '?' (coroutine expected)"]],
    ['return {pcall(coroutine.wrap)}', [null, "bad argument #1 to '?' (Lua function expected)"]],
    [
      'local co co = coroutine.create(function() return coroutine.resume(co) end) return {coroutine.resume(co)}',
      [1, null, 'cannot resume running coroutine'],
    ],
    [
      'local co co = coroutine.create(function() return coroutine.status(co) end) return {coroutine.resume(co)}',
      [1, 'running'],
    ],
    [
      'local a a = coroutine.create(function() local b = coroutine.create(function() return coroutine.status(a) end) return coroutine.resume(b) end) return {coroutine.resume(a)}',
      [1, 1, 'normal'],
    ],
    [
      'local co = coroutine.wrap(function() return 1 end) co() return {pcall(co)}',
      [null, 'cannot resume dead coroutine'],
    ],
    [
      "local co = coroutine.wrap(function(...) local n = select('#',...) while true do n = n + select('#',coroutine.yield(n)) end end) return {co(1,2),co(),co(nil,nil),co(1)}",
      [2, 2, 4, 5],
    ],
    [
      "local co = coroutine.wrap(function() local t = {x=coroutine.yield(1),coroutine.yield(2),[coroutine.yield(3)]=coroutine.yield(4)} coroutine.yield(t.x) coroutine.yield(t[1]) return t.k end) return {co(),co('X'),co('one'),co('k'),co('v'),co(),co()}",
      [1, 2, 3, 4, 'X', 'one', 'v'],
    ],
    [
      "local co = coroutine.wrap(function() local s = 'a' .. coroutine.yield(1) .. 'b' .. coroutine.yield(2) return s, 1 + coroutine.yield(3), -coroutine.yield(4), #coroutine.yield(5), not coroutine.yield(6), coroutine.yield(7) == 1, coroutine.yield(8) < 5, coroutine.yield(9) and 'y', coroutine.yield(10) or 'z' end) co() co('X') co('Y') co(10) co(20) co('len') co(nil) co(1) co(3) co(true) return {co(false)}",
      ['aXbY', 11, -20, 3, 1, 1, 1, 'y', 'z'],
    ],
    [
      "local co = coroutine.wrap(function() if coroutine.yield(1) then return 'yes' elseif coroutine.yield(2) then return 'elif' else coroutine.yield(3) return 'no' end end) co() co(false) co(false) return co()",
      'no',
    ],
    [
      "local co = coroutine.wrap(function() local n = 0 while coroutine.yield(n) do n = n + 1 if n == 3 then break end end repeat n = n + 10 until coroutine.yield(n) for i=coroutine.yield('s'),coroutine.yield('e'),coroutine.yield('st') do coroutine.yield(i) end return 'end' end) return {co(),co(true),co(true),co(true),co(true),co(1),co(5),co(2),co(),co(),co()}",
      [0, 1, 2, 13, 's', 'e', 'st', 1, 3, 5, 'end'],
    ],
    [
      'local co = coroutine.wrap(function() for k,v in pairs({a=1,b=2}) do coroutine.yield(k..v) end for i,v in ipairs({5,6}) do coroutine.yield(v) end end) return {co(),co(),co(),co()}',
      ['a1', 'b2', 5, 6],
    ],
    [
      "local co = coroutine.wrap(function() local t = {} t[coroutine.yield(1)], t.y = coroutine.yield(2), coroutine.yield(3) return t.a, t.y end) co() co('a') co('va') return {co('vy')}",
      ['va', 'vy'],
    ],
    [
      "local co = coroutine.wrap(function() local o = {v=5} function o:m(x) return self.v + x + coroutine.yield('in') end return o:m(coroutine.yield('arg')) end) return {co(),co(10),co(100)}",
      ['arg', 'in', 115],
    ],
    [
      'local co = coroutine.wrap(function() return coroutine.yield(coroutine.yield(coroutine.yield(1))) end) return {co(),co(2),co(3),co(4)}',
      [1, 2, 3, 4],
    ],
    [
      'local co = coroutine.wrap(function() do local x = coroutine.yield(1) return function() return x end end end) co() return co(7)()',
      7,
    ],
    [
      "local function f(n) if n == 0 then coroutine.yield('deep') return 0 end return 1 + f(n-1) end local co = coroutine.wrap(function() return f(50) end) return {co(),co()}",
      ['deep', 50],
    ],
    [
      'local co = coroutine.wrap(function() local t = setmetatable({},{__index=function(t,k) return coroutine.yield(k) end}) return t.x end) return {pcall(co)}',
      [null, 'attempt to yield across metamethod/C-call boundary'],
    ],
    [
      'local co = coroutine.wrap(function() table.sort({2,1},function(a,b) coroutine.yield() return a<b end) end) return {pcall(co)}',
      [null, 'attempt to yield across metamethod/C-call boundary'],
    ],
    [
      'local co = coroutine.wrap(function() for x in function() return coroutine.yield(1) end do return x end end) return {pcall(co)}',
      [null, 'attempt to yield across metamethod/C-call boundary'],
    ],
    [
      'local function f(...) local a = {...} coroutine.yield(#a) return ... end local co = coroutine.wrap(f) return {co(1,2,3),co()}',
      [3, 1, 2, 3],
    ],
    [
      'local function f(...) coroutine.yield(arg.n) return arg[2] end local co = coroutine.wrap(f) return {co(1,2,3),co()}',
      [3, 2],
    ],
    [
      "local co = coroutine.wrap(function() local ok, e = pcall(function() error('inner') end) coroutine.yield(e) error('outer') end) return {co(), pcall(co)}",
      ['user_script:1: inner', null, 'user_script:1: outer'],
    ],
    [
      'local co = coroutine.wrap(function() coroutine.yield(1) local x = nil return x.y end) return {co(), pcall(co)}',
      [1, null, "user_script:1: attempt to index local 'x' (a nil value)"],
    ],
    [
      "local r = {} local a = coroutine.wrap(function() for i=1,3 do r[#r+1]='a'..i coroutine.yield() end end) local b = coroutine.wrap(function() for i=1,3 do r[#r+1]='b'..i a() coroutine.yield() end end) b() b() b() return r",
      ['b1', 'a1', 'b2', 'a2', 'b3', 'a3'],
    ],
  ],
  'syntax errors': [
    [
      'return "end" x',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'x'",
      },
    ],
    [
      'x x',
      { error: "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'" },
    ],
    [
      'x =',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'x = = 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '='",
      },
    ],
    [
      'if x then',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'end' expected near '<eof>'",
      },
    ],
    [
      "return 'abc",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    [
      'return "abc\\',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    [
      'return [[abc',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished long string near '<eof>'",
      },
    ],
    [
      '--[[ abc',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished long comment near '<eof>'",
      },
    ],
    [
      'for',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'for x',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' or 'in' expected near '<eof>'",
      },
    ],
    [
      'for x do',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' or 'in' expected near 'do'",
      },
    ],
    [
      'for x, y do',
      {
        error: "ERR Error compiling script (new function): user_script:1: 'in' expected near 'do'",
      },
    ],
    [
      'local 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '1'",
      },
    ],
    [
      'f(',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'f(1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: ')' expected near '<eof>'",
      },
    ],
    [
      '{1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '{'",
      },
    ],
    [
      'x = {1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '}' expected near '<eof>'",
      },
    ],
    [
      'x = {1 2}',
      { error: "ERR Error compiling script (new function): user_script:1: '}' expected near '2'" },
    ],
    [
      'return 1 )',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near ')'",
      },
    ],
    [
      ')',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ')'",
      },
    ],
    [
      'end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'end'",
      },
    ],
    [
      'return 1 end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'end'",
      },
    ],
    [
      'f() = 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '='",
      },
    ],
    [
      '(a) = 1',
      { error: "ERR Error compiling script (new function): user_script:1: syntax error near '='" },
    ],
    [
      'a.b',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'",
      },
    ],
    [
      'a:b',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: function arguments expected near '<eof>'",
      },
    ],
    [
      'a:b.c()',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: function arguments expected near '.'",
      },
    ],
    [
      'function f( end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: <name> or '...' expected near 'end'",
      },
    ],
    [
      'function f(a,) end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: <name> or '...' expected near ')'",
      },
    ],
    [
      'function f(...,a) end',
      { error: "ERR Error compiling script (new function): user_script:1: ')' expected near ','" },
    ],
    [
      'break',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: no loop to break near '<eof>'",
      },
    ],
    [
      'local function f() return ... end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: cannot use '...' outside a vararg function near '...'",
      },
    ],
    [
      'x = 3x',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '3x'",
      },
    ],
    [
      'x = 3..2',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '3..2'",
      },
    ],
    [
      'x = 0xg',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '0xg'",
      },
    ],
    [
      'x = 0x',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '0x'",
      },
    ],
    [
      'x = 1e',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '1e'",
      },
    ],
    [
      'x = 1e+',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '1e+'",
      },
    ],
    [
      'x = 3.4.5',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: malformed number near '3.4.5'",
      },
    ],
    [
      'x = @',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '@'",
      },
    ],
    [
      'x = $',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '$'",
      },
    ],
    [
      'x = 1 @',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '@'",
      },
    ],
    [
      'x = a ! b',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '!'",
      },
    ],
    [
      'return 1 @',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near '@'",
      },
    ],
    [
      'return 1 return 2',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'return'",
      },
    ],
    [
      'while true',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'do' expected near '<eof>'",
      },
    ],
    [
      'while true do',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'end' expected near '<eof>'",
      },
    ],
    [
      'repeat',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'until' expected near '<eof>'",
      },
    ],
    [
      'repeat until',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'x = function() ',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'end' expected near '<eof>'",
      },
    ],
    [
      'if x y',
      {
        error: "ERR Error compiling script (new function): user_script:1: 'then' expected near 'y'",
      },
    ],
    [
      'if x then else elseif',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'end' expected near 'elseif'",
      },
    ],
    [
      'if x then else else end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: 'end' expected near 'else'",
      },
    ],
    [
      'return 1,',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'local x <const> = 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<'",
      },
    ],
    [
      'goto x',
      { error: "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'" },
    ],
    [
      '::x::',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ':'",
      },
    ],
    [
      'x = 1 // 2',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '/'",
      },
    ],
    [
      'x = 1 & 2',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '&'",
      },
    ],
    [
      'x = ~1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '~'",
      },
    ],
    [
      'x ~ 1',
      { error: "ERR Error compiling script (new function): user_script:1: '=' expected near '~'" },
    ],
    [
      'x = 1 ~ 2',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '~'",
      },
    ],
    [
      'x != 1',
      { error: "ERR Error compiling script (new function): user_script:1: '=' expected near '!'" },
    ],
    [
      'a, b',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'",
      },
    ],
    [
      'a, f() = 1',
      { error: "ERR Error compiling script (new function): user_script:1: syntax error near '='" },
    ],
    [
      'a, b = ',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      "return '\\400'",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: escape sequence too large near '''",
      },
    ],
    [
      "return 'ab\\300c'",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: escape sequence too large near ''ab'",
      },
    ],
    ["return '\\xzz'", 'xzz'],
    [
      '"x"',
      {
        error:
          'ERR Error compiling script (new function): user_script:1: unexpected symbol near \'"x"\'',
      },
    ],
    [
      'f',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'",
      },
    ],
    [
      'local t = {[1}',
      { error: "ERR Error compiling script (new function): user_script:1: ']' expected near '}'" },
    ],
    [
      'local t = {[1]}',
      { error: "ERR Error compiling script (new function): user_script:1: '=' expected near '}'" },
    ],
    [
      'local t = {x=}',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '}'",
      },
    ],
    [
      'local t = {,}',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ','",
      },
    ],
    [
      'local t = {1,,2}',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ','",
      },
    ],
    [
      'local t = {',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return not',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return #',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return -',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return a.1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near '.1'",
      },
    ],
    [
      'return a.',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'return a:',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'return a[',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return a[1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: ']' expected near '<eof>'",
      },
    ],
    [
      'return a..',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return (',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'return (1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: ')' expected near '<eof>'",
      },
    ],
    [
      'return ()',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ')'",
      },
    ],
    [
      'return f(1,)',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ')'",
      },
    ],
    [
      'return f(,1)',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ','",
      },
    ],
    [
      "x = 'a\\z b'",
      {
        error:
          'ERR user_script:1: Attempt to modify a readonly table script: 38faac4e22b37d571636a6fb65d5825623124d76, on @user_script:1.',
      },
    ],
    [
      'return "a" "b"',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near '\"b\"'",
      },
    ],
    [
      'return ("a" "b")',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: ')' expected near '\"b\"'",
      },
    ],
    [
      'if x then\n  y()\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: 'end' expected (to close 'if' at line 1) near '<eof>'",
      },
    ],
    [
      'x = {\n1,\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: unexpected symbol near '<eof>'",
      },
    ],
    [
      'x = {\n1\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: '}' expected (to close '{' at line 1) near '<eof>'",
      },
    ],
    [
      'f(\n1\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: ')' expected (to close '(' at line 1) near '<eof>'",
      },
    ],
    [
      'return (\n1\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: ')' expected (to close '(' at line 1) near '<eof>'",
      },
    ],
    [
      'local x = function()\nif x then while true do\nend\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:4: 'end' expected (to close 'if' at line 2) near '<eof>'",
      },
    ],
    [
      'for i=1,2 do\nfor j=1,2 do\nend\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:4: 'end' expected (to close 'for' at line 1) near '<eof>'",
      },
    ],
    [
      'repeat\nx()\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: 'until' expected (to close 'repeat' at line 1) near '<eof>'",
      },
    ],
    [
      'x=[[\n\n',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: unfinished long string near '<eof>'",
      },
    ],
    [
      'f\n(1)',
      {
        error:
          "ERR Error compiling script (new function): user_script:2: ambiguous syntax (function call x new statement) near '('",
      },
    ],
    [
      "local x = 1\nlocal y = 'abc\n",
      {
        error:
          "ERR Error compiling script (new function): user_script:2: unfinished string near ''abc'",
      },
    ],
    [
      'function f()\nreturn 1\nx = 2\nend',
      {
        error:
          "ERR Error compiling script (new function): user_script:3: 'end' expected (to close 'function' at line 1) near 'x'",
      },
    ],
    [
      'do return 1 x = 2 end',
      {
        error: "ERR Error compiling script (new function): user_script:1: 'end' expected near 'x'",
      },
    ],
    [
      'break return',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: no loop to break near 'return'",
      },
    ],
    [
      'while true do break x = 1 end',
      {
        error: "ERR Error compiling script (new function): user_script:1: 'end' expected near 'x'",
      },
    ],
    [
      'local function 5() end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '5'",
      },
    ],
    [
      'function a.b:c.d() end',
      { error: "ERR Error compiling script (new function): user_script:1: '(' expected near '.'" },
    ],
    [
      'function a.5() end',
      { error: "ERR Error compiling script (new function): user_script:1: '(' expected near '.5'" },
    ],
    [
      'and',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'and'",
      },
    ],
    [
      'x = and',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'and'",
      },
    ],
    [
      'then',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'then'",
      },
    ],
    [
      'in',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'in'",
      },
    ],
    [
      'return return',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'return'",
      },
    ],
    [
      'local',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'local function',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'function',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'local x =',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'local x,',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<name>' expected near '<eof>'",
      },
    ],
    [
      'for i=1 do end',
      { error: "ERR Error compiling script (new function): user_script:1: ',' expected near 'do'" },
    ],
    [
      'for i=1,2,3,4 do end',
      { error: "ERR Error compiling script (new function): user_script:1: 'do' expected near ','" },
    ],
    [
      'for i,j=1,2 do end',
      { error: "ERR Error compiling script (new function): user_script:1: 'in' expected near '='" },
    ],
    [
      'for a.b in c do end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' or 'in' expected near '.'",
      },
    ],
    [
      'if then end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'then'",
      },
    ],
    [
      'if x then end end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'end'",
      },
    ],
    [
      'while do end',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'do'",
      },
    ],
    [
      'x = {a.b=1}',
      { error: "ERR Error compiling script (new function): user_script:1: '}' expected near '='" },
    ],
    [
      'x = {[1]=2 [3]=4}',
      { error: "ERR Error compiling script (new function): user_script:1: '}' expected near '['" },
    ],
    [
      'x = }',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '}'",
      },
    ],
    [
      'x = ]',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near ']'",
      },
    ],
    [
      '...',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '...'",
      },
    ],
    ['return ...,1', null],
    [
      'local a.b = 1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '.'",
      },
    ],
    [
      'f{',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
      },
    ],
    [
      'f{1',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '}' expected near '<eof>'",
      },
    ],
    [
      'f"abc',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    [
      "f'",
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unfinished string near '<eof>'",
      },
    ],
    [
      'f() g() h',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'",
      },
    ],
    [
      'f() f()',
      {
        error:
          "ERR user_script:1: Script attempted to access nonexistent global variable 'f' script: 3e2a810298389798677cf9486f4f3c858028ae7f, on @user_script:1.",
      },
    ],
    [
      'a=1 b=2 c',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'",
      },
    ],
    ['#!lua', { error: 'ERR Invalid script shebang' }],
    [
      '# comment',
      {
        error:
          "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'",
      },
    ],
    [
      'return 1 -- x\n)',
      {
        error:
          "ERR Error compiling script (new function): user_script:2: '<eof>' expected near ')'",
      },
    ],
  ],
};
