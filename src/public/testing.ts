/** `holdfast/testing`: for tests of programs that use locks. */
export * from '../testing/index.ts';
