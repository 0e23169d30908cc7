import { LockArgumentError } from './errors.ts';
import type { HolderInfo, LockKind, LockRequest } from './store.ts';

type Fields = [LockKind, string, number, number, number, string, HolderInfo];

const PREFIX = 'holdfast1.';

/** Leases as a text that fits into a header, an environment variable or a job's payload. */
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

export function parseTransfer(text: string): LockRequest[] {
  try {
    if (!text.startsWith(PREFIX)) throw new Error('no such prefix');
    const json = Buffer.from(text.slice(PREFIX.length), 'base64url').toString();
    const requests = (JSON.parse(json) as Fields[]).map(toClaim);
    if (requests.length === 0) throw new Error('nothing was given');
    return requests;
  } catch {
    throw new LockArgumentError(
      '',
      'this is not a lease: locks.adopt() takes the text that lease.transfer() gave, unchanged',
    );
  }
}

function toClaim([kind, name, slots, permits, leaseMs, owner, info]: Fields): LockRequest {
  const numbers = [slots, permits, leaseMs];
  const isRight =
    ['mutex', 'semaphore', 'rw'].includes(kind) &&
    [name, owner].every((word) => typeof word === 'string' && word !== '') &&
    numbers.every((number) => Number.isFinite(number) && number > 0);
  if (!isRight) throw new Error('fields that cannot be');
  const { host, pid, label } = info;
  return { kind, name, slots, permits, leaseMs, owner, info: { host, pid, label } };
}
