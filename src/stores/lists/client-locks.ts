import { type ScriptRunner, scriptOf } from '../../client/index.ts';
import { LockArgumentError, type LockStore } from '../../lock/index.ts';
import type { ScriptServers } from './list-locks.ts';
import { bytesOf, type RunScript, textOf } from './lock-list.ts';
import { type LockSource, redisLocks } from './lock-source.ts';
import { storeLocks } from './store-locks.ts';

/**
 * The locks of a store that a program uses, through its own client. Closing the source does not close the store.
 *
 * @throws LockArgumentError if the store cannot list its locks.
 */
export function clientLocks(store: LockStore, label: string): LockSource {
  const source = isOnScripts(store)
    ? redisLocks(serversOf(store.scripts, label), bytesOf(store.prefix))
    : storeLocks(store, label);
  if (store.list === undefined && !isOnScripts(store)) {
    throw new LockArgumentError('', 'this store cannot list its locks: there is nothing to show');
  }
  return { ...source, close() {} };
}

/** The store on Redis, also that of another copy of the package. */
function isOnScripts(
  store: LockStore,
): store is LockStore & { readonly scripts: ScriptRunner; readonly prefix: string } {
  return 'scripts' in store && 'prefix' in store;
}

function serversOf(scripts: ScriptRunner, label: string): ScriptServers {
  if (scripts.slotOf !== undefined) throw new LockArgumentError('', CLUSTER);
  // Runners take and return texts in UTF-8.
  const run: RunScript = async (text, keys, args) =>
    inBytes(await scripts.run(scriptOf(text), keys.map(textOf), args.map(textOf)));
  return { label, run, masters: async () => [{ run }], close() {} };
}

const CLUSTER =
  'the client of a cluster sends a SCAN to one of its nodes. Use holdfast ui --store redis://node:port, which asks all';

function inBytes(reply: unknown): unknown {
  if (typeof reply === 'string') return bytesOf(reply);
  return Array.isArray(reply) ? reply.map(inBytes) : reply;
}
