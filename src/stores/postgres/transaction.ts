import { createHash } from 'node:crypto';
import { type Lease, LockArgumentError, LockLostError } from '../../lock/index.ts';
import {
  HOW_TO_BEGIN,
  isInTransaction,
  type TransactionClient,
  transactionOf,
} from './database.ts';
import { encodeName } from './lock-reply.ts';
import { sqlStateOf, withAdvice } from './postgres-errors.ts';
import { schemaName } from './prepare-tables.ts';
import { STALE_FENCE } from './schema.ts';

/**
 * Takes a lock that ends with the transaction: by its commit or rollback, never before, and with its connection. Waits
 * for other transactions that have it, as long as `lock_timeout` of PostgreSQL allows. It needs no table and no lease,
 * and has no fence. Transactions that take several such locks in different orders can deadlock; PostgreSQL then ends
 * one.
 *
 * @throws LockArgumentError outside of a transaction.
 *
 * @example
 * await sql.begin(async (tx) => {
 *   await withTransactionLock(tx, 'invoice-numbers');
 *   await tx`insert into invoices select max(number) + 1 from invoices`;
 * });
 */
export async function withTransactionLock(tx: TransactionClient, name: string): Promise<void> {
  const { query } = transactionOf(tx, 'withTransactionLock');
  if (typeof name !== 'string' || name === '') {
    throw new LockArgumentError('', 'withTransactionLock needs a name: a string that is not empty');
  }
  const id = await query('select txid_current()::text, pg_advisory_xact_lock($1)', [keyOf(name)]);
  await checkTransaction(tx, id, 'withTransactionLock');
}

/** 64 bits of a hash, as a signed number: the key of an advisory lock. Two names with one key only wait for each other. */
function keyOf(name: string): string {
  return createHash('sha256').update(`holdfast ${name}`).digest().readBigInt64BE().toString();
}

/**
 * Guards a transaction by the fence of a lease, of any store: throws if a transaction with a larger fence was guarded
 * under the same name. Until this transaction ends, others of the same name wait, so that a former holder can
 * neither write after a later one nor between its statements. When it throws, PostgreSQL refuses to commit the
 * transaction. Call it first in every transaction that the lock protects. The store's tables must exist in this database.
 *
 * The fences of one name must be those of one lock: a mutex and a read/write lock of the same name have fences of their
 * own, and readers and holders of a semaphore do not exclude each other.
 *
 * @throws LockLostError if a larger fence was seen, or the lease is not held any more; LockArgumentError outside of a
 *   transaction.
 *
 * @example
 * await locks.mutex('account:7').run((lease) =>
 *   sql.begin(async (tx) => {
 *     await fenced(tx, lease);
 *     await tx`update accounts set balance = balance - 10 where id = 7`;
 *   }),
 * );
 */
export async function fenced(
  tx: TransactionClient,
  lease: FencedLease,
  {
    schema,
  }: { /** The schema of the tables. Default `holdfast`. */ readonly schema?: string } = {},
): Promise<void> {
  const { query } = transactionOf(tx, 'fenced');
  const { name, fence } = checkLease(lease);
  lease.assertHeld?.();
  const values = [encodeName(name), fence];
  const reply = await query(`select ${schemaName(schema)}.guard($1, $2)`, values).catch(
    (error: unknown) => {
      const isStale = sqlStateOf(error) === STALE_FENCE;
      throw isStale ? new LockLostError(name, 'stolen', error) : withAdvice(error);
    },
  );
  await checkTransaction(tx, reply, 'fenced');
}

/** A lease, or its name and fence that another process has passed on. */
export type FencedLease = Pick<Lease, 'name' | 'fence'> & Partial<Pick<Lease, 'assertHeld'>>;

function checkLease(lease: FencedLease): FencedLease {
  const isLease =
    typeof lease?.name === 'string' && Number.isSafeInteger(lease.fence) && lease.fence > 0;
  if (isLease) return lease;
  throw new LockArgumentError('', 'fenced needs a lease: an object with its name and its fence');
}

/** Each statement outside of a transaction has a transaction of its own: the next one is in another, or in none. */
async function checkTransaction(
  tx: TransactionClient,
  id: string | undefined,
  caller: string,
): Promise<void> {
  if (isInTransaction(tx)) return;
  const { query } = transactionOf(tx, caller);
  if ((await query('select txid_current_if_assigned()::text', [])) === id) return;
  throw new LockArgumentError('', `${caller} needs a transaction: ${HOW_TO_BEGIN}`);
}
