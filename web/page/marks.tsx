import type { ComponentChildren, VNode } from 'preact';
import type { PageClient, PageEvent, PageLockKind } from '../../src/page/protocol.ts';
import { clientText, processText } from './parties.ts';
import { lockHash } from './routes.ts';
import { type TextKey, t } from './texts.ts';
import { clockText, measureText } from './time-text.ts';
import { LOSSES } from './timeline.ts';
import { cutText, lockName, visibleParts, visibleText } from './visible-text.ts';

/** A text that a stranger may have chosen: isolated from the text around it, with escapes for what cannot be seen. */
export function Name({ text }: { text: string }): VNode {
  return (
    <bdi>
      {visibleParts(text).map((part, index) =>
        part.isEscape ? (
          <span key={index} class="escape">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}

/** A text of texts.ts: parts between backquotes are code. */
export function Rich({ text }: { text: string }): VNode {
  return (
    <>
      {text
        .split('`')
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

const MAX_CLIENT = 80;

function isLong(client: PageClient): boolean {
  return clientText(client).length > MAX_CLIENT;
}

/** `host:pid`, and the label, both cut. */
export function Client({ client }: { client: PageClient | null }): VNode {
  if (client === null) return <span class="soft">{t('foreign')}</span>;
  return (
    <span class="client" title={isLong(client) ? visibleText(clientText(client)) : undefined}>
      <code>
        <Name text={processText({ ...client, host: cutText(client.host, MAX_CLIENT) })} />
      </code>
      {client.label !== '' && (
        <span class="soft">
          {' '}
          <Name text={cutText(client.label, MAX_CLIENT)} />
        </span>
      )}
    </span>
  );
}

/** The name of a lock, as a link to it. An empty name is shown as a pair of quotes. */
export function LockLink({ id, name }: { id: string; name: string }): VNode {
  return (
    <a class="lock-link" href={lockHash(id)} title={visibleText(name).slice(0, 300)}>
      <Name text={lockName(name)} />
    </a>
  );
}

export function Kind({ kind }: { kind: PageLockKind }): VNode {
  return <span class={`kind ${kind}`}>{t(kind)}</span>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A heading of a view, with what it shows. */
export function Head({ title, about }: { title: string; about?: string }): VNode {
  return (
    <div class="view-head">
      <h1>{title}</h1>
      {about !== undefined && (
        <p class="about">
          <Rich text={about} />
        </p>
      )}
    </div>
  );
}

/** Events as a table, newest first. */
export function EventTable(props: { events: readonly PageEvent[]; hasLock: boolean }): VNode {
  return (
    <div class="scroll">
      <table class="plain events">
        <thead>
          <tr>
            <th scope="col">{t('time')}</th>
            {props.hasLock && <th scope="col">{t('columnName')}</th>}
            <th scope="col">{t('client')}</th>
            <th scope="col">{t('event')}</th>
            <th scope="col">{t('details')}</th>
          </tr>
        </thead>
        <tbody>
          {props.events.toReversed().map((event) => (
            <tr key={event.id}>
              <td class="number">{clockText(event.atMs)}</td>
              {props.hasLock && (
                <td class="name">
                  <LockLink id={event.lockId} name={event.name} />
                </td>
              )}
              <td>
                <Client client={event.client} />
              </td>
              <td class={LOSSES.has(event.type) ? 'bad' : ''}>{t(eventKey(event))}</td>
              <td class="soft">{eventDetails(event)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function eventKey({ type }: PageEvent): TextKey {
  return type === 'released' ? 'releasedEvent' : type;
}

function eventDetails({ fence, heldMs, waitedMs }: PageEvent): string {
  const parts: string[] = [];
  if (fence !== null && fence !== 0) parts.push(t('fenceIs', { fence: String(fence) }));
  if (heldMs !== null) parts.push(t('heldFor', { time: measureText(heldMs) }));
  if (waitedMs !== null) parts.push(t('waitedFor', { time: measureText(waitedMs) }));
  return parts.join(' · ');
}
