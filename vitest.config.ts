import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Virtual tests that leave nothing in their process, and do not measure its heap. */
const UNITS = ['clock', 'client', 'engine', 'stores'].map((module) => `src/${module}/**/*.test.ts`);

/**
 * Real tests that wait for leases and timeouts most of the time. On two cores, four of them at a time need less than one
 * core.
 */
const WAITING = [
  'acl-lock-role-library',
  'bugs-of-others',
  'cache-memory-tier',
  'cache-sentinel',
  'cli-ls',
  'cli-ls-watch',
  'cli-run-faults',
  'cli-run-options',
  'cli-run-reaper',
  'cli-run-terminal',
  'cli-tls',
  'create-locks',
  'deadlock-processes',
  'etcd-faults',
  'etcd-features',
  'etcd-races',
  'local-faults',
  'lock-dead-subscription',
  'lock-faults-network',
  'lock-process',
  'lock-silent-clients',
  'memcached-faults',
  'page-server',
  'postgres-faults',
  'postgres-store',
  'redis-cluster',
  'redis-sentinel',
  'troubleshooting',
].map((name) => `test/${name}.test.ts`);

/** Real tests of a page. One of them once timed out after 30 s, for an unknown reason: a failed one is repeated once. */
const BROWSER = ['lab-report', 'learn-page', 'page-live', 'page-views', 'site', 'stampede'].map(
  (name) => `test/${name}.test.ts`,
);

// Tests in src/ and web/ are virtual and tests in test/ are real, unless the name of the file says otherwise.
// test/tidy.test.ts checks that virtual tests open no socket, start no process and do not sleep.
export default defineConfig({
  test: {
    // Tests kill servers, and others then listen on the same port. Tests of the log turn it on again, those of the page
    // the page.
    env: { HOLDFAST_RESTART_GRACE: '0', HOLDFAST_APPENDONLY: 'no', HOLDFAST_PAGE_PORT: 'no' },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Not more files than cores: tests on the wall clock need a core in time.
    maxWorkers: '100%',
    // One kind after the other: the searches of the lab take whole cores, which tests on the wall clock would miss.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNITS,
          exclude: ['src/**/*.real.test.ts'],
          // Many small files: a process for each would take longer than the tests.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'virtual',
          include: ['src/**/*.test.ts', 'web/**/*.test.ts', 'test/**/*.virtual.test.ts'],
          exclude: ['src/**/*.real.test.ts', ...UNITS],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.test.ts', 'src/**/*.real.test.ts'],
          exclude: ['test/**/*.virtual.test.ts', ...WAITING, ...BROWSER],
          globalSetup: 'test/machine-factor.ts',
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: BROWSER,
          globalSetup: 'test/machine-factor.ts',
          retry: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'waiting',
          include: WAITING,
          globalSetup: 'test/machine-factor.ts',
          // Two files to a core: together they leave it idle for a part of the time.
          maxWorkers: 2 * availableParallelism(),
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
