import type { PageMessage } from '../../src/page/protocol.ts';
import type { PageModel } from './model.ts';

const TYPES: readonly PageMessage['type'][] = [
  'source',
  'locks',
  'changes',
  'history',
  'contention',
  'server',
  'failed',
];
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/**
 * Feeds the model from `api/stream`, for ever. The browser connects again by itself when a connection breaks, but not
 * when it gets an error as the reply, such as from a proxy while the server restarts: then this function connects.
 */
export function startStream(model: PageModel, onChange: () => void): void {
  let retryMs = MIN_RETRY_MS;
  const open = () => {
    const stream = new EventSource('api/stream');
    for (const type of TYPES) {
      stream.addEventListener(type, ({ data }: MessageEvent<string>) => {
        model.apply(JSON.parse(data));
        onChange();
      });
    }
    stream.onopen = () => {
      retryMs = MIN_RETRY_MS;
      model.setConnection('open');
      onChange();
    };
    stream.onerror = async () => {
      const isClosed = stream.readyState === EventSource.CLOSED;
      // A page that is refused stays so while it tries again: its banner must not blink.
      if (!isClosed || model.connection !== 'refused') model.setConnection('reconnecting');
      onChange();
      if (!isClosed) return;
      model.setConnection((await isRefused()) ? 'refused' : 'reconnecting');
      onChange();
      model.restartHistory();
      setTimeout(open, retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    };
  };
  open();
}

/** An EventSource does not say why the server has refused it. */
async function isRefused(): Promise<boolean> {
  try {
    const { status } = await fetch('api/lock?id=');
    return status === 401 || status === 403;
  } catch {
    return false;
  }
}
