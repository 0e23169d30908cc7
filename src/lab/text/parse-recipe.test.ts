import { describe, expect, it } from 'vitest';
import { type Algorithm, explore, LabError, parseRecipe, replay } from '../index.ts';

const LOCK = `until SET lock 1 NX EX 2 gives OK
    sleep 1 s
hold lock for 2 s
    work
DEL lock`;

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof LabError) return error.message;
    throw error;
  }
  return '(no error)';
}

/** The actions and replies of a single client, as the trace shows them. */
function alone(text: string, variant?: string): string[] {
  const world = {
    clients: 1,
    crashes: 0,
    pauses: 0,
    ticks: 50,
    ...(variant !== undefined && { variant }),
  };
  const recipe = parseRecipe(text, 'mine');
  for (let schedule = ''; ; ) {
    const { next, trace } = replay(recipe, schedule, world);
    const done = trace.at(-1)?.clients[0]?.status === 'finished';
    if (next.length === 0 || done) {
      return trace.flatMap(({ kind, action, reply }) =>
        kind === 'tick' ? '.' : `${action} → ${reply}`,
      );
    }
    schedule += next[0]!;
  }
}

describe('a recipe text', () => {
  it('becomes a recipe with its key, lease and steps', () => {
    const recipe = parseRecipe(LOCK, 'mine');
    expect(recipe).toMatchObject({ name: 'mine', lockKey: 'lock' });
    expect(recipe.variants).toBeUndefined();
    expect(alone(LOCK)).toEqual([
      'SET lock 1 NX EX 2 → OK',
      '.',
      'write → taken',
      'DEL lock → (integer) 1',
    ]);
  });

  it.each([
    ['Windows line ends', LOCK.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${LOCK}`],
    [
      'empty lines, comments and spaces at the end',
      `# mine\n\n${LOCK.replaceAll('\n', '   # so\n\n')}\n`,
    ],
    ['two spaces of indentation', LOCK.replaceAll('    ', '  ')],
    ['quotes around words', LOCK.replace('SET lock 1', 'SET "lock" "1"')],
  ])('means the same with %s', (_, text) => {
    const [one, other] = [LOCK, text].map((each) =>
      explore(parseRecipe(each, 'mine'), { clients: 2 }),
    );
    expect(other!.states).toBe(one!.states);
    expect(other!.verdicts).toEqual(one!.verdicts);
  });

  it('adds numbers, compares values, and destructures replies', () => {
    const text = `two = 2
RPUSH list 5 six
first, second, third = LRANGE list 0 -1
until first >= 7
    first = first + two - 1
    SET sum first
if third = nil
    SET kind none
else
    SET kind some
unless second = "six"
    SET second wrong
if "x" < 1
    SET never 1
    SET never 2
SET words "a b"
left, other = GET words
SET last other
hold last
    write`;
    expect(alone(text)).toEqual([
      'RPUSH list 5 six → (integer) 2',
      'LRANGE list 0 -1 → ["5", "six"]',
      'SET sum 6 → OK',
      'SET sum 7 → OK',
      'SET kind none → OK',
      'SET words a b → OK',
      'GET words → "a b"',
      'SET last b → OK',
      'write → taken',
    ]);
  });

  it('runs the named variant, and the first one by default', () => {
    const text = `variants plain, careful\nhold lock\n    if variant careful\n        GET lock\n    else\n        DEL lock`;
    expect(alone(text)).toEqual(['DEL lock → (integer) 0']);
    expect(alone(text, 'careful')).toEqual(['GET lock → (nil)']);
    expect(messageOf(() => alone(text, 'carefull'))).toContain('did you mean "careful"');
  });

  it('sends a transaction as one step, and assigns its replies after EXEC', () => {
    const text = `MULTI\na = INCR n\nb = INCR n\nEXEC\nSET sum b\nhold sum\n    write`;
    expect(alone(text).slice(0, 2)).toEqual([
      'MULTI; INCR n; INCR n; EXEC → [(integer) 1, (integer) 2]',
      'SET sum 2 → OK',
    ]);
  });

  it('sends a script with its title as a comment, without the indentation of the text', () => {
    const text = `EVAL <set it> 1 key 7\nhold key\n    write\n\nscript <set it>\n    if true then\n      return redis.call('set', KEYS[1], ARGV[1])\n    end\n`;
    const { trace } = replay(parseRecipe(text, 'mine'), 'a', { clients: 1 });
    expect(trace[0]!.lines![0]![1]).toBe(
      "-- set it\nif true then\n  return redis.call('set', KEYS[1], ARGV[1])\nend",
    );
    expect(trace[0]!.reply).toBe('OK');
  });

  it('stays inside a waiting loop if the client has side effects before it', () => {
    const text = `tries = 0\nGET hint\nrepeat, each second\n    tries = tries + 1\n    if tries > 2\n        leave the loop\nhold hint\n    write`;
    expect(alone(text)).toEqual(['GET hint → (nil)', '.', '.', 'write → taken']);
  });

  it.each([
    [
      'counts its passes',
      'tries = 0\nuntil GET lock gives 3\n    tries = tries + 1\n    SET lock tries\n    sleep 1 s',
      ['GET lock → (nil)', 'SET lock 1 → OK', '.', 'GET lock → "1"', 'SET lock 2 → OK', '.'],
    ],
    [
      'reads behind the loop what a pass assigned',
      'until EXISTS lock gives 1\n    reply = SETNX lock 7\n    sleep 1 s\nSET copy reply\nDEL lock',
      ['EXISTS lock → (integer) 0', 'SETNX lock 7 → (integer) 1', '.', 'EXISTS lock → (integer) 1'],
    ],
    [
      'assigns in one branch what a later pass reads',
      'seen = "no"\nrepeat, each second\n    if seen = "yes"\n        leave the loop\n    if SETNX lock 1 gives 1\n        seen = "yes"',
      ['SETNX lock 1 → (integer) 1', '.', 'write → taken'],
    ],
    [
      'reads in its condition what a pass assigned',
      'seen = 0\nuntil seen = 2\n    seen = seen + 1\n    GET lock\n    sleep 1 s',
      ['GET lock → (nil)', '.', 'GET lock → (nil)', '.', 'write → taken'],
    ],
  ])('keeps the variables of earlier passes where the client %s', (_, text, steps) => {
    const run = alone(`${text}\nhold lock\n    write`);
    expect(run.slice(0, steps.length)).toEqual(steps);
    expect(run.at(-1)).toBe('write → taken');
  });

  it('reaches the same states again if each pass assigns what it reads', () => {
    const states = (text: string): number =>
      explore(parseRecipe(text, 'mine'), { clients: 2 }).states;
    const assigning = `repeat, each second
    reply = SET lock 1 NX EX 2
    if reply = "OK"
        leave the loop
hold lock for 2 s
    work
DEL lock
SET last reply`;
    expect(states(assigning)).toBe(states(`${LOCK}\nSET last OK`));
  });

  it('ends with `lost` after "stop: the lock is lost", so that silent-loss holds', () => {
    const careless = LOCK.replace('DEL lock', 'GET lock');
    const careful = LOCK.replace('DEL lock', 'stop: the lock is lost');
    const isSilent = (text: string): boolean => {
      const world = { clients: 2, crashes: 0, checks: ['silent-loss'] } as const;
      return !explore(parseRecipe(text, 'mine'), world).verdicts[0]!.holds;
    };
    expect([isSilent(careless), isSilent(careful)]).toEqual([true, false]);
  });
});

describe('an error in a recipe text', () => {
  const below = (line: string): string => `${line}\n${LOCK}`;

  it.each([
    ['nothing', '', 'mine has no statement'],
    ['comments alone', '# so\n\n', 'mine has no statement'],
    ['too much', 'x'.repeat(70_000), 'mine has more than 65536 characters'],
    ['binary data', 'SET a \u0000b', 'line 1, column 7 of mine: this is not plain text'],
    ...['\u009b', '\u0085', '\u202e', '\u2066', '\u2028', '\u2029', '\u200b', '\u{e0041}'].map(
      (char) => [
        `the unseen character ${JSON.stringify(char.codePointAt(0)!.toString(16))}`,
        `SET lock a${char}b`,
        `line 1, column 11 of mine: this is not plain text in UTF-8: U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')} is not allowed`,
      ],
    ),
    [
      'an unseen character in a script',
      `${LOCK}\nscript <a>\nreturn "\u202e"`,
      'line 7, column 9 of mine: this is not plain text in UTF-8: U+202E is not allowed',
    ],
    ['an unseen character in a comment', '# \u001b[31m', 'line 1, column 3 of mine: this is not'],
    [
      'a tab',
      'if GET a gives 1\n\tDEL a',
      'line 2, column 1 of mine: a tab at the start of a line: indent by spaces',
    ],
    [
      'a misspelt word',
      LOCK.replace('until', 'untill'),
      'line 1, column 1 of mine: "untill" is not a statement; did you mean "until"?',
    ],
    [
      'a command in small letters',
      LOCK.replace('DEL', 'del'),
      'line 5, column 1 of mine: "del": commands are written in capitals: DEL',
    ],
    [
      'an unknown command',
      LOCK.replace('DEL', 'DELL'),
      'line 5, column 1 of mine: there is no command DELL; did you mean "DEL"?',
    ],
    [
      'a command in small letters in a condition',
      LOCK.replace('SET', 'set'),
      'line 1, column 7 of mine: "set": commands are written in capitals: SET',
    ],
    [
      'a command in small letters in an assignment',
      below('x = get lock'),
      'line 1, column 5 of mine: "get": commands are written in capitals: GET',
    ],
    [
      'a key that no command names',
      LOCK.replace('hold lock', 'hold lokc'),
      'line 3, column 1 of mine: no command names the key "lokc": "hold" takes the key that the commands set; did you mean "lock"?',
    ],
    [
      'a sign for not equal',
      below('x = 1\nif x != 1\n    work'),
      'line 2, column 6 of mine: "!=": expected gives, =, <, <=, > or >=; write "unless x = 1" for "if x != 1"',
    ],
    [
      'a reply that is not equal',
      below('if GET lock != 1\n    work'),
      'line 1, column 13 of mine: "!=": the reply of a command is compared by "gives", as in "if GET lock gives token" or "unless',
    ],
    [
      'else with a condition',
      below('if GET lock gives 1\n    work\nelse if GET lock gives 2\n    work'),
      'line 3, column 6 of mine: "else if": write "else" alone, and "if" on a line below it',
    ],
    [
      'a part of a second',
      LOCK.replace('sleep 1 s', 'sleep 0.5 s'),
      'line 2, column 11 of mine: "0.5": expected a whole number above 0, of at most 3600 s; write 500 ms',
    ],
    [
      'an unknown variable',
      below('x = foo + 1'),
      'line 1, column 5 of mine: unknown variable "foo"; assign it above',
    ],
    [
      'a misspelt variable',
      below('token = another one each time\nif tokne = 1\n    work'),
      'line 2, column 4 of mine: unknown variable "tokne"; did you mean "token"?',
    ],
    [
      'a misspelt variable in a command',
      below('token = another one each time\nSET a tokne'),
      'line 2, column 7 of mine: "tokne" is not a variable; did you mean "token"?',
    ],
    [
      'a variable before its value',
      below('SET a value\nvalue = 1'),
      'line 1, column 7 of mine: "value" has no value here: line 2 assigns it',
    ],
    [
      'a variable of a transaction before EXEC',
      below('MULTI\na = INCR n\nSET b a\nEXEC'),
      'line 3, column 7 of mine: "a" has no value here',
    ],
    [
      'a reserved name',
      below('work = 1'),
      'line 1, column 1 of mine: "work" is a word of the language',
    ],
    [
      'no comparison',
      LOCK.replace(' gives OK', ''),
      'line 1, column 25 of mine: the line ends too early. Expected a comparison: gives',
    ],
    [
      'a reply compared by =',
      LOCK.replace('gives OK', '= OK'),
      'line 1, column 26 of mine: "=": the reply of a command is compared by "gives"',
    ],
    [
      'a wrong comparison',
      below('x = 1\nif x == 1\n    work'),
      'line 2, column 6 of mine: "==": expected gives, =, <',
    ],
    [
      'no time',
      LOCK.replace('1 s', '1'),
      'line 2, column 12 of mine: the line ends too early. Expected "s" or "ms"',
    ],
    [
      'a wrong unit',
      LOCK.replace('1 s', '1 sec'),
      'line 2, column 13 of mine: "sec" is not a unit of time',
    ],
    [
      'no time at all',
      LOCK.replace('1 s', '0 s'),
      'line 2, column 11 of mine: "0": expected a whole number above 0',
    ],
    [
      'nothing indented',
      'hold lock\nwork',
      'line 2, column 1 of mine: nothing is indented below "hold" of line 1',
    ],
    [
      'too much indentation',
      LOCK.replace('\n    work', '\n    work\n      work'),
      'line 5, column 7 of mine: indented by 6 spaces, where 4 are expected',
    ],
    [
      'indentation that fits nowhere',
      LOCK.replace('\n    work', '\n    work\n  work'),
      'line 5, column 3 of mine: indented by 2 spaces, where 0 are expected',
    ],
    [
      'a first line that is indented',
      `  ${LOCK}`,
      'line 1, column 3 of mine: the first line must not be indented',
    ],
    [
      'no hold',
      'GET lock\nDEL lock',
      'line 2, column 1 of mine: no line says which key is the lock',
    ],
    [
      'two locks',
      `${LOCK}\nhold other\n    work`,
      'line 6, column 1 of mine: line 3 holds "lock": all lines with "hold" must name the same key',
    ],
    [
      'leave without a loop',
      below('leave the loop'),
      'line 1, column 1 of mine: there is no loop around this line',
    ],
    ['else without if', below('else\n    work'), 'line 1, column 1 of mine: "else" has no "if"'],
    [
      'extend outside',
      below('extend for 2 s'),
      'line 1, column 1 of mine: only a lock that is held is extended',
    ],
    ['EXEC alone', below('EXEC'), 'line 1, column 1 of mine: EXEC has no MULTI'],
    ['MULTI alone', 'hold lock\n    MULTI\n    GET a', 'line 2, column 5 of mine: EXEC is missing'],
    [
      'work inside MULTI',
      below('MULTI\nwork\nEXEC'),
      'line 2, column 1 of mine: between MULTI and EXEC only commands',
    ],
    [
      'no script',
      below('EVAL <delet> 1 lock'),
      'line 1, column 6 of mine: there is no script <delet>; write its Lua at the end',
    ],
    [
      'a misspelt script',
      `${below('EVAL <delet> 1 lock')}\nscript <delete>\nreturn 1`,
      'did you mean "delete"?',
    ],
    [
      'an empty script',
      `${LOCK}\nscript <a>\n\nscript <b>\nreturn 1`,
      'line 6, column 1 of mine: script <a> has no text below it',
    ],
    [
      'a script twice',
      `${LOCK}\nscript <a>\nreturn 1\nscript <a>\nreturn 1`,
      'line 8, column 1 of mine: there is a script <a> above',
    ],
    [
      'a quote that stays open',
      below('SET a "b'),
      'line 1, column 7 of mine: "b: a text in quotes ends with a quote',
    ],
    [
      'an unlisted variant',
      `variants a-one, b-one\nif variant a-on\n    work\n${LOCK}`,
      'line 2, column 12 of mine: unknown variant "a-on"; did you mean "a-one"?',
    ],
    [
      'variants too late',
      `${LOCK}\nvariants a, b`,
      'line 6, column 1 of mine: "variants" must be the first line',
    ],
    [
      'too many passes',
      below('5000 times\n    work'),
      'line 1, column 1 of mine: "5000 times": expected a number from 1 to 1000',
    ],
    [
      'words too many',
      LOCK.replace('    work', '    work hard'),
      'line 4, column 10 of mine: "hard" cannot be understood here. Expected the end of the line',
    ],
    [
      'another ending',
      LOCK.replace('DEL lock', 'stop: it is late'),
      'line 5, column 7 of mine: "it" cannot be understood here. Expected "the"',
    ],
  ])('names where, what was found and what to write: %s', (_, text, message) => {
    expect(messageOf(() => parseRecipe(text, 'mine'))).toContain(message);
  });

  it('is not reported for a key from a variable, a script, quotes or a text without commands', () => {
    for (const text of [
      'key = "lock"\nSET key 1\nhold lock\n    work',
      "EVAL <x> 0\nhold lock\n    work\nscript <x>\nreturn redis.call('set', 'lock', 1)",
      'SET "lock" 1\nhold "lock"\n    work',
      'hold lock\n    work',
    ]) {
      expect(messageOf(() => parseRecipe(text, 'mine'))).toBe('(no error)');
    }
  });

  it('suggests a variable out of 50 at most, so that a long text is parsed as fast', () => {
    const withVariables = (count: number): string => {
      const lines = Array.from({ length: count }, (_, at) => `variable-${at} = 1`);
      return `${lines.join('\n')}\nSET lock varaible-0\nhold lock\n    work`;
    };
    expect(messageOf(() => parseRecipe(withVariables(50), 'mine'))).toContain('did you mean');
    expect(messageOf(() => parseRecipe(withVariables(51), 'mine'))).toBe('(no error)');
  });

  const run = (text: string): string =>
    messageOf(() => explore(parseRecipe(text, 'mine') satisfies Algorithm, { clients: 1 }));

  it.each([
    [
      'a loop without a step',
      below('repeat\n    x = 1'),
      'line 1, column 1 of mine: this loop never ends: a client ran 20000 lines',
    ],
    [
      'a loop without an end',
      below('repeat\n    GET a'),
      'line 1, column 1 of mine: this loop never ends: a client took 900 steps',
    ],
    [
      'a loop that repeats its request at once',
      `GET hint\n${LOCK.replace('    sleep 1 s', '    2 times\n        GET lock').replace('NX', 'XX')}`,
      'line 2, column 1 of mine: this loop never ends: a client took 900 steps',
    ],
    [
      'a variable without a value',
      below('if GET a gives 1\n    x = 1\nSET b x'),
      'line 3, column 7 of mine: "x" has no value yet',
    ],
    [
      'nil in a command',
      below('x = GET a\nSET b x'),
      'line 2, column 7 of mine: "x" is nil, which no command can take',
    ],
    [
      'a sum of a text',
      below('x = "a"\ny = x + 1'),
      'line 2, column 5 of mine: expected a number, and this is "a"',
    ],
    [
      'a list that is compared',
      below('if LRANGE l 0 -1 gives 1\n    work'),
      'line 1, column 18 of mine: a list cannot be compared',
    ],
    [
      'a space inside MULTI',
      below('MULTI\nSET a "b c"\nEXEC'),
      'line 2, column 7 of mine: between MULTI and EXEC no word may be empty',
    ],
    ['an error reply', below('INCR'), 'mine cannot run INCR: '],
    [
      'a command that waits',
      below('BLPOP a 0'),
      'mine cannot run BLPOP a 0: its effect must depend only on the keys',
    ],
    [
      'a value that is not a time',
      'x = unix time + 2\nSET lock me\nhold lock until x\n    work',
      'the value of lock must be one, not "me"',
    ],
  ])('is reported while it runs: %s', (_, text, message) => {
    expect(run(text)).toContain(message);
  });
});
