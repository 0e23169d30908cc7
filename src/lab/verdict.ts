import type { CheckName } from './checks/check.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import type { Setting } from './setting.ts';

const FAULTS = ['crashes', 'pauses', 'lostReplies', 'skews'] as const;

/**
 * Returns true if the verdict is the one that the variant expects. In a world smaller than the variant's an
 * expected failure may be missing, and in one with more faults another check may fail: both count as expected.
 */
export function isExpected({ variant, world }: Setting, check: CheckName, holds: boolean): boolean {
  const usual = worldOptions(variant.world);
  if (variant.fails.includes(check)) {
    const names = Object.keys(usual) as (keyof WorldOptions)[];
    return !holds || names.some((name) => world[name] < usual[name]);
  }
  return holds || FAULTS.some((name) => world[name] > usual[name]);
}

/** Returns true unless the variant lists the check as `unpromised`. */
export function isPromised({ variant: { unpromised = [] } }: Setting, check: CheckName): boolean {
  return !unpromised.includes(check);
}
