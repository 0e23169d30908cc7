import { ErrorReply } from '../resp/index.ts';

/**
 * How many items a reply may have that is larger than the request and the data it reads: a count below zero
 * of SRANDMEMBER, several GETs of SORT. Redis writes such a reply until the client's output limit is
 * reached; here it is built first.
 */
const MAX_REPLY_ITEMS = 2 ** 18;

/** @throws ErrorReply when a reply would have too many items. */
export function assertReplyItems(count: number): void {
  if (count > MAX_REPLY_ITEMS) throw TOO_MANY_ITEMS;
}

const TOO_MANY_ITEMS = new ErrorReply(
  `ERR the reply would have too many items (${MAX_REPLY_ITEMS} at most)`,
);
