import { isPrefix } from '../stores/index.ts';
import type { OptionTable, OptionValues } from './options.ts';
import { UsageError } from './verb.ts';

/** For every verb that names locks. */
export const PREFIX_OPTION = {
  prefix: {
    placeholder: 'text',
    environment: true,
    help: 'prefix of the keys of the locks: the option prefix of createLocks; none if not given',
  },
} as const satisfies OptionTable;

/** Throws UsageError. */
export function readPrefix({ prefix = '' }: OptionValues<typeof PREFIX_OPTION>): string {
  if (isPrefix(prefix)) return prefix;
  throw new UsageError(`--prefix is a text without '{', such as shop:; got '${prefix}'.`);
}
