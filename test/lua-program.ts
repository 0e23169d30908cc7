/**
 * Random Lua programs that always end. Each returns a list of texts, one for every expression. An
 * expression that fails adds its error message, so the messages are compared as well. Tables are
 * shown in the order of `pairs`.
 */
export function randomProgram(seed: number): string {
  return new Programmer(seed).program();
}

/** Shows any value as text. Addresses and the sign of NaN are left out: they are random. */
const PRELUDE = `
local show
show = function(v, depth)
  local kind = type(v)
  if kind == 'number' then return v ~= v and 'NaN' or tostring(v) end
  if kind == 'string' then return string.format('%q', v) end
  if kind ~= 'table' then return kind == 'boolean' and tostring(v) or kind end
  if depth > 3 then return '...' end
  local parts = {}
  for k, x in pairs(v) do
    parts[#parts + 1] = '[' .. show(k, depth + 1) .. ']=' .. show(x, depth + 1)
  end
  return '{' .. table.concat(parts, ',') .. '#' .. #v .. '}'
end
local function text(v) return type(v) == 'table' and 'table' or tostring(v) end
local function key(v) return type(v) == 'table' and 'table' or v end
local out = {}
local function try(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end
  out[#out + 1] = table.concat(parts, ' ')
end
`;

type Kind = 'number' | 'string' | 'table' | 'boolean' | 'any';

class Programmer {
  private state: number;
  private depth = 0;

  constructor(seed: number) {
    this.state = seed;
  }

  program(): string {
    const lines = [PRELUDE, this.variables()];
    const count = 4 + this.below(8);
    for (let at = 0; at < count; at++) lines.push(this.statement());
    lines.push('return out');
    return lines.join('\n');
  }

  /** A small generator of numbers with good enough mixing (mulberry32). */
  private below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  private pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  private repeat(most: number, make: () => string): string[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  /** Constants come by way of locals, because C Lua folds and merges literal ones. */
  private variables(): string {
    return [
      `local n1, n2, n3 = ${this.numeral()}, ${this.numeral()}, ${this.numeral()}`,
      `local s1, s2, s3 = ${this.text()}, ${this.text()}, ${this.text()}`,
      `local t1, t2 = ${this.tableText()}, ${this.tableText()}`,
      'local b1, b2, nothing = true, false, nil',
    ].join('\n');
  }

  private numeral(): string {
    return this.pick([
      () => String(this.below(10) + 1),
      () => String(this.below(1000) - 500 || 7),
      () => String((this.below(2000) - 1000) / 8 || 0.5),
      () => `${this.below(9) + 1}e${this.below(30) - 10}`,
      () => String(2 ** this.below(54) + 1),
      () => this.pick(['0.1', '1e15', '123456789012', '0.3333333333333333', '4294967296', '255']),
    ])();
  }

  private text(): string {
    const char = () =>
      this.pick([
        ...'abcdefXYZ0123456789 .,-_%()[]',
        '\\n',
        '\\0',
        '\\"',
        '\\\\',
        '\\200',
        '\\255',
        'ab',
        '12',
      ]);
    return `"${this.repeat(10, char).join('')}"`;
  }

  private key(): string {
    return this.pick([
      () => this.pick(['a', 'b', 'key', 'name', 'x1', 'longer_key_name', 'z']),
      () => `[${1 + this.below(8)}]`,
      () => `[${this.numeral()}]`,
      () => `[${this.text()}]`,
      () => `[${this.pick(['true', 'false', '-1', '0', '2.5'])}]`,
    ])();
  }

  private tableText(): string {
    const value = () =>
      this.pick([
        () => this.numeral(),
        () => this.text(),
        () => this.pick(['true', 'false']),
        () => (this.below(6) === 0 ? 'nil' : String(this.below(10))),
        () => `{${this.repeat(3, () => this.numeral()).join(', ')}}`,
      ])();
    const field = () => (this.below(2) === 0 ? value() : `${this.key()} = ${value()}`);
    return `{${this.repeat(8, field).join(', ')}}`;
  }

  /** An expression, mostly of the wanted kind, rarely of another, so that errors occur. */
  private expression(kind: Kind): string {
    if (this.depth > 3) return this.leaf(kind);
    this.depth += 1;
    const wanted = this.below(25) === 0 ? 'any' : kind;
    const text = this.below(3) === 0 ? this.leaf(wanted) : this.compound(wanted);
    this.depth -= 1;
    return text;
  }

  private leaf(kind: Kind): string {
    switch (kind) {
      case 'number':
        return this.pick(['n1', 'n2', 'n3', '2', '3', '10']);
      case 'string':
        return this.pick(['s1', 's2', 's3', '"abc"', '"12"', '"key=value"', '""']);
      case 'table':
        return this.pick(['t1', 't2', '{}', '{1, 2, 3}', '{a = 1}']);
      case 'boolean':
        return this.pick(['b1', 'b2']);
      case 'any':
        return this.leaf(this.pick(['number', 'string', 'table', 'boolean'])).concat(
          this.below(8) === 0 ? '.field' : '',
        );
    }
  }

  private compound(kind: Kind): string {
    const number = () => this.expression('number');
    const string = () => this.expression('string');
    const table = () => this.expression('table');
    const any = () => this.expression('any');
    switch (kind) {
      case 'number':
        return this.pick(NUMBERS)({ number, string, table, any, gen: this });
      case 'string':
        return this.pick(STRINGS)({ number, string, table, any, gen: this });
      case 'table':
        return this.pick(TABLES)({ number, string, table, any, gen: this });
      case 'boolean':
        return this.pick(BOOLEANS)({ number, string, table, any, gen: this });
      case 'any':
        return this.expression(this.pick(['number', 'string', 'table', 'boolean']));
    }
  }

  pattern(): string {
    const item = () =>
      this.pick([
        ...['a', 'b', '.', '%a', '%d', '%s', '%w', '%p', '%u', '%x', '%z', '%A', '%D', '%S'],
        ...['[a-c]', '[^a-c]', '[%d%s]', '[^%w]', '[]]', '[%-x]', '%.', '%%', '%(', '12', ' '],
        ...['(', ')', '()', '%1', '%b()', '%f[%w]', '[', '%'],
      ]);
    const quantified = () => item() + this.pick(['', '', '', '*', '+', '-', '?']);
    const group = () => (this.below(4) === 0 ? `(${quantified()}${quantified()})` : quantified());
    const body = this.repeat(4, group).join('') || quantified();
    return `"${this.pick(['', '', '', '^'])}${body}${this.pick(['', '', '', '$'])}"`;
  }

  format(): string {
    const flags = this.pick(['', '', '-', '0', '+', ' ', '#']);
    const width = this.pick(['', '', '5', '12']);
    const precision = this.pick(['', '', '.0', '.3', '.10']);
    return `%${flags}${width}${precision}`;
  }

  chance(limit: number): number {
    return this.below(limit);
  }

  private statement(): string {
    return this.pick(STATEMENTS)({
      number: () => this.expression('number'),
      string: () => this.expression('string'),
      table: () => this.expression('table'),
      any: () => this.expression('any'),
      gen: this,
    });
  }
}

interface Parts {
  readonly number: () => string;
  readonly string: () => string;
  readonly table: () => string;
  readonly any: () => string;
  readonly gen: Programmer;
}

type Template = (parts: Parts) => string;

const OPERATORS = ['+', '-', '*', '/', '%'];
const COMPARISONS = ['<', '<=', '>', '>=', '==', '~='];

function choose<Item>(gen: Programmer, items: readonly Item[]): Item {
  return items[gen.chance(items.length)]!;
}

const NUMBERS: readonly Template[] = [
  ({ number, gen }) => `(${number()} ${choose(gen, OPERATORS)} ${number()})`,
  ({ number, gen }) => `(${number()} ${choose(gen, OPERATORS)} ${number()})`,
  ({ string, number }) => `(${string()} + ${number()})`,
  ({ number }) => `(-${number()})`,
  ({ number, gen }) => `(${number()} ^ ${choose(gen, ['2', '3', '0', '-1'])})`,
  ({ string }) => `#${string()}`,
  ({ table }) => `#${table()}`,
  ({ number, gen }) => `math.${choose(gen, ['floor', 'ceil', 'abs'])}(${number()})`,
  ({ number, gen }) =>
    `math.${choose(gen, ['max', 'min', 'fmod', 'mod'])}(${number()}, ${number()})`,
  ({ number }) => `select(2, math.modf(${number()}))`,
  ({ number }) => `select(2, math.frexp(${number()}))`,
  ({ string }) => `tonumber(${string()})`,
  ({ string, gen }) => `tonumber(${string()}, ${choose(gen, ['2', '8', '16', '36'])})`,
  ({ string, number }) => `string.byte(${string()}, ${number()})`,
  ({ string }) => `select('#', string.byte(${string()}, 1, -1))`,
  ({ number, gen }) =>
    `bit.${choose(gen, ['band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift', 'rol', 'ror'])}(${number()}, ${number()})`,
  ({ number, gen }) => `bit.${choose(gen, ['bnot', 'bswap', 'tobit'])}(${number()})`,
  ({ table }) => `table.maxn(${table()})`,
  ({ string, gen }) => `(string.find(${string()}, ${gen.pattern()}))`,
  ({ string, gen }) => `select(2, string.gsub(${string()}, ${gen.pattern()}, "<%0>"))`,
  ({ table, gen }) => `${table()}[${choose(gen, ['1', '2', '"a"', 'n1', 's1'])}]`,
  ({ number }) => `(struct.unpack('>i4', struct.pack('>i4', ${number()})))`,
  ({ number }) => `(cmsgpack.unpack(cmsgpack.pack(${number()})))`,
  ({ number, any }) => `(function(a, b) return a end)(${number()}, ${any()})`,
  ({ any }) => `select('#', (function(...) return ... end)(${any()}, ${any()}))`,
];

const STRINGS: readonly Template[] = [
  ({ string }) => `(${string()} .. ${string()})`,
  ({ string, number }) => `(${string()} .. ${number()} .. ${string()})`,
  ({ any }) => `(${any()} .. ${any()})`,
  ({ string, number, gen }) =>
    `string.sub(${string()}, ${choose(gen, ['1', '-3', number()])}, ${choose(gen, ['3', '-1', number()])})`,
  ({ string, gen }) => `string.${choose(gen, ['upper', 'lower', 'reverse'])}(${string()})`,
  ({ string, gen }) => `string.rep(${string()}, ${gen.chance(5) - 1})`,
  ({ number }) => `text(${number()})`,
  ({ string, gen }) => `(string.match(${string()}, ${gen.pattern()}))`,
  ({ string, gen }) =>
    `(string.gsub(${string()}, ${gen.pattern()}, ${choose(gen, ['"%0"', '"[%1]"', '"%%"', '{a = "A", b = false}', 'string.upper', 'function(c) return nil end'])}))`,
  ({ string, gen }) => `(string.gsub(${string()}, ${gen.pattern()}, "x", ${gen.chance(3)}))`,
  ({ number, gen }) =>
    `string.format("${gen.format()}${choose(gen, [...'dixXoueEfgGc'])}", ${number()})`,
  ({ string, gen }) => `string.format("${gen.format()}s", ${string()})`,
  ({ string }) => `string.format("%q", ${string()})`,
  ({ number, string }) => `string.format("%s:%d:%%", ${string()}, ${number()})`,
  ({ table, gen }) => `table.concat(${table()}, ${choose(gen, ['","', '""', 's1'])})`,
  ({ table }) => `cjson.encode(${table()})`,
  ({ string }) => `cjson.encode(${string()})`,
  ({ any }) => `cmsgpack.pack(${any()})`,
  ({ number, gen }) => `bit.tohex(${number()}, ${choose(gen, ['8', '4', '-2'])})`,
  ({ number, gen }) =>
    `struct.pack("${choose(gen, ['>', '<', '!4', '', '>!'])}${choose(gen, ['b', 'H', 'i', 'I3', 'l', 'd', 'f', 'i10'])}", ${number()})`,
  ({ string }) => `struct.pack("sHc0", ${string()}, 5, ${string()})`,
  ({ any }) => `type(${any()})`,
  ({ string }) => `(${string()}):upper():lower()`,
  ({ string }) => `redis.sha1hex(${string()})`,
  ({ any }) => `select(2, pcall(error, ${any()}))`,
  ({ any }) => `select(2, pcall(function() error(${any()}, 2) end))`,
];

const TABLES: readonly Template[] = [
  ({ any }) => `{${any()}, ${any()}, k = ${any()}}`,
  ({ any }) => `{${any()}, nil, ${any()}}`,
  ({ string, any }) => `{[key(${string()})] = ${any()}, [key(${string()})] = ${any()}, ${any()}}`,
  ({ number, any }) => `{[key(${number()})] = ${any()}, [key(${number()})] = ${any()}}`,
  ({ table }) => `{unpack(${table()})}`,
  ({ string, gen }) => `{string.find(${string()}, ${gen.pattern()})}`,
  ({ string, gen }) => `{string.match(${string()}, ${gen.pattern()})}`,
  ({ string }) => `{string.byte(${string()}, 1, 5)}`,
  ({ table }) => `cjson.decode(cjson.encode(${table()}))`,
  ({ table }) => `(cmsgpack.unpack(cmsgpack.pack(${table()})))`,
  ({ string }) => `cjson.decode(${string()})`,
  ({ string }) => `{cmsgpack.unpack(${string()})}`,
  ({ string, gen }) =>
    `{struct.unpack("${choose(gen, ['b', '>H', 's', 'c2', 'bc0', '!2bi'])}", ${string()})}`,
  ({ any }) => `{pcall(function() return ${any()} end)}`,
  ({ any }) => `{pcall(function(x) return x.a.b, x:c() end, ${any()})}`,
  ({ table }) => `{next(${table()})}`,
  ({ table, gen }) => `{next(${table()}, ${choose(gen, ['1', '"a"', 'n1', 'nil'])})}`,
  ({ any }) => `{select(2, ${any()}, ${any()}, ${any()})}`,
  ({ any }) => `{loadstring("return ...")(${any()})}`,
  ({ number }) => `{math.frexp(${number()}), math.modf(${number()})}`,
];

const BOOLEANS: readonly Template[] = [
  ({ number, gen }) => `(${number()} ${choose(gen, COMPARISONS)} ${number()})`,
  ({ string, gen }) => `(${string()} ${choose(gen, COMPARISONS)} ${string()})`,
  ({ any, gen }) => `(${any()} ${choose(gen, COMPARISONS)} ${any()})`,
  ({ any }) => `(not ${any()})`,
  ({ any }) => `(${any()} and ${any()})`,
  ({ any }) => `(${any()} or ${any()})`,
  ({ table }) => `(next(${table()}) == nil)`,
  ({ any }) => `rawequal(${any()}, ${any()})`,
];

const STATEMENTS: readonly Template[] = [
  ({ any }) => `try(pcall(function() return ${any()} end))`,
  ({ any }) => `try(pcall(function() return ${any()} end))`,
  ({ any }) => `try(pcall(function() return ${any()}, ${any()} end))`,
  ({ number }) => `try(pcall(function() return ${number()} end))`,
  ({ string }) => `try(pcall(function() return ${string()} end))`,
  ({ table }) => `try(pcall(function() return ${table()} end))`,
  ({ any, gen }) =>
    `try(pcall(function() t1[${choose(gen, ['#t1 + 1', 'n1', 's1', '"new"', '2'])}] = ${any()} return t1 end))`,
  ({ any, gen }) =>
    `try(pcall(function() t2.${choose(gen, ['a', 'b', 'key', 'fresh'])} = ${any()} return t2 end))`,
  ({ gen }) =>
    `try(pcall(function() t1[${choose(gen, ['#t1', '1', '"a"', '2'])}] = nil return t1 end))`,
  ({ any, gen }) =>
    `try(pcall(function() table.insert(t1, ${choose(gen, ['1', '2', '#t1 + 1'])}, ${any()}) return t1 end))`,
  ({ gen }) =>
    `try(pcall(function() return table.remove(t1${choose(gen, ['', ', 1', ', 2'])}), t1 end))`,
  ({ table, gen }) =>
    `try(pcall(function() local t = ${table()} table.sort(t${choose(gen, ['', ', function(a, b) return type(a) < type(b) end', ', function(a, b) return a > b end'])}) return t end))`,
  ({ gen, any }) =>
    `try(pcall(function() local t = {} for i = 1, ${gen.chance(12)} do t[${choose(gen, ['i', 'i * 2', '"k" .. i', '-i', '13 - i', 'i / 2'])}] = ${any()} end return t end))`,
  ({ table, gen }) =>
    `try(pcall(function() local t, n = ${table()}, 0 for k, v in pairs(t) do n = n + 1 if n > ${gen.chance(4)} then t[k] = nil end end return t, n end))`,
  ({ gen, number }) =>
    `try(pcall(function() local s = 0 for i = ${number()}, ${number()}, ${choose(gen, ['1000', '-1000', '1e6'])} do s = s + 1 if s > 20 then break end end return s end))`,
  ({ any }) =>
    `try(pcall(function() local fs = {} for i = 1, 3 do local x = ${any()} fs[i] = function(...) i = i + 1 return i, x, ... end end return fs[1](1), fs[1](), fs[2](2, 3) end))`,
  ({ any }) =>
    `try(pcall(function() local t = setmetatable({}, {__index = function(_, k) return ${any()} end, __call = function(_, a) return a end}) return t.x, t[1], t(${any()}) end))`,
  ({ any }) =>
    `try(pcall(function() local m = {__add = function(a, b) return ${any()} end, __concat = function() return ${any()} end, __lt = function() return ${any()} end, __eq = function() return true end} local a, b = setmetatable({}, m), setmetatable({}, m) return a + 1, 'x' .. b, a < b, a == b, a <= b end))`,
  ({ any }) =>
    `try(pcall(function() local co = coroutine.wrap(function(a) local b = coroutine.yield(${any()}) for i = 1, 2 do a = coroutine.yield(b, i) end return ${any()}, a end) return co(1), co(${any()}), co(), co(3) end))`,
  ({ any }) =>
    `try(coroutine.resume(coroutine.create(function() local x = ${any()} coroutine.yield(x) end)))`,
  ({ string, gen }) =>
    `try(pcall(function() local t = {} for a, b in string.gmatch(${string()}, ${gen.pattern()}) do t[#t + 1] = a t[#t + 1] = b if #t > 20 then break end end return t end))`,
  ({ any }) =>
    `try(pcall(function() local function f(n, ...) if n == 0 then return ... end return f(n - 1, ${any()}, ...) end return f(4) end))`,
  ({ any }) => `try(xpcall(function() return ${any()} end, function(e) return type(e), e end))`,
  ({ number }) => `n1 = tonumber((select(2, pcall(function() return ${number()} end)))) or n2`,
];
