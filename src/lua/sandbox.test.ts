import { describe, expect, it } from 'vitest';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { compileScript, type LuaHost, ScriptStopped } from './index.ts';

const host: LuaHost = {
  call: () => new ErrorReply('ERR no keyspace'),
  log: () => {},
  monotonicMs: () => 0,
  setProtocol: () => {},
  setReplication: () => {},
  mayCall: () => true,
};

const STEPS = 1_000_000;

/** Runs a script. Returns its reply, its error's text, or the reason why it was stopped. */
function outcome(source: string, steps = STEPS): Reply {
  try {
    const reply = compileScript(source).run(host, [], [], { steps, deadlineMs: 1 });
    return reply instanceof ErrorReply ? reply.message.replace(/ script: .*/s, '') : reply;
  } catch (thrown) {
    if (thrown instanceof ScriptStopped) return `stopped: ${thrown.reason}`;
    if (thrown instanceof ErrorReply) return thrown.message;
    throw thrown;
  }
}

function check(cases: readonly (readonly [string, Reply])[], steps = STEPS): void {
  expect(cases.map(([source]) => [source, outcome(source, steps)])).toEqual(cases);
}

/** Expects each script to be stopped, by any part of the budget. */
function checkStopped(sources: readonly string[], steps: number): void {
  const survivors = sources.filter(
    (source) => !String(outcome(source, steps)).startsWith('stopped'),
  );
  expect(survivors).toEqual([]);
}

const readonlyTable = 'ERR user_script:1: Attempt to modify a readonly table';
const readonlyPlain = 'ERR Attempt to modify a readonly table';
const nonexistent = (name: string) =>
  `ERR user_script:1: Script attempted to access nonexistent global variable '${name}'`;
const stopped = 'stopped: steps';
const overflow = 'ERR user_script:1: stack overflow';
const nativeOverflow = 'ERR user_script:1: C stack overflow';
const noMemory = 'ERR not enough memory';

describe('a script cannot leave the sandbox', () => {
  it('by functions that Redis removes', () => {
    const taken = [
      ...['package', 'require', 'module', 'dofile', 'loadfile', 'io', 'os', 'debug', 'print'],
      ...['getfenv', 'setfenv', 'newproxy', 'jit', 'ffi'],
    ];
    check(taken.map((name) => [`return ${name}`, nonexistent(name)]));
    check([
      ["return package.loadlib('libc.so.6', 'system')", nonexistent('package')],
      ['return debug.getregistry()', nonexistent('debug')],
      ["return rawget(_G, 'debug') == nil", 1],
      [
        "return loadstring('return debug')()",
        'ERR [string "return debug"]:1: Script attempted to access nonexistent global variable \'debug\'',
      ],
    ]);
  });

  it('by the names of JavaScript properties', () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'process'];
    check(names.map((name) => [`return ${name}`, nonexistent(name)]));
    check(names.map((name) => [`return ('').${name}`, null]));
    check(names.map((name) => [`return ({}).${name}`, null]));
    check(names.map((name) => [`return redis.${name}`, null]));
    check(
      names.map((name) => [
        `return string.format.${name}`,
        "ERR user_script:1: attempt to index field 'format' (a function value)",
      ]),
    );
    check(names.map((name) => [`local t = {} t.${name} = 5 return t.${name}`, 5]));
    check(names.map((name) => [`local ${name} = 5 return ${name}`, 5]));
    check([
      ['return cjson.decode(\'{"__proto__":{"x":1}}\').__proto__.x', 1],
      ['return cjson.encode({__proto__ = 1, constructor = 2})', '{"constructor":2,"__proto__":1}'],
      [
        "return collectgarbage('constructor')",
        "ERR user_script:1: bad argument #1 to 'collectgarbage' (invalid option 'constructor')",
      ],
      [
        "return ('').sub.call",
        "ERR user_script:1: attempt to index field 'sub' (a function value)",
      ],
    ]);
  });

  it('by changing shared tables', () => {
    check([
      ['foo = 1', readonlyTable],
      ['redis = nil', readonlyTable],
      ['redis.call = nil', readonlyTable],
      ['string.len = nil', readonlyTable],
      ['math.random = nil', readonlyTable],
      ['cjson.null = 1', readonlyTable],
      ['_G.redis = nil', readonlyTable],
      ["rawset(_G, 'x', 1)", readonlyPlain],
      ["rawset(redis, 'call', 1)", readonlyPlain],
      ['table.insert(redis, 1)', readonlyPlain],
      ['table.insert(_G, 1)', readonlyPlain],
      ['setmetatable(_G, {})', readonlyPlain],
      ['setmetatable(redis, {})', readonlyPlain],
      ['getmetatable(_G).__index = nil', readonlyTable],
      ["getmetatable('').__index = nil", readonlyTable],
      ["getmetatable('').__index.len = nil", readonlyTable],
      ["getmetatable('').__add = function() return 1 end", readonlyTable],
      ["rawset(getmetatable(''), '__index', {})", readonlyPlain],
      ["setmetatable(getmetatable(''), {})", readonlyPlain],
      ['for k in pairs(_G) do pcall(rawset, _G, k, nil) end return type(redis.call)', 'function'],
      ['function redis.call() end', readonlyTable],
      ['function string:len() end', readonlyTable],
    ]);
  });

  it('by leaving state for the next script', () => {
    check([
      ["KEYS.x = 1 ARGV.y = 2 return 'left'", 'left'],
      ['return tostring(KEYS.x) .. tostring(ARGV.y)', 'nilnil'],
      ['setmetatable(KEYS, {__index = function() return 5 end}) return KEYS[9]', 5],
      ['return KEYS[9]', null],
      ['cjson.encode_max_depth(1) cjson.encode_sparse_array(true, 1, 1) return 1', 1],
      ['return {cjson.encode_max_depth(), cjson.encode_sparse_array()}', [1000, null, 2, 10]],
      ['math.randomseed(99) return 1', 1],
      ['return math.random(1000) == math.random(1000)', null],
      ['redis.setresp(3) return true', true],
      ['return true', 1],
      ["local ok, e = pcall(error, 'x') return e", 'x'],
    ]);
    expect(outcome('return math.random(100)')).toBe(outcome('return math.random(100)'));
  });

  it('by bytecode', () => {
    check([
      ['return string.dump(function() end)', 'ERR user_script:1: unable to dump given function'],
      [
        "return select(2, loadstring('\\27Lua'))",
        '[string "\x1bLua"]:1: unexpected symbol near \'char(27)\'',
      ],
      [
        "return select(2, loadstring('\\27LuaQ\\0\\1\\4\\8\\4\\8\\0'))",
        '[string "\x1bLuaQ\0\x01\x04\b\x04\b\0"]:1: unexpected symbol near \'char(27)\'',
      ],
      [
        '\x1bLua',
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near 'char(27)'",
      ],
    ]);
  });
});

describe('an endless script is stopped', () => {
  it('in loops and calls', () => {
    check([
      ['while true do end', stopped],
      ['repeat until false', stopped],
      ['for i = 1, 1e18 do end', stopped],
      ['for i = 1, math.huge do end', stopped],
      ['for i = 1, 0, 0 do end', stopped],
      ['for k in function() return 1 end do end', stopped],
      ['local t = {1} for k in pairs(t) do t[k] = nil t[1] = 1 end return 1', 1],
      ['local function f() return f() end return f()', stopped],
      ['while true do loadstring("return 1")() end', stopped],
      ["load(function() return ' ' end)", stopped],
      ['goto x', "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'"],
    ]);
  });

  it('in pcall, which does not catch it', () => {
    check([
      ['while true do pcall(function() while true do end end) end', stopped],
      ['pcall(function() while true do end end) return 1', stopped],
      ['xpcall(function() while true do end end, function() return 1 end) return 1', stopped],
      ['while true do xpcall(error, function() while true do end end) end', stopped],
      ['coroutine.resume(coroutine.create(function() while true do end end)) return 1', stopped],
      [
        'coroutine.wrap(function() pcall(function() while true do end end) end)() return 1',
        stopped,
      ],
      ['pcall(string.gsub, "x", "x", function() while true do end end) return 1', stopped],
      ['pcall(table.sort, {1, 2, 3}, function() while true do end end) return 1', stopped],
      [
        'local t = setmetatable({}, {__index = function() while true do end end}) pcall(function() return t.x end) return 1',
        stopped,
      ],
      [
        'error(setmetatable({}, {__tostring = function() while true do end end}))',
        'ERR unknown error',
      ],
      ['while true do pcall(error) end', stopped],
      [
        'local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end',
        stopped,
      ],
    ]);
  });

  it('in patterns', () => {
    check([
      ["return string.find(('a'):rep(1e4), '.-.-.-.-b$')", stopped],
      ["return string.find(('a'):rep(1e4), ('a-'):rep(50) .. 'b')", stopped],
      ["return string.find(('a'):rep(3000), ('a*'):rep(30) .. 'b')", stopped],
      ["return string.gsub(('a'):rep(1e5), '(.-)(.-)(.-)b', 'x')", stopped],
      ["return string.match(('a'):rep(1e6), '.-b')", stopped],
      ["for w in string.gmatch(('a'):rep(1e5), '.-b') do end", stopped],
      ["while true do (('('):rep(1e5)):find('%b()') end", stopped],
      [
        "return string.find(('x'):rep(1e5), ('(x'):rep(100))",
        'ERR user_script:1: too many captures',
      ],
      [
        "return string.find(('a'):rep(500), ('a?'):rep(500))",
        'ERR user_script:1: pattern too complex',
      ],
    ]);
  });

  it('in library functions', () => {
    const text = "local s = ('x'):rep(1e6) while true do";
    const onText = [
      ...['s:upper()', 's:reverse()', "s:find('y', 1, true)", "s:gsub('x', 'y')", 's:format()'],
      ...['redis.sha1hex(s)', 'cjson.encode(s)', 'cmsgpack.pack(s)', "struct.pack('s', s)"],
      ...["string.format('%q', s)", 'tonumber(s)', 'local x = s .. s', 'local x = s < s .. 1'],
    ];
    checkStopped(
      onText.map((call) => `${text} ${call} end`),
      200_000,
    );
    const list = 'local t = {} for i = 1, 1e4 do t[i] = i end while true do';
    const onList = [
      ...[
        'table.maxn(t)',
        'table.concat(t)',
        'cjson.encode(t)',
        'cmsgpack.pack(t)',
        'table.sort(t)',
      ],
      ...['table.remove(t, 1) t[#t + 1] = 1', 'table.insert(t, 1, 1) t[#t] = nil', 'next(t)'],
      ...['unpack(t, 1, 7000)', 'for k in pairs(t) do end', 'table.foreach(t, type)'],
    ];
    checkStopped(
      onList.map((call) => `${list} ${call} end`),
      200_000,
    );
    checkStopped(
      [
        'table.insert({}, -1e9, 1)',
        "return tonumber(('f'):rep(1e6), 16)",
        "local t = {} for i = 1, 1e4 do t['k' .. i] = 1 end for k in pairs(t) do t[k] = nil end while true do next(t) end",
      ],
      200_000,
    );
  });
});

describe('a script gets an error for exceeding the limit', () => {
  it('of memory', () => {
    check(
      [
        ["return string.rep('a', 1e9)", noMemory],
        ["return pcall(string.rep, 'a', 1e9) == false", 1],
        ["local s = 'a' while true do s = s .. s end", 'ERR user_script:1: string length overflow'],
        [
          "local s = 'a' for i = 1, 100 do s = s .. s .. s end",
          'ERR user_script:1: string length overflow',
        ],
        ["return #string.gsub(('a'):rep(1e4), 'a', ('b'):rep(1e4))", noMemory],
        [
          "local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e6) end return table.concat(t)",
          stopped,
        ],
        ["local t = {} while true do t[#t + 1] = ('x'):rep(1e5) end", stopped],
        ['return unpack({}, 1, 1e8)', 'ERR user_script:1: too many results to unpack'],
        ['return unpack({}, -1e9, 1e9)', 'ERR user_script:1: too many results to unpack'],
        [
          "return string.byte(('a'):rep(1e6), 1, -1)",
          'ERR user_script:1: stack overflow (string slice too long)',
        ],
        [
          "return struct.unpack(('b'):rep(1e4), ('x'):rep(1e4))",
          'ERR user_script:1: stack overflow (too many results)',
        ],
        [
          "return string.format(('%99d'):rep(10), 1)",
          "ERR user_script:1: bad argument #3 to 'format' (no value)",
        ],
      ],
      10_000_000,
    );
  });

  it('of the sum of its allocations, which it cannot catch', () => {
    const run = (source: string) => () =>
      compileScript(source).run(host, [], [], { steps: 1e9, deadlineMs: 1, bytes: 1e6 });
    expect(run('local t = {} while true do t[#t + 1] = {} end')).toThrow(ScriptStopped);
    expect(run('local t = {} while true do t[{}] = 1 end')).toThrow(ScriptStopped);
    expect(run('while true do pcall(string.rep, "x", 1e5) end')).toThrow(ScriptStopped);
    expect(run('local t = {} while true do t[#t + 1] = function() return t end end')).toThrow(
      ScriptStopped,
    );
    expect(
      run('local t = {} while true do t[#t + 1] = coroutine.create(function() end) end'),
    ).toThrow(ScriptStopped);
    expect(run('local s = "" while true do s = s .. "x" end')).toThrow(ScriptStopped);
    expect(run('return #string.rep("x", 1e5)')()).toBe(1e5);
  });

  it('of the stack', () => {
    check([
      ['local function f() return 1 + f() end return f()', overflow],
      ['local function f() f() end f()', overflow],
      [
        'local function f() local ok, e = pcall(f) if ok then return e end error(e, 0) end return f()',
        'ERR C stack overflow',
      ],
      [
        'local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x',
        nativeOverflow,
      ],
      [
        'local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x',
        'ERR user_script:1: loop in gettable',
      ],
      [
        'local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1',
        'ERR user_script:1: loop in settable',
      ],
      [
        'local t = setmetatable({}, {}) getmetatable(t).__tostring = function(t) return tostring(t) .. 1 end return tostring(t)',
        'ERR C stack overflow',
      ],
      [
        'local m = {} m.__eq = function(a, b) return a == b end return setmetatable({}, m) == setmetatable({}, m)',
        nativeOverflow,
      ],
      ['local function f() table.sort({1, 2}, f) end f()', 'ERR C stack overflow'],
      ["local function f() return (string.gsub('x', 'x', f)) end f()", 'ERR C stack overflow'],
      [
        'return select(2, pcall(function() local function f() return 1 + f() end f() end))',
        'user_script:1: stack overflow',
      ],
      [
        'return select(2, coroutine.resume(coroutine.create(function() local function f() return 1 + f() end f() end)))',
        'user_script:1: stack overflow',
      ],
      [
        'local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(500)',
        500,
      ],
    ]);
    expect(outcome('local function f() coroutine.wrap(f)() end f()')).toMatch(/stack overflow$/);
  });

  it('of nesting in data', () => {
    check([
      [
        'local t = {} t[1] = t return cjson.encode(t)',
        'ERR user_script:1: Cannot serialise, excessive nesting (1001)',
      ],
      [
        "return cjson.decode(('['):rep(1e5))",
        'ERR user_script:1: Found too many nested data structures (1001) at character 1001',
      ],
      [
        "return cmsgpack.unpack(('\\145'):rep(1e5))",
        'ERR user_script:1: stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)',
      ],
      ['local t = {} t[1] = t return #cmsgpack.pack(t)', 17],
    ]);
    let reply = outcome('local t = {} t[1] = t return t');
    while (Array.isArray(reply)) reply = reply[0];
    expect(reply).toEqual(new ErrorReply('ERR reached lua stack limit'));
  });

  it('of nesting in its source', () => {
    const levels =
      'ERR Error compiling script (new function): user_script:1: chunk has too many syntax levels';
    const nested = (open: string, middle: string, close: string) =>
      outcome(open.repeat(5_000) + middle + close.repeat(5_000));
    expect(nested('return (', '1', ')')).not.toBe(1);
    expect(outcome(`return ${'('.repeat(3e4)}1${')'.repeat(3e4)}`)).toBe(levels);
    expect(outcome(`return ${'{'.repeat(3e4)}${'}'.repeat(3e4)}`)).toBe(levels);
    expect(outcome(`return ${'1+'.repeat(3e4)}1`)).toBe(levels);
    expect(outcome(`return ${'1 ..'.repeat(3e4)}1`)).toBe(levels);
    expect(outcome(`return ${'not '.repeat(3e4)}1`)).toBe(levels);
    expect(outcome(`return f${'()'.repeat(3e4)}`)).toBe(levels);
    expect(outcome(`return f${'.x'.repeat(3e4)}`)).toBe(levels);
    expect(nested('do ', '', 'end ')).toBe(levels);
    expect(nested('if x then ', '', 'end ')).toBe(levels);
    expect(nested('while x do ', '', 'end ')).toBe(levels);
    expect(nested('local function f() ', '', 'end ')).toBe(levels);
    expect(outcome(`return ${'('.repeat(190)}1${')'.repeat(190)}`)).toBe(1);
    expect(outcome(' '.repeat(131_073))).toMatch(/chunk too long, the limit is 131072 bytes/);
  });

  it('of variables', () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `v${at}`).join(', ');
    expect(outcome(`local ${names(201)} = 1`)).toMatch(
      /main function has more than 200 local variables/,
    );
    expect(outcome(`local ${names(200)} = 1 return v0`)).toBe(1);
    const uses = `local ${names(61)} = 1 local function f() return ${names(61)} end`;
    expect(outcome(uses)).toMatch(/function at line 1 has more than 60 upvalues/);
  });
});

describe('a comparator that contradicts itself', () => {
  it('gives an error or ends the sort', () => {
    check([
      [
        'table.sort({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, function() return true end)',
        'ERR user_script:1: invalid order function for sorting',
      ],
      ['table.sort({3, 1, "x"})', 'ERR attempt to compare string with number'],
    ]);
    const chaos =
      'local t = {} for i = 1, 1000 do t[i] = math.random() end table.sort(t, function() return math.random() < 0.5 end) return 1';
    expect([1, 'ERR user_script:1: invalid order function for sorting']).toContain(outcome(chaos));
  });
});
