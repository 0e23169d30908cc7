import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** How many times slower than the reference machine this one is: 1 or more. */
    machineFactor: number;
  }
}

/**
 * Global setup of the real tests. Measures the machine once per run, under the load that it has at that time,
 * and scales the time limits of tests and hooks. `withinMs` scales the limits inside of the tests.
 */
export default function setup(project: TestProject): void {
  const { factor, text } = measure();
  project.provide('machineFactor', factor);
  project.config.testTimeout *= factor;
  project.config.hookTimeout *= factor;
  process.stdout.write(`${text}\n`);
}

/** What the reference machine needs for each piece of work: two cores of an AMD EPYC, without other load. */
const WORKS = [
  { name: 'hashing', referenceMs: 40, work: hash },
  { name: 'starting a process', referenceMs: 80, work: startProcess },
];
const ROUNDS = 5;
/** Limits that are scaled further would find no fault. On a machine that is still slower, tests may fail. */
const MAX_FACTOR = 10;

function measure(): { readonly factor: number; readonly text: string } {
  const figures = WORKS.map(({ name, referenceMs, work }) => {
    const tookMs = Array.from({ length: ROUNDS }, () => durationMsOf(work)).sort((a, b) => a - b);
    const medianMs = tookMs[Math.floor(ROUNDS / 2)]!;
    return { name, medianMs, referenceMs, ratio: medianMs / referenceMs };
  });
  const ratio = Math.max(1, ...figures.map((figure) => figure.ratio));
  const factor = Math.min(ratio, MAX_FACTOR);
  const details = figures.map(
    ({ name, medianMs, referenceMs }) =>
      `${name} took ${medianMs.toFixed(0)} ms, on the reference machine ${referenceMs} ms`,
  );
  return { factor, text: `Machine factor ${factor.toFixed(2)}: ${details.join('; ')}.` };
}

function durationMsOf(work: () => void): number {
  const beganMs = performance.now();
  work();
  return performance.now() - beganMs;
}

function hash(): void {
  let text = '';
  for (let round = 0; round < 24_000; round++) {
    text = createHash('sha256').update(text).digest('hex');
  }
}

function startProcess(): void {
  const { error } = spawnSync(process.execPath, ['--eval', '0']);
  if (error) throw error;
}
