import { type Command, FLAGS, type Flag, type Group } from './command.ts';

/** The ACL categories of Redis 7.0 in its order. Some have no commands here, but rules may name them. */
export const CATEGORIES = [
  'keyspace',
  'read',
  'write',
  'set',
  'sortedset',
  'list',
  'hash',
  'string',
  'bitmap',
  'hyperloglog',
  'geo',
  'stream',
  'pubsub',
  'admin',
  'fast',
  'slow',
  'blocking',
  'dangerous',
  'connection',
  'transaction',
  'scripting',
] as const;

export type Category = (typeof CATEGORIES)[number];

/** The category that every command of a group has. */
const BY_GROUP: Partial<Record<Group, Category>> = {
  string: 'string',
  generic: 'keyspace',
  hash: 'hash',
  list: 'list',
  set: 'set',
  'sorted-set': 'sortedset',
  transactions: 'transaction',
  scripting: 'scripting',
  connection: 'connection',
};

const BY_FLAG: Partial<Record<Flag, readonly Category[]>> = {
  write: ['write'],
  readonly: ['read'],
  admin: ['admin', 'dangerous'],
  pubsub: ['pubsub'],
  fast: ['fast'],
  blocking: ['blocking'],
};

/** Commands with other categories than their group, by the name before the bar. */
const EXCEPTIONS: Partial<Record<string, readonly Category[]>> = {
  command: ['connection'],
  dbsize: ['keyspace'],
  flushall: ['keyspace', 'dangerous'],
  flushdb: ['keyspace', 'dangerous'],
  info: ['dangerous'],
  keys: ['keyspace', 'dangerous'],
  role: ['admin', 'dangerous'],
  sort: ['set', 'sortedset', 'list', 'dangerous'],
  sort_ro: ['set', 'sortedset', 'list', 'dangerous'],
  swapdb: ['keyspace', 'dangerous'],
  wait: ['connection'],
};

/** The categories of a command, from its group and its flags. */
export function categoriesOf(command: Command): Category[] {
  const found = new Set<Category>(ownCategories(command));
  for (const flag of command.facts.flags) {
    for (const category of BY_FLAG[flag] ?? []) found.add(category);
  }
  // As in Redis, scripts are not in the category `read`.
  if (command.group === 'scripting') found.delete('read');
  if ((command.bits & FLAGS.fast) === 0) found.add('slow');
  return CATEGORIES.filter((category) => found.has(category));
}

/** A container has no categories of its own; its subcommands have. */
function ownCategories({ name, group, facts }: Command): readonly Category[] {
  const exception = EXCEPTIONS[name.split('|')[0]!];
  if (exception) return exception;
  const isBareContainer = facts.subcommands !== undefined && facts.flags.length === 0;
  const category = isBareContainer ? undefined : BY_GROUP[group];
  return category ? [category] : [];
}
