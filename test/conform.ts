import { expect, it } from 'vitest';
import { CONFORMANCE, type StoreEnvironment } from '../src/stores/conformance.ts';

/**
 * Runs the conformance suite on a store, all cases at the same time: most of their time is waiting for leases. `skips`
 * names the cases that the store cannot pass, each with the reason.
 */
export function conform(
  environmentOf: (name: string) => StoreEnvironment,
  skips: Readonly<Record<string, string>> = {},
): void {
  it('skips only cases that exist', () => {
    const names = CONFORMANCE.map(({ name }) => name);
    expect(Object.keys(skips).filter((name) => !names.includes(name))).toEqual([]);
  });

  it.concurrent.for(CONFORMANCE)('$name', async ({ name, run }, { skip }) => {
    const reason = skips[name];
    if (reason !== undefined) skip(reason);
    await run(environmentOf(name));
  });
}
