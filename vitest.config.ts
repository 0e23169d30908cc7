import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Much of the time is spent waiting for servers and for real clocks: on two cores, two files at a time.
    maxWorkers: '100%',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Tests kill servers, and others then listen on the same port.
    env: { HOLDFAST_RESTART_GRACE: '0' },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
