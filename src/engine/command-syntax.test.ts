import { describe, expect, it } from 'vitest';
import { type Argument, parseSyntax } from './command-syntax.ts';
import { everyCommand } from './commands/index.ts';

/** All commands except containers, which have subcommands instead of arguments. */
const COMMANDS = everyCommand().filter(({ subcommands }) => subcommands === undefined);

describe('parsing the syntax of commands', () => {
  it('returns plain arguments with their types', () => {
    expect(parseSyntax('key seconds value pattern score')).toEqual([
      { name: 'key', type: 'key' },
      { name: 'seconds', type: 'integer' },
      { name: 'value', type: 'string' },
      { name: 'pattern', type: 'pattern' },
      { name: 'score', type: 'double' },
    ]);
    expect(parseSyntax('')).toEqual([]);
  });

  it('returns alternatives, optional or not', () => {
    expect(parseSyntax('[NX|EX seconds] <BEFORE|AFTER>')).toEqual([
      {
        name: 'nx_seconds',
        type: 'oneof',
        optional: true,
        arguments: [
          { name: 'nx', type: 'pure-token', token: 'NX' },
          { name: 'seconds', type: 'integer', token: 'EX' },
        ],
      },
      {
        name: 'before_after',
        type: 'oneof',
        arguments: [
          { name: 'before', type: 'pure-token', token: 'BEFORE' },
          { name: 'after', type: 'pure-token', token: 'AFTER' },
        ],
      },
    ]);
  });

  it('marks repeated arguments', () => {
    expect(parseSyntax('key [key ...]')).toEqual([{ name: 'key', type: 'key', multiple: true }]);
    expect(parseSyntax('key field value [field value ...]')).toEqual([
      { name: 'key', type: 'key' },
      {
        name: 'field_value',
        type: 'block',
        multiple: true,
        arguments: [
          { name: 'field', type: 'string' },
          { name: 'value', type: 'string' },
        ],
      },
    ]);
  });

  it('marks optional repeated arguments', () => {
    expect(parseSyntax('[channel [channel ...]]')).toEqual([
      { name: 'channel', type: 'string', optional: true, multiple: true },
    ]);
    expect(parseSyntax('[WEIGHTS weight [weight ...]]')).toEqual([
      { name: 'weight', type: 'double', token: 'WEIGHTS', optional: true, multiple: true },
    ]);
  });

  it('marks arguments that repeat with their token', () => {
    expect(parseSyntax('[GET pattern [GET pattern ...]]')).toEqual([
      {
        name: 'pattern',
        type: 'pattern',
        token: 'GET',
        optional: true,
        multiple: true,
        multipleToken: true,
      },
    ]);
  });

  it('does not mark arguments when others repeat', () => {
    expect(parseSyntax('command [argument ...]')).toEqual([
      { name: 'command', type: 'string' },
      { name: 'argument', type: 'string', optional: true, multiple: true },
    ]);
  });

  it('returns alternatives without brackets', () => {
    expect(parseSyntax('key LEFT|RIGHT count')).toMatchObject([
      { name: 'key' },
      { type: 'oneof', arguments: [{ token: 'LEFT' }, { token: 'RIGHT' }] },
      { name: 'count' },
    ]);
    expect(parseSyntax('[AGGREGATE SUM|MIN]')).toMatchObject([
      { type: 'oneof', token: 'AGGREGATE', arguments: [{ token: 'SUM' }, { token: 'MIN' }] },
    ]);
  });

  it('returns tokens before blocks and alternatives', () => {
    expect(parseSyntax('[LIMIT offset count] [AGGREGATE <SUM|MIN>]')).toMatchObject([
      { type: 'block', token: 'LIMIT', arguments: [{ name: 'offset' }, { name: 'count' }] },
      { type: 'oneof', token: 'AGGREGATE', arguments: [{ token: 'SUM' }, { token: 'MIN' }] },
    ]);
  });

  it.each(COMMANDS.map(({ name, facts }) => [name, facts.syntax] as const))(
    'of %s can be read back',
    (_name, syntax) => {
      expect(printed(parseSyntax(syntax))).toBe(syntax.replace(/[<>]/g, ''));
    },
  );
});

/** The inverse of parsing, without pointed brackets. */
function printed(parts: readonly Argument[]): string {
  return parts.map(printedOne).join(' ');
}

function printedOne(argument: Argument): string {
  const { token, optional, multiple, multipleToken } = argument;
  const body = printedBody(argument);
  const once = [token, body].filter((part) => part !== undefined && part !== '').join(' ');
  const again = multipleToken ? once : body;
  const whole = multiple ? `${once} [${again} ...]` : once;
  return optional ? `[${whole}]` : whole;
}

function printedBody({ name, type, arguments: parts = [] }: Argument): string {
  if (type === 'pure-token') return '';
  if (type === 'oneof') return parts.map(printedOne).join('|');
  return type === 'block' ? printed(parts) : name;
}
