import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests in src/ are virtual and tests in test/ are real, unless the name of the file says otherwise.
// test/tidy.test.ts checks that virtual tests open no socket, start no process and do not sleep.
export default defineConfig({
  test: {
    // Tests kill servers, and others then listen on the same port.
    env: { HOLDFAST_RESTART_GRACE: '0' },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One kind after the other: the searches of the lab take whole cores, which tests on the wall clock would miss.
    projects: [
      {
        extends: true,
        test: {
          name: 'virtual',
          include: ['src/**/*.test.ts', 'test/**/*.virtual.test.ts'],
          exclude: ['src/**/*.real.test.ts'],
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.test.ts', 'src/**/*.real.test.ts'],
          exclude: ['test/**/*.virtual.test.ts'],
          globalSetup: 'test/machine-factor.ts',
          // Three files at a time on two cores: these tests wait for most of their time.
          maxWorkers: Math.ceil(availableParallelism() * 1.5),
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
