import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** The script of axe, to be evaluated once in each page that is checked. */
export const AXE = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * What axe finds wrong in a page: the rule and the first element of each violation. In the dark it checks colours only:
 * no other rule depends on them, and the page was checked in the light.
 */
export async function violationsOf(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  const options = {
    // Of other results axe then gives one element each.
    resultTypes: ['violations'],
    ...(colorScheme === 'dark' && { runOnly: { type: 'rule', values: COLOUR_RULES } }),
  };
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    `axe.run(${JSON.stringify(options)}).then((found) => found.violations)`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 200)}`);
}
