import type { PageRequests } from '../../src/page/protocol.ts';

export type LockDetails = PageRequests['GET api/lock?id=…'];
type Released = PageRequests['POST api/release {"id","reason","owners"}'];

/** One lock with its whole queue and its events. */
export async function fetchLock(id: string, signal: AbortSignal): Promise<LockDetails> {
  const response = await fetch(`api/lock?id=${id}`, { signal });
  return read(response);
}

/** Ends all leases of a lock that one of these owners holds. Rejects with the server's message. */
export async function releaseLock(
  id: string,
  reason: string,
  owners: readonly string[],
): Promise<Released> {
  const response = await fetch('api/release', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, reason, owners }),
  });
  return read(response);
}

async function read<T>(response: Response): Promise<T> {
  if (response.ok) return response.json();
  const text = await response.text();
  throw new Error(text.slice(0, 300).trim() || `HTTP ${response.status}`);
}
