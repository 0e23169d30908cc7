import { LockArgumentError } from './errors.ts';
import type { Claim, HolderInfo, LockKind } from './store.ts';

type Fields = [LockKind, string, number, number, number, string, HolderInfo];

const PREFIX = 'holdfast1.';

/** Leases as a text that fits into a header, an environment variable or a job's payload. */
export function transferText(claims: readonly Claim[]): string {
  const fields = claims.map(
    ({ kind, name, slots, take, leaseMs, owner, info }): Fields => [
      kind,
      name,
      slots,
      take,
      leaseMs,
      owner,
      info,
    ],
  );
  return PREFIX + Buffer.from(JSON.stringify(fields)).toString('base64url');
}

export function parseTransfer(text: string): Claim[] {
  try {
    if (!text.startsWith(PREFIX)) throw new Error('no such prefix');
    const json = Buffer.from(text.slice(PREFIX.length), 'base64url').toString();
    const claims = (JSON.parse(json) as Fields[]).map(toClaim);
    if (claims.length === 0) throw new Error('nothing was given');
    return claims;
  } catch {
    throw new LockArgumentError(
      '',
      'this is not a lease: locks.adopt() takes the text that lease.transfer() gave, unchanged',
    );
  }
}

function toClaim([kind, name, slots, take, leaseMs, owner, info]: Fields): Claim {
  const numbers = [slots, take, leaseMs];
  const isRight =
    ['mutex', 'semaphore', 'rw'].includes(kind) &&
    [name, owner].every((word) => typeof word === 'string' && word !== '') &&
    numbers.every((number) => Number.isFinite(number) && number > 0);
  if (!isRight) throw new Error('fields that cannot be');
  const { host, pid, label } = info;
  return { kind, name, slots, take, leaseMs, owner, info: { host, pid, label } };
}
