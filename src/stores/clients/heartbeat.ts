import type { Clock, Timer } from '../../clock/index.ts';

/** A connection that died silently is noticed within two of these: before the next PING, and after it. */
const HEARTBEAT_MS = 3000;

/**
 * Sends a PING every 3 s, and calls `onSilent` once when one has no reply within 3 s. Returns a function that
 * stops it. An error reply is a reply: a user that may not send PING has a working connection.
 */
export function startHeartbeat(
  ping: () => Promise<unknown>,
  onSilent: () => void,
  clock: Clock,
): () => void {
  let timer: Timer;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    timer.cancel();
  };
  const wait = (): void => {
    timer.cancel();
    if (!isOver) timer = clock.setTimer(HEARTBEAT_MS, beat);
  };
  const beat = (): void => {
    let hasReply = false;
    const onReply = (): void => {
      hasReply = true;
      wait();
    };
    const check = (): void => {
      if (hasReply || isOver) return;
      isOver = true;
      onSilent();
    };
    // A reply that arrived while the event loop was blocked is read before the check.
    timer = clock.setTimer(HEARTBEAT_MS, () => clock.defer(check));
    ping().then(onReply, onReply);
  };
  timer = clock.setTimer(HEARTBEAT_MS, beat);
  return stop;
}
