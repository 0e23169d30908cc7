import { clientLine } from '../client-line.ts';
import { stringBytes } from '../footprint.ts';
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
/** Memory limit of all entries: acllog-max-len has no upper limit. */
const MAX_BYTES = 4 * 1024 * 1024;
const ENTRY_BYTES = 256;

/** The requests that ACL rules refused, newest first. */
export class AclLog {
  readonly entries: AclLogEntry[] = [];
  #maxLength = 128;
  #bytes = 0;

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
    const [known] = at < 0 ? [] : this.entries.splice(at, 1);
    if (known !== undefined) this.#bytes -= entryBytes(known);
    const entry = {
      count: (known?.count ?? 0) + 1,
      reason,
      context,
      object: shown,
      user: name,
      lastMs,
      client: clientLine(client),
    };
    this.entries.unshift(entry);
    this.#bytes += entryBytes(entry);
    this.limit(this.#maxLength);
  }

  limit(maxLength: number): void {
    this.#maxLength = maxLength;
    while (this.entries.length > maxLength || this.#bytes > MAX_BYTES) {
      this.#bytes -= entryBytes(this.entries.pop()!);
    }
  }

  reset(): void {
    this.entries.length = 0;
    this.#bytes = 0;
  }
}

function entryBytes({ object, user, client }: AclLogEntry): number {
  return ENTRY_BYTES + stringBytes(object) + stringBytes(user) + stringBytes(client);
}
