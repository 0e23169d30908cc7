import { describe, expect, it } from 'vitest';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NULL_ARRAY,
  OK,
  PushReply,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from '../resp/index.ts';
import { type Budget, compileScript, type LuaHost, ScriptStopped } from './index.ts';

/** A host that records its calls and gives the same reply to each command. */
class NotingHost implements LuaHost {
  readonly notes: unknown[] = [];
  reply: Reply = null;
  nowMs = 0;
  call(argv: string[]): Reply {
    this.notes.push(argv);
    return this.reply;
  }
  log(level: number, message: string): void {
    this.notes.push(['log', level, message]);
  }
  monotonicMs(): number {
    this.nowMs += 1;
    return this.nowMs;
  }
  setProtocol(protocol: 2 | 3): void {
    this.notes.push(['protocol', protocol]);
  }
  setReplication(flags: number): void {
    this.notes.push(['replication', flags]);
  }
  mayCall(argv: string[]): boolean | undefined {
    return argv[0] === 'get' ? argv[1] === 'mine' : undefined;
  }
}

const BUDGET: Budget = { steps: 1_000_000, deadlineMs: 1_000_000 };

function run(source: string, host: LuaHost = new NotingHost(), keys: string[] = []): Reply {
  return compileScript(source).run(host, keys, ['v'], BUDGET);
}

function answering(reply: Reply): NotingHost {
  const host = new NotingHost();
  host.reply = reply;
  return host;
}

describe('compileScript', () => {
  it('compares and deletes', () => {
    const script = compileScript(
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
    );
    const host = answering('v');
    expect(script.run(host, ['k'], ['v'], BUDGET)).toBe('v');
    expect(host.notes).toEqual([
      ['get', 'k'],
      ['del', 'k'],
    ]);
    expect(script.run(host, ['k'], ['other'], BUDGET)).toBe(0);
  });

  it('has the SHA-1 of its source as its name', () => {
    expect(compileScript('return 1').sha).toBe('e0e1f9fabfc9d4800c877a703b823ac0578ff8db');
    expect(compileScript("return '\xff'").sha).toBe('11546ad4f039230cf13f8ee4696a1d6086089aa6');
  });

  it('throws an ErrorReply for a source that does not compile', () => {
    expect(() => compileScript('x x')).toThrow(
      expect.objectContaining({
        message: "ERR Error compiling script (new function): user_script:1: '=' expected near 'x'",
      }),
    );
  });

  it('reads its flags from the first line and keeps the line numbers', () => {
    const script = compileScript('#!lua flags=no-writes,allow-stale\nreturn foo');
    expect(script.flags).toEqual(['no-writes', 'allow-stale']);
    expect(script.run(new NotingHost(), [], [], BUDGET)).toMatchObject({
      message: expect.stringContaining('user_script:2:'),
    });
    expect(compileScript('#!lua\nreturn 1').flags).toEqual([]);
    expect(compileScript('return 1').flags).toBeUndefined();
  });

  it('refuses an invalid first line', () => {
    const refused = (source: string) => {
      try {
        return compileScript(source);
      } catch (thrown) {
        return (thrown as ErrorReply).message;
      }
    };
    expect(refused('#!python\nreturn 1')).toBe('ERR Unexpected engine in script shebang: #!python');
    expect(refused('#!lua name=x\nreturn 1')).toBe('ERR Unknown lua shebang option: name=x');
    expect(refused('#!lua flags=fast\nreturn 1')).toBe(
      'ERR Unexpected flag in script shebang: fast',
    );
    expect(refused('#!lua flags=no-writes,\nreturn 1')).toBe(
      'ERR Unexpected flag in script shebang: ',
    );
    expect(refused('#!lua')).toBe('ERR Invalid script shebang');
  });

  it('runs a script inside a host call of another script', () => {
    const inner = compileScript("redis.setresp(3) return {KEYS[1], redis.call('in')}");
    const host = new NotingHost();
    const outerHost: LuaHost = Object.assign(new NotingHost(), {
      call: () => inner.run(host, ['inner'], [], BUDGET),
    });
    const outer = compileScript(
      "local t = redis.call('x') return {t[1], KEYS[1], _G.KEYS[1], math.random(100), true}",
    );
    const alone = compileScript('return math.random(100)').run(host, [], [], BUDGET);
    expect(outer.run(outerHost, ['outer'], [], BUDGET)).toEqual([
      'inner',
      'outer',
      'outer',
      alone,
      1,
    ]);
  });

  it('rethrows an exception of the host', () => {
    const broken: LuaHost = Object.assign(new NotingHost(), {
      call: () => {
        throw new TypeError('a defect of the host');
      },
    });
    expect(() => run("pcall(redis.call, 'x') return 1", broken)).toThrow(TypeError);
    expect(run('return 1')).toBe(1);
  });
});

describe('the budget', () => {
  it('ends at the deadline', () => {
    const host = new NotingHost();
    const loop = compileScript('while true do end');
    const late = () => loop.run(host, [], [], { steps: Number.MAX_SAFE_INTEGER, deadlineMs: 50 });
    expect(late).toThrow(expect.objectContaining({ reason: 'deadline' }));
    expect(host.nowMs).toBe(50);
  });

  it('ends after the same number of steps each time', () => {
    const script = compileScript("for i = 1, 1e9 do if i % 1000 == 0 then redis.call('x') end end");
    const calls = [1, 2].map(() => {
      const host = new NotingHost();
      expect(() => script.run(host, [], [], { steps: 50_000, deadlineMs: 1e9 })).toThrow(
        ScriptStopped,
      );
      return host.notes.length;
    });
    expect(calls[0]).toBe(calls[1]);
    expect(calls[0]).toBeGreaterThan(40);
    expect(calls[0]).toBeLessThan(50);
  });

  it('is full again for the next run', () => {
    const script = compileScript('for i = 1, 900 do end return 1');
    for (let at = 0; at < 100; at++) {
      expect(script.run(new NotingHost(), [], [], { steps: 1000, deadlineMs: 1e9 })).toBe(1);
    }
  });
});

describe('redis functions', () => {
  it('pass the arguments of a command byte for byte', () => {
    const host = new NotingHost();
    run("redis.call('SET', 'k\\0\\255', 3, 1.5, 1e20, 0.1, -7)", host);
    expect(host.notes).toEqual([
      ['SET', 'k\0\xff', '3', '1.5', '1e+20', '0.10000000000000001', '-7'],
    ]);
  });

  it('raise or return the errors of commands', () => {
    const host = answering(new ErrorReply('WRONGTYPE not a list'));
    expect(run("return redis.call('x')", host)).toMatchObject({
      message: expect.stringMatching(
        /^WRONGTYPE not a list script: [0-9a-f]{40}, on @user_script:1\.$/,
      ),
    });
    expect(run("return redis.pcall('x')", host)).toEqual(new ErrorReply('WRONGTYPE not a list'));
    expect(run("return redis.pcall('x').err", host)).toBe('WRONGTYPE not a list');
    expect(run("return {pcall(redis.call, 'x')}", host)).toEqual([null, 'WRONGTYPE not a list']);
    expect(run("local ok, e = pcall(redis.call, 'x') error(e)", host)).toMatchObject({
      message: expect.stringMatching(/^ERR user_script:1: WRONGTYPE/),
    });
  });

  it('log, replicate, check and set the protocol', () => {
    const host = new NotingHost();
    run("redis.log(redis.LOG_WARNING, 'a', 1, {}, 'b')", host);
    run('redis.set_repl(redis.REPL_AOF)', host);
    run('redis.setresp(3)', host);
    expect(host.notes).toEqual([
      ['log', 3, 'a 1 b'],
      ['replication', 1],
      ['protocol', 3],
    ]);
    expect(run("return redis.acl_check_cmd('get', 'mine')", host)).toBe(1);
    expect(run("return redis.acl_check_cmd('get', 'other')", host)).toBeNull();
    expect(run("return redis.acl_check_cmd('nosuch')", host)).toBeInstanceOf(ErrorReply);
  });
});

describe('replies become Lua values and back', () => {
  const map = new MapReply([['f', 1]]);
  const set = new SetReply(['m']);
  const double = new DoubleReply(1.5, '1.5');
  const big = new BigNumberReply('123');
  const verbatim = new VerbatimReply('txt', 'hi');

  const SHOW = `
    local function show(v)
      if type(v) ~= 'table' then return type(v) .. ':' .. tostring(v) end
      local parts = {}
      for k, x in pairs(v) do parts[#parts + 1] = tostring(k) .. '=' .. show(x) end
      return '{' .. table.concat(parts, ',') .. '}'
    end
    `;

  it.each([
    ['text', 'string:text', 'string:text'],
    [7, 'number:7', 'number:7'],
    [12345678901234567890n, 'number:1.2345678901235e+19', 'number:1.2345678901235e+19'],
    [null, 'boolean:false', 'nil:nil'],
    [NULL_ARRAY, 'boolean:false', 'nil:nil'],
    [true, 'number:1', 'boolean:true'],
    [false, 'number:0', 'boolean:false'],
    [OK, '{ok=string:OK}', '{ok=string:OK}'],
    [['a', 1, null], '{1=string:a,2=number:1,3=boolean:false}', '{1=string:a,2=number:1}'],
    [double, 'string:1.5', '{double=number:1.5}'],
    [big, 'string:123', '{big_number=string:123}'],
    [verbatim, 'string:hi', '{verbatim_string={format=string:txt,string=string:hi}}'],
    [map, '{1=string:f,2=number:1}', '{map={f=number:1}}'],
    [set, '{1=string:m}', '{set={m=boolean:true}}'],
    [new PushReply(['p']), '{1=string:p}', '{1=string:p}'],
  ] satisfies [Reply, string, string][])('%o', (reply, inResp2, inResp3) => {
    const host = answering(reply);
    expect(run(`${SHOW} return show(redis.call('x'))`, host)).toBe(inResp2);
    expect(run(`redis.setresp(3) ${SHOW} return show(redis.call('x'))`, host)).toBe(inResp3);
  });

  it('distinguishes errors of commands from those of the library', () => {
    const host = answering(new ErrorReply('ONEWORD'));
    expect(run(`${SHOW} return show(redis.pcall('x'))`, host)).toBe(
      '{ignore_error_stats_update=boolean:true,err=string:ERR ONEWORD}',
    );
  });

  it.each([
    ['{ok = "fine"}', new SimpleReply('fine')],
    ['{err = "My error"}', new ErrorReply('My error')],
    ['{double = 0.1}', new DoubleReply(0.1, '0.10000000000000001')],
    ['{big_number = "1\\r\\n2"}', new BigNumberReply('1  2')],
    ['{verbatim_string = {format = "markdown", string = "x"}}', new VerbatimReply('mar', 'x')],
    ['{map = {k = {1, 2}}}', new MapReply([['k', [1, 2]]])],
    ['{set = {m = true}}', new SetReply(['m'])],
    ['{1, 2.9, "s", false, true, nil, 7}', [1, 2, 's', null, 1]],
    ['2 ^ 62', 2n ** 62n],
    ['0 / 0', -(2n ** 63n)],
    ['-0.5', 0],
  ] satisfies [string, Reply][])('return %s', (value, reply) => {
    expect(run(`return ${value}`)).toEqual(reply);
  });

  it('keeps booleans only after setresp(3)', () => {
    expect(run('redis.setresp(3) return {true, false}')).toEqual([true, false]);
    expect(run('return {true, false}')).toEqual([1, null]);
  });
});
