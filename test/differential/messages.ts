import { PushReply, type Reply } from '../../src/resp/index.ts';
import { show } from './rules.ts';

/**
 * Messages in the order that Redis promises, as text. It walks patterns, and the names that UNSUBSCRIBE
 * without names leaves, by their hashes: neighbours of that kind are sorted here.
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

/** What neighbours must have in common for their order to be nobody's promise. */
function groupOf(frame: Reply): string | undefined {
  const [kind, , channel, payload] = itemsOf(frame);
  if (isMiss(channel, payload)) return 'keymiss';
  if (kind === 'pmessage') return `${show(channel!)} ${show(payload!)}`;
  return typeof kind === 'string' && kind.endsWith('unsubscribe') ? kind : undefined;
}

/** SORT BY looks for the keys that the members of a set lead to, in the order of the set. */
function isMiss(channel: Reply | undefined, payload: Reply | undefined): boolean {
  return payload === 'keymiss' || (typeof channel === 'string' && channel.endsWith('__:keymiss'));
}

/** How many subscriptions are left follows from the order, so that it says nothing of its own. */
function withoutCount(frame: Reply): string {
  const items = itemsOf(frame);
  const isLeaving = typeof items[0] === 'string' && items[0].endsWith('unsubscribe');
  return show(isLeaving ? items.slice(0, 2) : items);
}

function itemsOf(frame: Reply): readonly Reply[] {
  return frame instanceof PushReply ? frame.items : (frame as readonly Reply[]);
}
