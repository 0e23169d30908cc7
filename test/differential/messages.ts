import { PushReply, type Reply } from '../../src/resp/index.ts';
import { show } from './rules.ts';

/**
 * The messages as text, with those sorted whose order Redis does not specify: messages of several patterns, and the
 * confirmations of UNSUBSCRIBE without names are in hash order there.
 */
export function orderedMessages(frames: readonly Reply[]): string[] {
  const shown: string[] = [];
  for (let at = 0; at < frames.length; ) {
    const group = groupOf(frames[at]!);
    let end = at + 1;
    while (end < frames.length && group !== undefined && groupOf(frames[end]!) === group) end++;
    shown.push(...frames.slice(at, end).map(withoutCount).sort());
    at = end;
  }
  return shown;
}

/** Adjacent messages of the same group have no specified order. */
function groupOf(frame: Reply): string | undefined {
  const [kind, , channel, payload] = itemsOf(frame);
  if (isMiss(channel, payload)) return 'keymiss';
  if (kind === 'pmessage') return `${show(channel!)} ${show(payload!)}`;
  return typeof kind === 'string' && kind.endsWith('unsubscribe') ? kind : undefined;
}

/** Keyspace misses of SORT BY come in the order of the set, which is not specified. */
function isMiss(channel: Reply | undefined, payload: Reply | undefined): boolean {
  return payload === 'keymiss' || (typeof channel === 'string' && channel.endsWith('__:keymiss'));
}

/** Removes the number of remaining subscriptions, which depends on the order. */
function withoutCount(frame: Reply): string {
  const items = itemsOf(frame);
  const isLeaving = typeof items[0] === 'string' && items[0].endsWith('unsubscribe');
  return show(isLeaving ? items.slice(0, 2) : items);
}

function itemsOf(frame: Reply): readonly Reply[] {
  return frame instanceof PushReply ? frame.items : (frame as readonly Reply[]);
}
