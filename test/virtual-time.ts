import type { VirtualClock } from '../src/clock/index.ts';

/** Lets everything that is ready happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

/** Time passes in small steps, so that code that waits for a timer runs in between. */
export async function elapse(clock: VirtualClock, durationMs: number, steps = 20): Promise<void> {
  await settle();
  for (let step = 0; step < steps; step++) {
    clock.advance(durationMs / steps);
    await settle();
  }
}

/** Something that others can wait for. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
