import type { CheckName } from './checks/check.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import type { Setting } from './setting.ts';

const FAULTS = ['crashes', 'pauses', 'lostReplies', 'skews'] as const;

/**
 * Whether a verdict is the one that the variant foretells. A world with less in it than the variant's may
 * fail to show a failure, and one with more faults may show another; neither is a surprise.
 */
export function isExpected({ variant, world }: Setting, check: CheckName, holds: boolean): boolean {
  const usual = worldOptions(variant.world);
  if (variant.fails.includes(check)) {
    const names = Object.keys(usual) as (keyof WorldOptions)[];
    return !holds || names.some((name) => world[name] < usual[name]);
  }
  return holds || FAULTS.some((name) => world[name] > usual[name]);
}

/** Whether the variant says that it can keep this from happening. */
export function isPromised({ variant: { unpromised = [] } }: Setting, check: CheckName): boolean {
  return !unpromised.includes(check);
}
