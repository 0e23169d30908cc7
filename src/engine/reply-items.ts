import { ErrorReply } from '../resp/index.ts';

/**
 * The maximum number of items in a reply that can exceed both request and data: SRANDMEMBER with a negative count,
 * SORT with several GETs. Redis writes such a reply up to the client's output limit; here it is built in memory
 * first.
 */
const MAX_REPLY_ITEMS = 2 ** 18;

/** @throws ErrorReply when a reply would have too many items. */
export function assertReplyItems(count: number): void {
  if (count > MAX_REPLY_ITEMS) throw TOO_MANY_ITEMS;
}

const TOO_MANY_ITEMS = new ErrorReply(
  `ERR the reply would have too many items (${MAX_REPLY_ITEMS} at most)`,
);
