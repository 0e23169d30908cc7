import { clientLine } from '../client-line.ts';
import { stringBytes } from '../footprint.ts';
import { NewestEntries } from '../newest-entries.ts';
import type { Session } from '../session.ts';
import { shortened } from '../shortened.ts';

/** Where a request was refused. */
export type AclContext = 'toplevel' | 'multi' | 'lua';

interface AclLogEntry {
  count: number;
  readonly reason: 'command' | 'key' | 'channel' | 'auth';
  readonly context: AclContext;
  /** The name of the command, the key or the channel. */
  readonly object: string;
  readonly user: string;
  lastMs: number;
  client: string;
}

/** A refused request. `client` is the session of the connection, also for a `redis.call`. */
export type Refusal = Pick<AclLogEntry, 'reason' | 'context' | 'object' | 'user'> & {
  readonly client: Session;
};

/** Equal refusals within this time are one entry. */
const GROUP_MS = 60_000;
/** The number of entries that are compared with a new one. */
const MAX_COMPARED = 10;
const MAX_OBJECT_BYTES = 128;
const ENTRY_BYTES = 256;

/** The requests that ACL rules refused, newest first. */
export class AclLog {
  readonly #newest = new NewestEntries<AclLogEntry>(entryBytes);

  get entries(): readonly AclLogEntry[] {
    return this.#newest.list;
  }

  add({ reason, context, object, user, client }: Refusal): void {
    const lastMs = client.engine.nowMs;
    const shown = shortened(object, MAX_OBJECT_BYTES);
    const name = shortened(user, MAX_OBJECT_BYTES);
    const at = this.entries
      .slice(0, MAX_COMPARED)
      .findIndex(
        (entry) =>
          entry.reason === reason &&
          entry.context === context &&
          entry.object === shown &&
          entry.user === name &&
          lastMs - entry.lastMs <= GROUP_MS,
      );
    const known = at < 0 ? undefined : this.#newest.take(at);
    this.#newest.add({
      count: (known?.count ?? 0) + 1,
      reason,
      context,
      object: shown,
      user: name,
      lastMs,
      client: clientLine(client),
    });
  }

  limit(maxLength: number): void {
    this.#newest.limit(maxLength);
  }

  reset(): void {
    this.#newest.reset();
  }
}

function entryBytes({ object, user, client }: AclLogEntry): number {
  return ENTRY_BYTES + stringBytes(object) + stringBytes(user) + stringBytes(client);
}
