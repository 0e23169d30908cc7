import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startWireEngine } from '../../../test/wire-client.ts';
import { parseAcl } from './acl-text.ts';
import { RuleError } from './rule-error.ts';
import { applyRule, newUserState, userLine } from './rules.ts';

const DEFAULTS = { allChannels: false };

/** Parts of rules, right and wrong, that are joined at random. */
const PARTS = fc.constantFrom(
  ...[
    'on',
    'off',
    'nopass',
    'reset',
    'resetpass',
    'allkeys',
    'resetkeys',
    'clearselectors',
    '+@all',
  ],
  ...[
    '+',
    '-',
    '@',
    '|',
    '~',
    '%',
    'R',
    'W',
    '&',
    '>',
    '<',
    '#',
    '!',
    '(',
    ')',
    ' ',
    '*',
    '',
    '"',
    "'",
  ],
  ...[
    'get',
    'config',
    'config|get',
    'lock',
    'read',
    'a'.repeat(64),
    '\0',
    '\n',
    '\xff',
    '__proto__',
  ],
  ...['constructor', 'skip-sanitize-payload', '[', '\\', 'x'.repeat(1025)],
);
const RULE = fc.oneof(
  fc.array(PARTS, { maxLength: 6 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary-ascii', maxLength: 12 }),
  fc.constantFrom(
    'on',
    '+get',
    '-get',
    '~a*',
    '%R~b',
    '&c',
    '(+set ~d)',
    '>pw',
    '+@lock',
    '+select|0',
    '%RW~*',
    '%W~*',
    '%R~*',
    '+get|a ~*',
    '(~a) +get)',
  ),
);

describe('random rules', () => {
  it('are applied whole or not at all, and no rule throws anything but its error', () => {
    const wire = startWireEngine();
    const admin = wire.connect();
    const property = fc.property(fc.array(RULE, { maxLength: 6 }), (rules) => {
      const before = admin.send('ACL LIST');
      const reply = admin.send(['ACL', 'SETUSER', 'app', ...rules]);
      if (reply !== '+OK') {
        expect(reply).toMatch(/^-ERR (?:Error in ACL SETUSER modifier|Unmatched parenthesis)/);
        expect(admin.send('ACL LIST')).toBe(before);
      }
      expect(admin.send('ACL GETUSER app')).not.toMatch(/^-/);
    });
    fc.assert(property, { numRuns: 3000 });
  });

  it('make a line that restores the same user', () => {
    const property = fc.property(fc.array(RULE, { maxLength: 8 }), (rules) => {
      let state = newUserState(DEFAULTS);
      for (const rule of rules) {
        try {
          state = applyRule(state, rule, DEFAULTS);
        } catch (error) {
          expect(error).toBeInstanceOf(RuleError);
        }
      }
      const line = userLine('app', state);
      const parsed = parseAcl(line, 'file', DEFAULTS);
      expect(parsed).toHaveProperty('users');
      if ('users' in parsed) expect(userLine('app', parsed.users.get('app')!)).toBe(line);
    });
    fc.assert(property, { numRuns: 3000 });
  });

  it('in a file make no other error than a list of its lines', () => {
    const property = fc.property(fc.array(RULE, { maxLength: 8 }), (rules) => {
      const parsed = parseAcl(`user app ${rules.join(' ')}\n${rules.join('\n')}`, 'file', DEFAULTS);
      if ('errors' in parsed) expect(parsed.errors).toMatch(/file:\d|on line \d/);
    });
    fc.assert(property, { numRuns: 2000 });
  });
});

describe('rules that Redis accepts or crashes on, and that are refused here', () => {
  it.each([
    ['%', 'Syntax error'],
    ['%R', 'Syntax error'],
    ['(%)', 'Syntax error'],
    ['(~"a")', 'Syntax error'],
    ['+get|a ~*', 'Syntax error'],
    ['+get|a\nuser other on nopass ~* +@all', 'Syntax error'],
    ['+get|a\0', 'Syntax error'],
    ['(~a) +get)', 'Syntax error'],
    [`~${'x'.repeat(1025)}`, 'A pattern has at most 1024 bytes'],
    [`&${'x'.repeat(1025)}`, 'A pattern has at most 1024 bytes'],
  ])('%s', (rule, message) => {
    expect(() => applyRule(newUserState(DEFAULTS), rule, DEFAULTS)).toThrow(message);
  });

  it('a password that no client can send, which the error does not show', () => {
    const admin = startWireEngine().connect();
    expect(admin.send(['ACL', 'SETUSER', 'app', `>${'secret'.repeat(200)}`])).toBe(
      "-ERR Error in ACL SETUSER modifier '>': A password has at most 1024 bytes",
    );
  });
});

describe('a user has at most 1000 rules', () => {
  const LIMIT = 'A user has at most 1000 rules';

  it.each([
    ['key patterns', (at: number) => `~${at}`],
    ['channel patterns', (at: number) => `&${at}`],
    ['first arguments', (at: number) => `+get|${at}`],
    ['passwords', (at: number) => `>${at}`],
    ['selectors', () => '(+get)'],
  ])('%s', (_, ruleOf) => {
    let state = newUserState(DEFAULTS);
    for (let at = 0; at < 500; at++) state = applyRule(state, ruleOf(at), DEFAULTS);
    expect(() => {
      for (let at = 500; at <= 1000; at++) state = applyRule(state, ruleOf(at), DEFAULTS);
    }).toThrow(LIMIT);
  });

  it('in a selector', () => {
    const words = Array.from({ length: 1001 }, (_, at) => `~${at}`);
    const rule = (count: number): string => `(${words.slice(0, count).join(' ')})`;
    expect(() => applyRule(newUserState(DEFAULTS), rule(1001), DEFAULTS)).toThrow(LIMIT);
    applyRule(newUserState(DEFAULTS), rule(900), DEFAULTS);
  });

  it('and ACL SETUSER takes no more arguments', () => {
    const admin = startWireEngine().connect();
    const rules = (count: number): string[] => new Array(count).fill('+@read');
    expect(admin.send(['ACL', 'SETUSER', 'app', ...rules(1000)])).toBe('+OK');
    expect(admin.send(['ACL', 'SETUSER', 'app', ...rules(1001)])).toBe(`-ERR ${LIMIT}`);
  });
});

describe('the rules of commands in ACL LIST', () => {
  it.each([
    ['+get +set', '-@all +get +set'],
    ['+get -get', '-@all -get'],
    ['+@all -get', '+@all -get'],
    ['+config|get +config', '-@all +config'],
    ['+config +config|get', '-@all +config +config|get'],
    ['+@read -@read +get', '-@all -@read +get'],
    ['+get +@all', '+@all'],
    ['+GET +@READ', '-@all +get +@read'],
  ])('%s is shown as %s', (rules, shown) => {
    const state = rules
      .split(' ')
      .reduce((before, rule) => applyRule(before, rule, DEFAULTS), newUserState(DEFAULTS));
    expect(state.root.commands.text).toBe(shown);
  });
});
