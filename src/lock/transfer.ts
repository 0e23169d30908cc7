import { LockArgumentError } from './errors.ts';
import type { HolderInfo, LockKind, LockRequest } from './store.ts';

type Fields = [LockKind, string, number, number, number, string, HolderInfo];

const PREFIX = 'holdfast1.';

/** Encodes leases as a text that fits into a header, an environment variable or the payload of a job. */
export function transferText(requests: readonly LockRequest[]): string {
  const fields = requests.map(
    ({ kind, name, slots, permits, leaseMs, owner, info }): Fields => [
      kind,
      name,
      slots,
      permits,
      leaseMs,
      owner,
      info,
    ],
  );
  return PREFIX + Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** @throws LockArgumentError if the text is not one of transferText(). */
export function parseTransfer(text: string): LockRequest[] {
  try {
    if (!text.startsWith(PREFIX)) throw new Error('the prefix is wrong');
    const json = Buffer.from(text.slice(PREFIX.length), 'base64url').toString();
    const requests = (JSON.parse(json) as Fields[]).map(toRequest);
    if (requests.length === 0) throw new Error('there is no lease');
    return requests;
  } catch {
    throw new LockArgumentError(
      '',
      'this is not a lease: locks.adopt() takes the text that lease.transfer() gave, unchanged',
    );
  }
}

function toRequest([kind, name, slots, permits, leaseMs, owner, info]: Fields): LockRequest {
  const numbers = [slots, permits, leaseMs];
  const isValid =
    ['mutex', 'semaphore', 'rw'].includes(kind) &&
    [name, owner].every((text) => typeof text === 'string' && text !== '') &&
    numbers.every((number) => Number.isFinite(number) && number > 0);
  if (!isValid) throw new Error('a field is wrong');
  const { host, pid, label } = info;
  return { kind, name, slots, permits, leaseMs, owner, info: { host, pid, label } };
}
