import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Name } from './marks.tsx';
import { releaseLock } from './requests.ts';
import { t } from './texts.ts';
import { cutText, lockName, visibleText } from './visible-text.ts';

const MAX_REASON = 200;

type State =
  | { readonly type: 'asking' | 'sending' }
  | { readonly type: 'done'; readonly holders: number }
  | { readonly type: 'failed'; readonly message: string };

interface ReleaseDialogProps {
  readonly id: string;
  readonly name: string;
  readonly holders: readonly { readonly owner: string }[];
}

/** Owners that are sent, whose texts may be long. */
const MAX_OWNERS = 10;

/** A button, and the dialog that it opens: what a forced release does, and its reason. */
export function ReleaseDialog({ id, name, holders }: ReleaseDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<State>({ type: 'asking' });
  const [reason, setReason] = useState('');
  // Those that held it when the user decided: the lock may change hands while the dialog is open.
  const seen = useRef<readonly string[]>([]);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setState({ type: 'sending' });
    try {
      const released = await releaseLock(id, reason.trim(), seen.current);
      setState({ type: 'done', holders: released.holders });
      setReason('');
    } catch (error) {
      setState({ type: 'failed', message: String((error as Error).message) });
    }
  };
  const open = () => {
    setState({ type: 'asking' });
    seen.current = holders.slice(0, MAX_OWNERS).map(({ owner }) => owner);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="danger-button" onClick={open}>
        {t('release')}
      </button>
      <dialog ref={dialog} aria-labelledby="release-title">
        <form onSubmit={send}>
          <h2 id="release-title">{t('releaseTitle')}</h2>
          <p class="lock-name">
            <code>
              <Name text={cutText(lockName(name), 200)} />
            </code>
          </p>
          <p>{t('releaseWhat')}</p>
          {state.type === 'done' ? (
            <p role="status" class="good">
              {t('released', { n: state.holders })}
            </p>
          ) : (
            <label>
              {t('releaseReason')}
              <input
                name="reason"
                value={reason}
                required
                pattern=".*\S.*"
                maxLength={MAX_REASON}
                autocomplete="off"
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
          )}
          {state.type === 'failed' && (
            <p role="alert" class="bad">
              {t('releaseFailed', { message: visibleText(state.message) })}
            </p>
          )}
          <div class="buttons">
            <button type="button" class="plain-button" onClick={() => dialog.current?.close()}>
              {t(state.type === 'done' ? 'close' : 'cancel')}
            </button>
            {state.type !== 'done' && (
              <button type="submit" class="danger-button full" disabled={state.type === 'sending'}>
                {t('releaseDo')}
              </button>
            )}
          </div>
        </form>
      </dialog>
    </>
  );
}
