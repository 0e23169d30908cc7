import { describe, expect, it } from 'vitest';
import { DISPATCHED, requestOf } from '../../../test/acl-requests.ts';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';
import type { Command } from '../command.ts';

/**
 * Two users against each other, over every command of the table. `one` and `two` have the same rules for keys and
 * channels that begin with their own names. Each request runs on an engine of its own: some end or pause it.
 */
const NO_COMMAND = /^-(?:EXECABORT .*: )?NOPERM this user has no permissions to run the '/;
const NO_KEY = '-NOPERM this user has no permissions to access one of the keys used as arguments';
const NO_CHANNEL =
  '-NOPERM this user has no permissions to access one of the channels used as arguments';
const NOPERM = /NOPERM/;

function startWith(rules: readonly string[], name: string): { wire: WireEngine; user: WireClient } {
  const wire = startWireEngine();
  const admin = wire.connect();
  expect(admin.send(['ACL', 'SETUSER', name, 'on', 'nopass', ...rules])).toBe('+OK');
  const user = wire.connect();
  expect(user.send(['AUTH', name, 'x'])).toBe('+OK');
  return { wire, user };
}

/** The reply to the request of a user with these rules. */
function replyTo(argv: readonly string[], rules: readonly string[], name = 'one'): string {
  const { wire, user } = startWith(rules, name);
  const reply = user.send(argv);
  wire.engine.close();
  return reply;
}

const COMMANDS = DISPATCHED.map((command) => [command.name, command] as const);
const isFree = (command: Command): boolean => command.has('no_auth');
const referencesOf = (command: Command) => command.keyReferences(requestOf(command, 'one:')) ?? [];
const WITH_KEYS = COMMANDS.filter(([, command]) => referencesOf(command).length > 0);
const WITH_CHANNELS = COMMANDS.filter(([, { facts }]) => facts.channels !== undefined);
const needing = (need: 'read' | 'write') =>
  WITH_KEYS.filter(([, command]) => referencesOf(command).some(({ needs }) => needs[need]));

describe.each(COMMANDS)('%s', (name, command) => {
  const argv = requestOf(command, 'one:');
  const channel = command.facts.channels === 'patterns' ? '&one:channel' : '&one:*';

  it('is allowed to a user that has only this command, and its own keys and channels', () => {
    expect(replyTo(argv, [`+${name}`, '~one:*', channel])).not.toMatch(NOPERM);
  });

  it.skipIf(isFree(command))('is refused to a user that has all commands but this', () => {
    expect(replyTo(argv, ['+@all', `-${name}`, '~*', '&*'])).toMatch(NO_COMMAND);
  });

  it.skipIf(isFree(command))('is refused to a user without rules', () => {
    expect(replyTo(argv, [])).toMatch(NO_COMMAND);
  });
});

describe('keys', () => {
  it.each(WITH_KEYS)('%s is refused for the keys of the other user', (_, command) => {
    for (const [name, other] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const rules = ['+@all', `~${name}:*`, '&*'];
      expect(replyTo(requestOf(command, `${name}:`), rules, name)).not.toMatch(NOPERM);
      expect(replyTo(requestOf(command, `${other}:`), rules, name)).toBe(NO_KEY);
    }
  });

  it.each(WITH_KEYS)(
    '%s is refused if one of several keys is that of the other user',
    (_, command) => {
      const argv = requestOf(command, 'one:');
      for (const { at } of referencesOf(command)) {
        const mixed = argv.with(at, 'two:key');
        expect(replyTo(mixed, ['+@all', '~one:*', '&*'])).toBe(NO_KEY);
      }
    },
  );

  it.each(needing('read'))('%s is refused to a user that may only write', (_, command) => {
    expect(replyTo(requestOf(command, 'one:'), ['+@all', '%W~one:*', '&*'])).toBe(NO_KEY);
  });

  it.each(needing('write'))('%s is refused to a user that may only read', (_, command) => {
    expect(replyTo(requestOf(command, 'one:'), ['+@all', '%R~one:*', '&*'])).toBe(NO_KEY);
  });

  it.each(WITH_KEYS)(
    '%s is allowed to a user with exactly the rights that its keys need',
    (_, command) => {
      const needs = referencesOf(command).map((reference) => reference.needs);
      const letters =
        (needs.some(({ read }) => read) ? 'R' : '') + (needs.some(({ write }) => write) ? 'W' : '');
      const rules = ['+@all', `%${letters || 'R'}~one:*`, '&*'];
      expect(replyTo(requestOf(command, 'one:'), rules)).not.toMatch(NOPERM);
    },
  );

  it('a wrong number of keys is refused, because the keys cannot be known', () => {
    for (const line of ['EVAL x 2 one:a', 'LMPOP 3 one:a LEFT', 'ZUNION 0 one:a', 'EVAL x y']) {
      expect(replyTo(line.split(' '), ['+@all', '~one:*']), line).toBe(NO_KEY);
      expect(replyTo(line.split(' '), ['+@all', '~*']), line).not.toMatch(NOPERM);
    }
  });

  it('every key specification that only the command can follow has a function that finds the keys', () => {
    const blind = DISPATCHED.filter(
      ({ facts }) =>
        facts.findKeys === undefined && facts.keys.some(({ search }) => search.type === 'unknown'),
    );
    expect(blind.map(({ name }) => name)).toEqual([]);
  });
});

describe('channels', () => {
  it('are those of the commands that subscribe or publish', () => {
    expect(WITH_CHANNELS.map(([name]) => name).sort()).toEqual([
      'psubscribe',
      'publish',
      'spublish',
      'ssubscribe',
      'subscribe',
    ]);
  });

  it.each(WITH_CHANNELS)('%s is refused for the channels of the other user', (_, command) => {
    for (const [name, other] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const rules = ['+@all', '~*', `&${name}:*`, `&${name}:channel`];
      expect(replyTo(requestOf(command, `${name}:`), rules, name)).not.toMatch(NOPERM);
      expect(replyTo(requestOf(command, `${other}:`), rules, name)).toBe(NO_CHANNEL);
    }
  });

  it('SUBSCRIBE is refused if one of several channels is that of the other user', () => {
    const rules = ['+@all', '&one:*'];
    expect(replyTo(['SUBSCRIBE', 'one:a', 'two:a'], rules)).toBe(NO_CHANNEL);
    expect(replyTo(['SSUBSCRIBE', 'one:a', 'two:a'], rules)).toBe(NO_CHANNEL);
  });

  it('PSUBSCRIBE needs the same pattern, not one that matches', () => {
    expect(replyTo(['PSUBSCRIBE', 'one:a*'], ['+@all', '&one:*'])).toBe(NO_CHANNEL);
    expect(replyTo(['PSUBSCRIBE', 'one:*'], ['+@all', '&one:*'])).not.toMatch(NOPERM);
  });

  it('the message of PUBLISH is no channel', () => {
    expect(replyTo(['PUBLISH', 'one:a', 'two:a'], ['+@all', '&one:*'])).toBe(':0');
  });
});
