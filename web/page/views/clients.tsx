import type { VNode } from 'preact';
import type { PageLock } from '../../../src/page/protocol.ts';
import { useSettled } from '../hooks.ts';
import { Client, Empty, Head, LockLink } from '../marks.tsx';
import type { PageModel } from '../model.ts';
import { type ClientRow, clientRows, processText } from '../parties.ts';
import { locksHash } from '../routes.ts';
import { numberText, t } from '../texts.ts';

const MAX_CLIENTS = 200;
const MAX_LOCKS = 8;

/** What each process holds and waits for. */
export function ClientsView({ model }: { model: PageModel }): VNode {
  const { rows, isCut } = useSettled(model, '', () => ({
    rows: clientRows(model.locks.values()),
    isCut: [...model.locks.values()].some(
      (lock) => lock.holderCount > lock.holders.length || lock.waiterCount > lock.waiters.length,
    ),
  }));
  return (
    <>
      <Head title={t('clients')} about={t('clientsAbout')} />
      {isCut && <p class="banner">{t('clientsCut')}</p>}
      {rows.length === 0 ? (
        <Empty title={t('clientsEmpty')} />
      ) : (
        <div class="panel scroll">
          <table class="plain clients">
            <thead>
              <tr>
                <th scope="col">{t('client')}</th>
                <th scope="col">{t('holds')}</th>
                <th scope="col">{t('waitsFor')}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MAX_CLIENTS).map((row) => (
                <Row key={row.client === null ? '' : processText(row.client)} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MAX_CLIENTS && (
        <p class="soft">{t('clientsLeft', { n: rows.length - MAX_CLIENTS })}</p>
      )}
    </>
  );
}

function Row({ row: { client, holds, waits } }: { row: ClientRow }): VNode {
  return (
    <tr>
      <th scope="row">
        {client === null ? (
          <Client client={client} />
        ) : (
          <a href={locksHash(processText(client))} title={t('showLocks')}>
            <Client client={client} />
          </a>
        )}
      </th>
      <td data-label={t('holds')}>
        <LockList locks={holds} />
      </td>
      <td data-label={t('waitsFor')}>
        <LockList locks={waits} />
      </td>
    </tr>
  );
}

function LockList({ locks }: { locks: readonly PageLock[] }): VNode {
  if (locks.length === 0) return <span class="soft">–</span>;
  return (
    <ul class="lock-list">
      {locks.slice(0, MAX_LOCKS).map(({ id, name }) => (
        <li key={id}>
          <LockLink id={id} name={name} />
        </li>
      ))}
      {locks.length > MAX_LOCKS && <li class="soft">+{numberText(locks.length - MAX_LOCKS)}</li>}
    </ul>
  );
}
