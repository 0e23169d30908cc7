import { describe, expect, it } from 'vitest';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { compileScript, type LuaHost, ScriptStopped } from './index.ts';

const MEBIBYTE = 1024 * 1024;

/** A host that gives the same reply to each command. Its clock is always 0 and counts its reads. */
function hostOf(reply: Reply = null): LuaHost & { looks: number } {
  return {
    looks: 0,
    call: () => reply,
    log: () => {},
    monotonicMs() {
      this.looks += 1;
      return 0;
    },
    setProtocol: () => {},
    setReplication: () => {},
    mayCall: () => true,
  };
}

/** The script's reply or error, or the reason why it was stopped. Steps and time have no limit. */
function outcome(source: string, host: LuaHost = hostOf(), bytes = MEBIBYTE): Reply {
  try {
    const budget = { steps: Number.MAX_SAFE_INTEGER, deadlineMs: 1, bytes };
    const reply = compileScript(source).run(host, [], [], budget);
    return reply instanceof ErrorReply ? reply.message.replace(/ script: .*/s, '') : reply;
  } catch (thrown) {
    if (thrown instanceof ScriptStopped) return `stopped: ${thrown.reason}`;
    throw thrown;
  }
}

function checkStopped(sources: readonly string[]): void {
  expect(sources.map((source) => [source, outcome(source)])).toEqual(
    sources.map((source) => [source, 'stopped: memory']),
  );
}

describe('a script is stopped by its memory limit', () => {
  it('when it makes values in a loop and keeps them', () => {
    const values = [
      ...['{}', '{1, 2, 3}', '{a = 1}', 'function() end', 'coroutine.create(function() end)'],
      ...['coroutine.wrap(function() end)', "string.gmatch('a', 'a')", "loadstring('return 1')"],
      ...[
        'tostring(#t + 0.5)',
        "('abcdefghijklmnopqrst'):sub(1, 15)",
        "'k' .. #t",
        "('x'):rep(20)",
      ],
      ...["string.format('%d', #t)", 'string.char(65, 66)', "('abc'):upper()", "('abc'):reverse()"],
      ...["('abc'):gsub('b', '%0%0')", "('abc'):match('(.)b')", 'table.concat({1, 2})'],
      ...['cjson.encode({1})', "cjson.decode('[1]')", 'cjson.decode(\'"\\\\n"\')'],
      ...['cmsgpack.pack(1)', "cmsgpack.unpack('\\147\\1\\1\\1')", "cmsgpack.unpack('\\161a')"],
      ...["struct.pack('i', 1)", "struct.unpack('s', 'a\\0')", "redis.call('any')"],
      ...["redis.status_reply('x')", "select(2, pcall(error, 'x' .. #t))"],
    ];
    checkStopped(values.map((value) => `local t = {} while true do t[#t + 1] = ${value} end`));
  });

  it('when it makes long lists of values', () => {
    checkStopped([
      'local function f(...) return f(1, ...) end f()',
      'local function f(...) while true do select(2, ...) end end f(unpack({}, 1, 7000))',
      'local function f(...) while true do pcall(type, ...) end end f(unpack({}, 1, 7000))',
      'local function f(...) while true do local t = {...} end end f(unpack({}, 1, 7000))',
      'while true do unpack({}, 1, 7000) end',
      "local s = ('x'):rep(7000) while true do s:byte(1, -1) end",
    ]);
  });

  it('when suspended functions pile up in a coroutine', () => {
    const deep =
      'local t = {} local function f(n) if n == 0 then coroutine.yield() else f(n - 1) end return 1 end ' +
      'for i = 1, 15 do t[i] = coroutine.create(function() f(50) end) coroutine.resume(t[i]) end';
    checkStopped([deep]);
  });

  it('when one table occurs many times in its result', () => {
    checkStopped([
      'local t = {1} for i = 1, 40 do t = {t, t} end return t',
      'local t = {1} for i = 1, 40 do t = {map = {t, t}} end return t',
      'local t = {1} for i = 1, 40 do t = {t, t} end return cjson.encode(t)',
      'local t = {1} for i = 1, 15 do t = {t, t, t, t} end return cmsgpack.pack(t)',
    ]);
  });

  it('by the items of the replies that it receives', () => {
    const host = hostOf(Array.from({ length: 1000 }, (_, at) => `member ${at}`));
    expect(outcome("local t = {} while true do t = redis.call('any') end", host)).toBe(
      'stopped: memory',
    );
  });

  it('by table operations that allocate little', () => {
    const layOut =
      'local t = {} for i = 1, 8192 do t[i] = 1 end for i = 1, 600 do t[i + 0.5] = 1 t[i - 0.5] = nil end';
    expect(outcome(layOut)).toBe('stopped: memory');
    const find =
      "local p = ('x'):rep(17000) local t = {} for i = 1, 20 do t[p .. (10 + i)] = 1 end local k = p .. 99 for i = 1, 1e5 do local x = t[k] end";
    expect(outcome(find, hostOf(), 16 * MEBIBYTE)).toBe('stopped: memory');
  });

  it('long before a table has 2^24 entries, the limit of a Map', () => {
    const fill = 'local t = {} for i = 1, 16384 do t[i + 0.5] = 1 end';
    expect(outcome(fill, hostOf(), 16384 * 64)).toBe('stopped: memory');
    const hold = "local t = {} for i = 1, 9 do t[i] = ('x'):rep(60000000) end";
    expect(outcome(hold, hostOf(), Number.POSITIVE_INFINITY)).toBe('stopped: memory');
  });

  it('by its keys and arguments', () => {
    const keys = new Array<string>(100_000).fill('k');
    const run = () =>
      compileScript('return 1').run(hostOf(), keys, [], { steps: 1e9, deadlineMs: 1, bytes: 1e6 });
    expect(run).toThrow(ScriptStopped);
    expect(outcome('return 2')).toBe(2);
  });
});

describe('a text that is near the limits of V8', () => {
  const quotes = Buffer.alloc(150_000_000, '"').toString('latin1');
  const noMemory = 'ERR not enough memory';

  it('is refused before it is allocated', () => {
    const get = "local s = redis.call('get') ";
    const run = (source: string) => outcome(get + source, hostOf(quotes), 512 * MEBIBYTE);
    expect(run('return cjson.encode(s)')).toBe(noMemory);
    expect(run('return cjson.encode({s:sub(1, 60000000), s:sub(1, 60000000)})')).toBe(noMemory);
    expect(run("return string.format('%q', s)")).toBe(noMemory);
    expect(run("return string.format('%s%s', s, s)")).toBe(noMemory);
    expect(run('return table.concat({1, 2, 3}, s)')).toBe(noMemory);
    expect(run("return (('x'):rep(100)):gsub('x', s)")).toBe(noMemory);
    expect(run("return s:sub(1, 1000000):gsub('.*', ('%0'):rep(100))")).toBe(noMemory);
    expect(run('return s:upper()')).toBe(noMemory);
    expect(run('return cmsgpack.pack(s, s)')).toBe(noMemory);
    expect(run('return s .. s')).toBe('ERR user_script:1: string length overflow');
    expect(run("return struct.pack('ss', s, s)")).toBe('ERR user_script:1: string length overflow');
  });

  it('is cut in an error or status reply', () => {
    const lines = Buffer.alloc(50_000_000, '\n').toString('latin1');
    const host = hostOf(lines);
    const status = outcome("return redis.status_reply(redis.call('get'))", host);
    expect(status).toMatchObject({ text: ' '.repeat(65536) });
    const error = outcome(`error({err = ('e'):rep(100000)})`);
    expect((error as string).length).toBe(65536 - 1024);
  });
});

/** A table with long keys that differ in their last char, and a key that it does not have. */
const LIKE_KEYS = `local t, p = {}, ('x'):rep(255) for i = 1, 8 do t[p .. i] = i end local k = p .. 'z'`;

describe('the clock is read', () => {
  const text = Buffer.alloc(8 * MEBIBYTE, ' ').toString('latin1');

  it.each([
    ['redis.sha1hex(s)'],
    ["s:find('y', 1, true)"],
    ["s:find(('x'):rep(100), 1, true)"],
    ["s:find('^.*y')"],
    ["s:find('^.-y')"],
    ["s:gsub('y', '')"],
    ['pcall(cjson.decode, s)'],
    ['cjson.encode(s)'],
  ])('many times while %s reads 8 MiB', (call) => {
    const host = hostOf(text);
    outcome(`local s = redis.call('get') ${call} return 1`, host, 512 * MEBIBYTE);
    expect(host.looks).toBeGreaterThan(6);
  });

  it.each([
    ["local t = {} for i = 1, 3e5 do t['k' .. i] = i end"],
    ['local t = {} for i = 1, 1e5 do t[i] = i end table.insert(t, 1, 1)'],
    ["tonumber(('1'):rep(1e6), 2)"],
    ["loadstring('return {' .. ('1,'):rep(5e4) .. '}')"],
    ["for i = 1, 1000 do redis.call('any') end"],
  ])('several times in %s', (source) => {
    const host = hostOf();
    outcome(source, host, 512 * MEBIBYTE);
    expect(host.looks).toBeGreaterThanOrEqual(5);
  });

  it.each([
    [
      'a loop with thousands of statements',
      `${LIKE_KEYS} for i = 1, 400 do local a ${'a = t[k] '.repeat(2000)} end`,
    ],
    [
      'a loop with a long condition',
      `${LIKE_KEYS} local i = 0
      repeat i = i + 1 until t[${'t[k] or '.repeat(190)} i] == nil and i > 2000`,
    ],
    [
      'look-ups through a chain of tables',
      `${LIKE_KEYS} for i = 1, 98 do t = setmetatable({}, { __index = t }) end
      for i = 1, 50 do ${'local a = t[k] '.repeat(20)} end`,
    ],
  ])('several times in %s', (_, source) => {
    const host = hostOf();
    outcome(source, host, 512 * MEBIBYTE);
    expect(host.looks).toBeGreaterThanOrEqual(5);
  });
});

describe('text that looks like a number', () => {
  it('is read in time that grows with its length', () => {
    expect(outcome("return tostring(tonumber(('1'):rep(1e6) .. 'x'))", hostOf(), 1e8)).toBe('nil');
    expect(outcome("return tonumber('12.') + tonumber('.5') * 2 + tonumber('1.5e1')")).toBe(28);
  });

  it('is not a number if it has more than 1 MiB', () => {
    expect(outcome("return tostring(tonumber(('1'):rep(1048577)))", hostOf(), 1e8)).toBe('nil');
  });
});
