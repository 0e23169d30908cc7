import { expect, it } from 'vitest';
import { categoriesOf } from './command-categories.ts';
import { everyCommand } from './commands/index.ts';

const BY_NAME = new Map(everyCommand().map((command) => [command.name, command]));

it.each([
  ['get', 'read string fast'],
  ['set', 'write string slow'],
  ['del', 'keyspace write slow'],
  ['keys', 'keyspace read slow dangerous'],
  ['flushall', 'keyspace write slow dangerous'],
  ['zadd', 'write sortedset fast'],
  ['blpop', 'write list slow blocking'],
  ['subscribe', 'pubsub slow'],
  ['multi', 'fast transaction'],
  ['eval', 'slow scripting'],
  ['eval_ro', 'slow scripting'],
  ['ping', 'fast connection'],
  ['wait', 'slow connection'],
  ['role', 'admin fast dangerous'],
  ['client', 'slow'],
  ['client|kill', 'admin slow dangerous connection'],
  ['command|count', 'slow connection'],
  ['config|get', 'admin slow dangerous'],
  ['swapdb', 'keyspace write fast dangerous'],
])('%s is %s', (name, categories) => {
  expect(categoriesOf(BY_NAME.get(name)!).join(' ')).toBe(categories);
});
