import type { LockHistoryEvent } from '../stores/index.ts';
import { lockId, pageClient, shownText } from './page-lock.ts';
import type { PageEvent, PageEventType } from './protocol.ts';

/** An event of a lock as the page shows it. */
export function pageEvent(event: LockHistoryEvent): PageEvent {
  const { id, atMs, type, kind, nameBytes, owner, info, fence, heldMs, waitedMs } = event;
  return {
    id,
    atMs,
    type: type as PageEventType,
    lockId: lockId(kind, nameBytes),
    kind,
    name: shownText(nameBytes),
    owner: shownText(owner),
    client: pageClient(info),
    fence: fence ?? null,
    heldMs: heldMs ?? null,
    waitedMs: waitedMs ?? null,
  };
}
