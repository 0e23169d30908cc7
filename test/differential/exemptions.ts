import { everyCommand } from '../../src/engine/commands/index.ts';

/** Commands that Redis 7.0 does not have; docs/differences.md names them. */
export const ONLY_HERE: ReadonlySet<string> = new Set([
  ...['delifeq', 'delex', 'client|setinfo', 'client|no-touch'],
  ...[
    'holdfast.history',
    'holdfast.history|all',
    'holdfast.history|key',
    'holdfast.history|help',
    'holdfast.session',
    'holdfast.will',
    'holdfast.will|set',
    'holdfast.will|drop',
    'holdfast.will|help',
  ],
]);

/** Commands and subcommands that the random sequences do not contain, with the reason. All others are generated. */
export const EXEMPT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    everyCommand()
      .filter(({ name, subcommands }) => name.startsWith('acl|') && !subcommands)
      .map(({ name }) => [
        name,
        'users belong to all sessions; compared in acl-differential.test.ts',
      ]),
  ),
  ...Object.fromEntries([...ONLY_HERE].map((name) => [name, 'Redis 7.0 does not have it'])),
  bgrewriteaof: 'needs a log; tested in src/log/log.test.ts',
  shutdown: 'it would end the server; compared in test/differential-scenes.test.ts',
  quit: 'it ends the connection; compared in test/differential-scenes.test.ts',
  monitor: 'its lines tell times and addresses; compared in test/differential-scenes.test.ts',
  'client|pause': 'others would have to wait; compared in test/differential-scenes.test.ts',
  'client|unpause': 'it belongs to CLIENT PAUSE; compared in test/differential-scenes.test.ts',
  'client|reply': 'nothing would be left to compare; see test/differential-scenes.test.ts',
};
