import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/observability.md');
const all = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, found]) => found!)),
];

describe.each(['lock', 'cache'])('docs/observability.md names of %s', (module) => {
  const events = read(`src/${module}/events.ts`);
  const telemetry = read(`src/${module}/telemetry.ts`);

  it.each([
    ['every channel', all(events, /diagnostics\.channel\('([^']+)'\)/g), 9],
    [
      'every field of an event',
      all(events, /readonly (\w+): /g).filter((name) => name !== 'counts'),
      7,
    ],
    ['every span', all(telemetry, /'(holdfast [a-z ]+)'/g), 2],
    ['every attribute', all(telemetry, /'(holdfast\.(?:lock|cache)\.\w+)'/g), 5],
    [
      'every metric of locks',
      all(telemetry, /'(holdfast\.lock\.[\w.]+)'/g),
      module === 'lock' ? 10 : 0,
    ],
    ['every metric of caches', cacheMetrics(telemetry), module === 'cache' ? 7 : 0],
  ])('%s', (_, names, atLeast) => {
    expect(names.length).toBeGreaterThanOrEqual(atLeast);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

/** Their names are made of a prefix and a word. */
function cacheMetrics(telemetry: string): string[] {
  return all(telemetry, /: (?:counter|seconds)\(\s*'([\w.]+)'/g).map(
    (name) => `holdfast.cache.${name}`,
  );
}

it('names every code of a process warning', () => {
  const sources = ['lock/election.ts', 'lock/worker-renewals.ts', 'stores/clients/eviction.ts'];
  const codes = sources.flatMap((path) => all(read(`src/${path}`), /'(HOLDFAST_[A-Z_]+)'/g));
  expect(codes).toHaveLength(3);
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});
