import { LockArgumentError } from './errors.ts';
import type { Claim, LockKind } from './store.ts';

/** What another process needs to take leases over. */
export type Transferred = Pick<Claim, 'kind' | 'name' | 'slots' | 'take' | 'leaseMs' | 'owner'>;

type Fields = [LockKind, string, number, number, number, string];

const PREFIX = 'holdfast1.';

/** Leases as a text that fits into a header, an environment variable or a job's payload. */
export function transferText(claims: readonly Transferred[]): string {
  const fields = claims.map(
    ({ kind, name, slots, take, leaseMs, owner }): Fields => [
      kind,
      name,
      slots,
      take,
      leaseMs,
      owner,
    ],
  );
  return PREFIX + Buffer.from(JSON.stringify(fields)).toString('base64url');
}

export function parseTransfer(text: string): Transferred[] {
  try {
    if (!text.startsWith(PREFIX)) throw new Error('no such prefix');
    const json = Buffer.from(text.slice(PREFIX.length), 'base64url').toString();
    return (JSON.parse(json) as Fields[]).map(toTransferred);
  } catch {
    throw new LockArgumentError(
      '',
      'this is not a lease: locks.adopt() takes the text that lease.transfer() gave, unchanged',
    );
  }
}

function toTransferred([kind, name, slots, take, leaseMs, owner]: Fields): Transferred {
  const numbers = [slots, take, leaseMs];
  const isRight =
    ['mutex', 'semaphore', 'rw'].includes(kind) &&
    [name, owner].every((word) => typeof word === 'string' && word !== '') &&
    numbers.every((number) => Number.isFinite(number) && number > 0);
  if (!isRight) throw new Error('fields that cannot be');
  return { kind, name, slots, take, leaseMs, owner };
}
